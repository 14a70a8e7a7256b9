#include <algorithm>
#include <sstream>

#include "walkthrough/number_table.hpp"
#include "walkthrough/numbers.hpp"
#include "walkthrough/orders/pictures.hpp"
#include "walkthrough/orders/shares.hpp"

namespace flashbook::orders {
namespace {

constexpr std::uint32_t columns = 64;
constexpr std::size_t margin = 14;

/// What most of the cycles [begin, end) went to; a blank where the consumer was not in its loop.
char most_of(const std::vector<Stretch>& stretches, std::uint32_t begin, std::uint32_t end) {
  std::array<std::uint32_t, activities> cycles = {};
  for (const Stretch& s : stretches) {
    const std::uint32_t from = std::max(s.begin, begin), to = std::min(s.end, end);
    if (from < to) cycles[static_cast<std::size_t>(s.activity)] += to - from;
  }
  const auto most = std::max_element(cycles.begin(), cycles.end());
  return *most == 0 ? ' ' : letter(static_cast<Activity>(most - cycles.begin()));
}

bool are_under_way(const std::vector<Interval>& products, std::uint32_t at) {
  return std::any_of(products.begin(), products.end(),
                     [&](const Interval& i) { return i.begin <= at && at < i.end; });
}

std::string without_blanks_behind(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string lanes_of(const Stamps& stamps, std::size_t consumer, std::uint32_t first,
                     const Window& window) {
  const std::vector<Stretch> stretches = stretches_of(stamps);
  const std::vector<Interval> products = products_of(stamps);
  std::string does = left("consumer " + std::to_string(consumer), margin);
  std::string runs = left("  products", margin);
  for (std::uint32_t column = 0; column < columns; ++column) {
    const std::uint32_t begin = first + column * window.cycles / columns;
    const std::uint32_t end = first + (column + 1) * window.cycles / columns;
    does += most_of(stretches, begin, end);
    runs += are_under_way(products, begin + (end - begin) / 2) ? '=' : ' ';
  }
  return without_blanks_behind(does) + without_blanks_behind(runs);
}

std::string scale(const Window& window, const char* unit) {
  std::string line(margin, ' ');
  for (std::uint32_t column = 0; column + 16 <= columns; column += 16)
    line += left("|" + std::to_string(column * window.cycles / columns), 16);
  return line + "\n" + std::string(margin, ' ') + unit + "\n";
}

const char* unit_of(const Recording& recording) {
  return recording.machine == Machine::gpu ? "cycles" : "steps of the emulator, no time";
}

}  // namespace

std::string place_of(const Recording& recording) {
  if (recording.machine == Machine::cpu) return "the emulator, whose steps are no time";
  return "an " + recording.gpu + ", driver " + recording.driver;
}

std::string text_of(const Recording& recording, const OrderRecording& order, const Window& window) {
  std::ostringstream out;
  out << order.name << ": " << order.what << "\n"
      << "On " << place_of(recording) << "\nN = " << recording.tokens << ", d = " << width
      << "; from tile " << window.tile << " of the keys on\n\n";
  const std::uint32_t first = begin_of_tile(order.consumers.front(), window.tile);
  for (std::size_t i = 0; i < order.consumers.size(); ++i)
    out << lanes_of(order.consumers[i], i, first, window);
  out << scale(window, unit_of(recording))
      << "s softmax; waits: p for products, t for its turn, c for K or V; + starts them\n"
      << "= its own products are under way: started, and not yet waited for\n";
  return out.str();
}

std::string table_of(const Recording& recording) {
  const bool is_time = recording.machine == Machine::gpu;
  const auto in_percent = [](double share) { return fixed(100 * share, 0) + " %"; };
  std::vector<std::vector<std::string>> rows = {
      {"order", "a tile", "tensor", "s", "hidden", "p", "t", "c", "+", "stamps"}};
  for (const OrderRecording& order : recording.orders) {
    const Shares shares = shares_of(order, recording.tiles());
    const auto of = [&](Activity a) {
      return in_percent(shares.of_consumer[static_cast<std::size_t>(a)]);
    };
    rows.push_back({order.name, fixed(shares.cycles_a_tile, 0),
                    is_time ? fixed(shares.utilisation, 2) : "–", of(Activity::softmax),
                    in_percent(shares.hidden), of(Activity::products), of(Activity::turn),
                    of(Activity::copies), of(Activity::starts),
                    in_percent(1. * shares.cycles / order.timed_cycles - 1)});
  }
  std::ostringstream out;
  out << "On " << place_of(recording) << "\nN = " << recording.tokens << ", d = " << width << ", "
      << recording.heads << (recording.heads == 1 ? " head" : " heads")
      << ", bf16; the block in the middle of the grid\n\n"
      << table(rows) << "a tile: " << (is_time ? "cycles" : "steps") << " for " << tile_keys
      << " keys" << (is_time ? ", of which products need " + fixed(least_cycles_a_tile, 0) : "")
      << "; tensor: that share\n"
      << "Of a consumer's time: s softmax; waits: p for products, t for its turn, c for\n"
         "K or V; + starts products. hidden: of its softmax, with products of its own\n"
         "under way. stamps: what it costs to write all these down.\n";
  return out.str();
}

}  // namespace flashbook::orders
