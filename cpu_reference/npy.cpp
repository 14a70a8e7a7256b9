#include "cpu_reference/npy.hpp"

#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include "cpu_reference/error.hpp"

namespace flashbook {
namespace {

namespace fs = std::filesystem;

// Callers copy an array's little-endian bytes straight into C++ numbers.
static_assert(std::endian::native == std::endian::little);
static_assert(sizeof(std::size_t) >= sizeof(std::int64_t));

// A file is: magic, version (major, minor), header length, header, data.
constexpr std::string_view magic("\x93NUMPY", 6);
constexpr std::size_t length_at = magic.size() + 2;
constexpr std::size_t data_alignment = 64;
constexpr std::size_t max_rank = 32;  // numpy's own limit before 2.0

struct TypeInfo {
  NpyType type;
  std::string_view descr;
  std::string_view name;
  std::size_t item_size;
};

constexpr std::array<TypeInfo, 5> types = {{
    {NpyType::fp16, "<f2", "fp16", 2},
    {NpyType::fp32, "<f4", "fp32", 4},
    {NpyType::fp64, "<f8", "fp64", 8},
    {NpyType::int32, "<i4", "int32", 4},
    {NpyType::int64, "<i8", "int64", 8},
}};

const TypeInfo& info(NpyType type) {
  return types.at(static_cast<std::size_t>(type));
}

// ---- Messages ----

constexpr std::string_view save_again = "save the array again with numpy.save(file, a)";
constexpr std::string_view copy_again =
    "the file is incomplete: copy it again, or save the array again with numpy.save(file, a)";
constexpr std::string_view one_array =
    "only one array a file is accepted: save it alone with numpy.save(file, a)";
constexpr std::string_view too_large =
    "use a smaller array, or if the header is damaged save it again with numpy.save(file, a)";
constexpr std::string_view accepted_types =
    "accepted are '<f2', '<f4', '<f8', '<i4' and '<i8' (little-endian fp16, fp32, fp64, int32 and "
    "int64): save it with, say, numpy.save(file, a.astype('<f4'))";

// Strings and whole numbers in a row; no stream, so no locale.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::string out;
  const auto append = [&out](const auto& part) {
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(part)>>) {
      out += std::to_string(part);
    } else {
      out += part;
    }
  };
  (append(parts), ...);
  return out;
}

[[noreturn]] void refuse(std::string_view name, std::string_view problem, std::string_view remedy) {
  throw InputError(text(name.empty() ? "(empty file name)" : name, ": ", problem, "; ", remedy));
}

// Bytes of a file for a message: shortened, and with nothing in them that a terminal would obey.
std::string quoted(std::string_view bytes) {
  constexpr std::size_t most = 40;
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out = "`";
  for (const char c : bytes.substr(0, most)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += {'\\', 'x', hex[byte >> 4U], hex[byte & 15U]};
    }
  }
  return out + (bytes.size() > most ? "...`" : "`");
}

// A shape as Python writes it: (), (3,), (3, 4).
std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string out = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    out += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return out + (shape.size() == 1 ? ",)" : ")");
}

std::string describe(NpyType type, const std::vector<std::int64_t>& shape) {
  return text("shape ", shape_text(shape), " of ", npy_name(type));
}

// ---- Shape ----

// Bytes of data that a shape asks for. The product skips zeros, as numpy's check does: whether a
// shape is too large must not depend on where its zero stands.
std::size_t byte_count(NpyType type, const std::vector<std::int64_t>& shape,
                       std::string_view name) {
  if (shape.size() > max_rank) {
    refuse(name, text("has ", shape.size(), " dimensions"),
           text("at most ", max_rank, " are accepted: reshape the array"));
  }
  bool empty = false;
  std::size_t bytes = npy_item_size(type);
  for (const std::int64_t dimension : shape) {
    if (dimension < 0) {
      refuse(name, text("shape ", shape_text(shape), " has a negative dimension"),
             text("dimensions must be 0 or more: ", save_again));
    }
    empty = empty || dimension == 0;
    const std::size_t factor = dimension == 0 ? 1 : static_cast<std::size_t>(dimension);
    if (bytes > std::numeric_limits<std::int64_t>::max() / factor) {
      refuse(name, text(describe(type, shape), " needs more than 2^63 - 1 bytes"), too_large);
    }
    bytes *= factor;
  }
  return empty ? 0 : bytes;
}

// ---- Header ----

// Recursive descent over the one Python dictionary that numpy.lib.format writes as a header:
//   header := '{' [entry {',' entry} [',']] '}' [newline]      spaces may precede every token
//   entry  := string ':' (string | 'True' | 'False' | shape)   the key says which
//   shape  := '(' [number ',' [number {',' number} [',']]] ')'
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string_view name)
      : text_(text), rest_(text), name_(name) {}

  // The array without its bytes.
  NpyArray parse() {
    expect("{");
    while (!accept("}")) {
      parse_entry();
      if (!accept(",")) {
        expect("}");
        break;
      }
    }
    accept("\n");
    if (!rest_.empty()) fail("nothing more");
    require(type_.has_value(), "descr");
    require(fortran_order_.has_value(), "fortran_order");
    require(shape_.has_value(), "shape");
    if (*fortran_order_) {
      refuse(name_, "Fortran order is not accepted, only C order",
             "save it with numpy.save(file, numpy.ascontiguousarray(a))");
    }
    return {*type_, std::move(*shape_), {}};
  }

 private:
  void parse_entry() {
    const std::string_view key = parse_string();
    expect(":");
    if (key == "descr") {
      set_once(type_, key, parse_type());
    } else if (key == "fortran_order") {
      set_once(fortran_order_, key, parse_bool());
    } else if (key == "shape") {
      set_once(shape_, key, parse_shape());
    } else {
      refuse(name_, text("its header has the unknown key ", quoted(key)),
             text("accepted are descr, fortran_order and shape: ", save_again));
    }
  }

  template <class T>
  void set_once(std::optional<T>& slot, std::string_view key, T value) {
    if (slot.has_value()) {
      refuse(name_, text("its header has the key ", quoted(key), " twice"),
             text("each key is accepted once: ", save_again));
    }
    slot = std::move(value);
  }

  void require(bool present, std::string_view key) const {
    if (present) return;
    refuse(name_, text("its header lacks the key ", quoted(key)),
           text("descr, fortran_order and shape are needed: ", save_again));
  }

  NpyType parse_type() {
    if (accept("[") || accept("(")) {
      refuse(name_, "a structured type is not accepted as descr",
             text("take one field (a['field']); ", accepted_types));
    }
    const std::string_view descr = parse_string();
    for (const TypeInfo& candidate : types) {
      if (candidate.descr == descr) return candidate.type;
    }
    refuse(name_, text("the type ", quoted(descr), " is not accepted as descr"), accepted_types);
  }

  bool parse_bool() {
    if (accept("True")) return true;
    if (accept("False")) return false;
    fail("True or False");
  }

  std::vector<std::int64_t> parse_shape() {
    std::vector<std::int64_t> shape;
    expect("(");
    while (!accept(")")) {
      shape.push_back(parse_number());
      // As in Python, (3) is a number and only (3,) is a tuple.
      if (shape.size() == 1) {
        expect(",");
      } else if (!accept(",")) {
        expect(")");
        break;
      }
    }
    return shape;
  }

  std::int64_t parse_number() {
    skip_spaces();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    const std::string_view digits = rest_.substr(0, static_cast<std::size_t>(end - rest_.data()));
    if (error == std::errc::result_out_of_range) {
      refuse(name_, text("the dimension ", quoted(digits), " does not fit in 64 bits"), too_large);
    }
    // Only the spelling numpy writes: Python 3 refuses 010, Python 2 reads it as 8.
    if (error != std::errc() || digits != std::to_string(number)) fail("a whole number");
    rest_.remove_prefix(digits.size());
    return number;
  }

  // The characters between the quotes. Escapes stay as they are: no accepted string has one.
  std::string_view parse_string() {
    skip_spaces();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    if (quote != '\'' && quote != '"') fail("a quoted string");
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) fail("a closed string");
    const std::string_view characters = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return characters;
  }

  void skip_spaces() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }

  // Consumes the token if it comes next.
  bool accept(std::string_view token) {
    skip_spaces();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  void expect(std::string_view token) {
    if (!accept(token)) fail(text("'", token, "'"));
  }

  [[noreturn]] void fail(std::string_view expected) const {
    const std::string found = rest_.empty() ? "its end" : quoted(rest_);
    refuse(name_,
           text("its header cannot be understood (at byte ", text_.size() - rest_.size(),
                ", found ", found, ")"),
           text("expected was ", expected, ", as numpy writes it: ", save_again));
  }

  std::string_view text_;
  std::string_view rest_;  // what is not parsed yet
  std::string_view name_;
  std::optional<NpyType> type_;
  std::optional<bool> fortran_order_;
  std::optional<std::vector<std::int64_t>> shape_;
};

struct FileParts {
  std::string_view header;
  std::span<const std::byte> data;
};

// Header and data; the header's length is believed only as far as the file reaches.
FileParts split_file(std::span<const std::byte> file, std::string_view name) {
  const std::string_view chars(reinterpret_cast<const char*>(file.data()), file.size());
  if (!chars.starts_with(magic)) {
    refuse(name, "is not a .npy file (it does not begin with \\x93NUMPY)",
           "pass a file that numpy.save wrote (not numpy.savez or numpy.savetxt)");
  }
  const std::string ends = text("ends within its header, after ", file.size(), " bytes");
  if (file.size() < length_at) refuse(name, ends, copy_again);
  const int major = std::to_integer<int>(file[magic.size()]);
  const int minor = std::to_integer<int>(file[magic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0) {
    refuse(name, text("has format version ", major, ".", minor),
           text("accepted are 1.0, 2.0 and 3.0: ", save_again));
  }
  const std::size_t header_at = length_at + (major == 1 ? 2 : 4);
  if (file.size() < header_at) refuse(name, ends, copy_again);
  std::size_t length = 0;
  for (std::size_t at = header_at; at-- > length_at;) {  // little-endian: last byte first
    length = length << 8U | std::to_integer<std::size_t>(file[at]);
  }
  if (length > file.size() - header_at) {
    refuse(name, text(ends, " (the header alone should have ", length, ")"), copy_again);
  }
  return {chars.substr(header_at, length), file.subspan(header_at + length)};
}

// ---- Files ----

struct CloseFile {
  void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

std::error_code last_error() {
  return {errno, std::generic_category()};
}

[[noreturn]] void refuse_read(std::string_view name, std::string_view why) {
  refuse(name, text("cannot be read (", why, ")"), "pass a readable .npy file");
}

std::vector<std::byte> read_file(const fs::path& path) {
  const std::string name = path.string();
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) refuse_read(name, error.message());
  if (fs::is_directory(status)) refuse_read(name, "it is a folder");
  if (!fs::is_regular_file(status)) refuse_read(name, "it is a pipe or a device");
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) refuse_read(name, error.message());
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) refuse_read(name, last_error().message());
  std::vector<std::byte> bytes(size);
  if (std::fread(bytes.data(), 1, bytes.size(), file.get()) != bytes.size()) {
    refuse_read(name, std::ferror(file.get()) != 0 ? last_error().message() : "it became shorter");
  }
  return bytes;
}

// Success only if the last byte got through: a full disk may show as late as in fclose.
std::error_code write_and_close(File file, std::span<const std::byte> bytes) {
  std::error_code error;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size()) error = last_error();
  if (std::fclose(file.release()) != 0 && !error) error = last_error();
  return error;
}

[[noreturn]] void refuse_write(std::string_view name, std::string_view why) {
  refuse(name, text("cannot be written (", why, ")"),
         "name a file in an existing, writable folder on a disk with space left");
}

}  // namespace

std::size_t npy_item_size(NpyType type) {
  return info(type).item_size;
}

std::string_view npy_name(NpyType type) {
  return info(type).name;
}

std::int64_t NpyArray::size() const {
  std::int64_t product = 1;
  for (const std::int64_t dimension : shape) product *= dimension;
  return product;
}

NpyArray parse_npy(std::span<const std::byte> file, std::string_view name) {
  const auto [header, data] = split_file(file, name);
  NpyArray array = HeaderParser(header, name).parse();
  const std::size_t needed = byte_count(array.type, array.shape, name);
  if (data.size() != needed) {
    refuse(name,
           text("has ", data.size(), " bytes of data where ", describe(array.type, array.shape),
                " needs ", needed),
           data.size() < needed ? copy_again : one_array);
  }
  array.bytes.assign(data.begin(), data.end());
  return array;
}

std::vector<std::byte> format_npy(const NpyArray& array, std::string_view name) {
  const std::size_t needed = byte_count(array.type, array.shape, name);
  if (array.bytes.size() != needed) {
    refuse(name, text("the array to write has ", array.bytes.size(), " bytes"),
           text("give the ", needed, " that ", describe(array.type, array.shape), " needs"));
  }
  std::string header = text("{'descr': '", info(array.type).descr,
                            "', 'fortran_order': False, 'shape': ", shape_text(array.shape), ", }");
  const std::size_t header_at = length_at + 2;
  while ((header_at + header.size() + 1) % data_alignment != 0) header += ' ';
  header += '\n';

  // At most max_rank dimensions keep the length well within its two bytes.
  std::string start(magic);
  start += {'\1', '\0'};
  start += {static_cast<char>(header.size() & 255U), static_cast<char>(header.size() >> 8U)};
  start += header;
  const auto start_bytes = std::as_bytes(std::span(start));
  std::vector<std::byte> file;
  file.reserve(start_bytes.size() + array.bytes.size());
  file.assign(start_bytes.begin(), start_bytes.end());
  file.insert(file.end(), array.bytes.begin(), array.bytes.end());
  return file;
}

NpyArray read_npy(const fs::path& path) {
  try {
    const std::vector<std::byte> file = read_file(path);
    return parse_npy(file, path.string());
  } catch (const std::bad_alloc&) {
    refuse(path.string(), "does not fit into memory", "pass a smaller array");
  }
}

void write_npy(const fs::path& path, const NpyArray& array) {
  const std::string name = path.string();
  const std::vector<std::byte> bytes = format_npy(array, name);
  std::error_code ignored;
  const fs::file_status target = fs::symlink_status(path, ignored);
  // A rename would replace the link or device itself: root would lose /dev/null.
  if (fs::exists(target) && !fs::is_regular_file(target)) {
    refuse_write(name, "it exists and is a folder, a link or a device");
  }
  fs::path temporary = path;
  temporary += "." + std::to_string(std::random_device()()) + ".tmp";
  File file(std::fopen(temporary.c_str(), "wbx"));  // x: never someone else's file
  if (!file) refuse_write(name, last_error().message());
  std::error_code error = write_and_close(std::move(file), bytes);
  if (!error) fs::rename(temporary, path, error);
  if (error) {
    fs::remove(temporary, ignored);
    refuse_write(name, error.message());
  }
}

}  // namespace flashbook
