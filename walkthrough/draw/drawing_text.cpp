#include <sstream>

#include "walkthrough/draw/drawings.hpp"
#include "walkthrough/number_table.hpp"

namespace flashbook::draw {
namespace {

/// "13 a0", marked if it is the lane's.
std::string cell(const Place& place, int lane, const std::string& name) {
  return (place.lane == lane ? "*" : "") + std::to_string(place.lane) + " " + name;
}

/// A matrix of 16-bit numbers: two columns are a register.
std::string registers_text(const Fragment& fragment, int rows, const std::string& name, int lane) {
  std::vector<std::vector<std::string>> cells = {{""}};
  for (int c = 0; c < fragment.columns; c += 2)
    cells[0].push_back(std::to_string(c) + "," + std::to_string(c + 1));
  for (int r = 0; r < rows; ++r) {
    cells.push_back({std::to_string(r)});
    for (int c = 0; c < fragment.columns; c += 2) {
      const Place& place = fragment.at(r, c);
      cells.back().push_back(cell(place, lane, name + std::to_string(place.number / 2)));
    }
  }
  return table(cells);
}

/// The first 8 columns of a matrix in fp32: a column is a register.
std::string numbers_text(const Fragment& fragment, const std::string& name, int lane) {
  std::vector<std::vector<std::string>> cells = {{""}};
  for (int c = 0; c < 8; ++c) cells[0].push_back(std::to_string(c));
  for (int r = 0; r < fragment.rows; ++r) {
    cells.push_back({std::to_string(r)});
    for (int c = 0; c < 8; ++c) {
      const Place& place = fragment.at(r, c);
      cells.back().push_back(cell(place, lane, name + std::to_string(place.number)));
    }
  }
  return table(cells);
}

/// "S[0][3]", the n-th number of two results.
std::string result(int n) {
  return "S[" + std::to_string(n / 4) + "][" + std::to_string(n % 4) + "]";
}

/// A layout's column: eight chunks with blanks between them, or what stands above or below.
std::string layout_cell(const std::string& text) {
  std::ostringstream out;
  out << "  " << left(text, 15);
  return out.str();
}

std::string chunks_of(const std::array<int, 8>& banks) {
  std::ostringstream out;
  for (std::size_t g = 0; g < banks.size(); ++g) out << (g == 0 ? "" : " ") << banks[g];
  return out.str();
}

}  // namespace

std::string product_text(const Product& product, int lane) {
  return "mma m16n8k16, D += A B: which lane holds what, and where; * is lane " +
         std::to_string(lane) +
         ".\n\nA [16, 16]; two columns are the halves of a register a[0] to a[3]\n\n" +
         registers_text(product.A, 16, "a", lane) +
         "\nB [16, 8], its columns as rows; registers b[0], b[1]\n\n" +
         registers_text(product.B, 8, "b", lane) + "\nD [16, 8], fp32; registers d[0] to d[3]\n\n" +
         numbers_text(product.D, "d", lane);
}

std::string scores_text(const Product& product) {
  std::vector<std::vector<std::string>> rows = {{"of P", "of S"}};
  for (int n = 0; n < 8; n += 2)
    rows.push_back({"a[" + std::to_string(n / 2) + "]",
                    result(product.number_of_D(n)) + ", " + result(product.number_of_D(n + 1))});
  return "S [16, 16], the results S[0] and S[1] side by side, and P [16, 16], a left\n"
         "operand: " +
         std::to_string(product.shared_with_A()) + " of " +
         std::to_string(product.D.places.size()) +
         " elements are in the same lane. In each lane\n\n" + table(rows);
}

std::string banks_text(const std::vector<Layout>& layouts) {
  std::vector<std::vector<std::string>> rows = {{"row"}};
  for (int row = 0; row < 8; ++row) rows.push_back({std::to_string(row)});
  rows.push_back({"wavefronts"});
  for (const Layout& layout : layouts) {
    rows.front().push_back(layout_cell(layout.name));
    for (std::size_t row = 0; row < 8; ++row)
      rows[row + 1].push_back(layout_cell(chunks_of(layout.banks[row])));
    rows.back().push_back(layout_cell(std::to_string(layout.wavefronts)));
  }
  return "8 rows of 64 numbers of 16 bits in shared memory. From left to right are the\n"
         "banks, four at a time; a number is the chunk of 16 bytes of the row that lies\n"
         "there. Below, what ldmatrix takes to read chunk 0 of each row.\n\n" +
         table(rows);
}

}  // namespace flashbook::draw
