// The .npy reader and writer: what numpy writes comes back, everything else is refused with a
// sentence that names the file and the remedy, and a refused write leaves no trace.
#include "cpu_reference/npy.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "cpu_reference/error.hpp"

namespace {

namespace fs = std::filesystem;
using flashbook::format_npy;
using flashbook::InputError;
using flashbook::NpyArray;
using flashbook::NpyType;
using flashbook::parse_npy;
using flashbook::read_npy;
using flashbook::write_npy;

constexpr NpyType all_types[] = {NpyType::fp16, NpyType::fp32, NpyType::fp64, NpyType::int32,
                                 NpyType::int64};

std::vector<std::byte> to_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// A file of format version major.0 with this header, and this many bytes of data.
std::string npy_file(std::string_view header, std::size_t data_bytes = 0, char major = 1) {
  std::string file = std::string("\x93NUMPY") + major + '\0';
  for (std::size_t byte = 0; byte < (major == 1 ? 2U : 4U); ++byte) {
    file += static_cast<char>(header.size() >> (8 * byte) & 255U);
  }
  return file.append(header).append(data_bytes, '\7');
}

// An array whose bytes are 0, 1, 2, ...
NpyArray counting_array(NpyType type, std::vector<std::int64_t> shape) {
  NpyArray array{type, std::move(shape), {}};
  array.bytes.resize(static_cast<std::size_t>(array.size()) * flashbook::npy_item_size(type));
  for (std::size_t i = 0; i < array.bytes.size(); ++i) array.bytes[i] = std::byte(i & 255U);
  return array;
}

void check_equal(const NpyArray& a, const NpyArray& b) {
  CHECK(a.type == b.type);
  CHECK(a.shape == b.shape);
  CHECK(a.bytes == b.bytes);
}

// The InputError's message; fails the test if there is none.
template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  FAIL_CHECK("accepted");
  return "";
}

void check_contains(const std::string& message, const std::string& part) {
  CAPTURE(message);
  CAPTURE(part);
  CHECK(message.find(part) != std::string::npos);
}

// A folder of the test's own, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "flashbook-npy-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  fs::path operator/(const char* name) const { return path_ / name; }

  std::set<std::string> names() const {
    std::set<std::string> out;
    for (const auto& entry : fs::directory_iterator(path_)) out.insert(entry.path().filename());
    return out;
  }

 private:
  fs::path path_;
};

void write_text(const fs::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("npy: types have the sizes and names that messages use") {
  const std::string_view names[] = {"fp16", "fp32", "fp64", "int32", "int64"};
  const std::size_t sizes[] = {2, 4, 8, 4, 8};
  for (std::size_t i = 0; i < std::size(all_types); ++i) {
    CHECK(flashbook::npy_name(all_types[i]) == names[i]);
    CHECK(flashbook::npy_item_size(all_types[i]) == sizes[i]);
  }
}

TEST_CASE("npy: the written file is the expected one, byte for byte") {
  SUBCASE("2-d fp32") {
    // 10 bytes before the header + 118 of header (0x76) = 128.
    const std::string expected = std::string("\x93NUMPY\1\0\x76\0", 10) +
                                 "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" +
                                 std::string(58, ' ') + "\n" + std::string("\0\0\x80\x3f", 4) +
                                 std::string(20, '\0');
    NpyArray array{NpyType::fp32, {2, 3}, std::vector<std::byte>(24)};
    array.bytes[2] = std::byte{0x80};  // 1.0f, then zeros
    array.bytes[3] = std::byte{0x3f};
    CHECK(format_npy(array, "k.npy") == to_bytes(expected));
  }
  SUBCASE("0-d and 1-d spell their shape as Python does") {
    const std::string start = "{'descr': '<i8', 'fortran_order': False, 'shape': ";
    const auto header = [&](std::vector<std::int64_t> shape) {
      const auto file = format_npy(counting_array(NpyType::int64, std::move(shape)), "k.npy");
      return std::string(reinterpret_cast<const char*>(file.data()) + 10, 118);
    };
    CHECK(header({}) == start + "(), }" + std::string(62, ' ') + "\n");
    CHECK(header({7}) == start + "(7,), }" + std::string(60, ' ') + "\n");
  }
}

TEST_CASE("npy: every type and shape makes the round trip, in memory and through a file") {
  const std::vector<std::int64_t> shapes[] = {
      {},           {0},          {1},       {7},         {2, 3}, {3, 0, 2},
      {1, 1, 1, 5}, {2, 3, 4, 5}, {0, 1, 0}, {100000, 0}, {257},  std::vector<std::int64_t>(32, 1)};
  const TemporaryFolder folder;
  for (const NpyType type : all_types) {
    for (const auto& shape : shapes) {
      const NpyArray array = counting_array(type, shape);
      const auto file = format_npy(array, "k.npy");
      CHECK((file.size() - array.bytes.size()) % 64 == 0);
      check_equal(parse_npy(file, "k.npy"), array);
      write_npy(folder / "k.npy", array);
      check_equal(read_npy(folder / "k.npy"), array);
    }
  }
  CHECK(folder.names() == std::set<std::string>{"k.npy"});
}

TEST_CASE("npy: every format version and every spelling of the dictionary is read") {
  const std::string usual = "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }";
  const std::string files[] = {
      npy_file(usual + "\n", 12, 1),
      npy_file(usual + std::string(500, ' ') + "\n", 12, 2),
      npy_file(usual + "\n", 12, 3),
      npy_file(usual, 12),
      npy_file("{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3)}\n", 12),
      npy_file("{\"shape\":(2,3,),\"descr\":\"<f2\",\"fortran_order\":False}", 12),
      npy_file(" { 'shape' : ( 2 , 3 ) , 'descr' : '<f2' , 'fortran_order' : False , } \n", 12),
  };
  for (const std::string& file : files) {
    CAPTURE(file);
    check_equal(parse_npy(to_bytes(file), "k.npy"),
                {NpyType::fp16, {2, 3}, std::vector<std::byte>(12, std::byte{7})});
  }
}

TEST_CASE("npy: refused contents name the file, the fault and the remedy") {
  const std::string again = "numpy.save(file, a)";
  const std::string types = "accepted are '<f2', '<f4', '<f8', '<i4' and '<i8'";
  const auto type = [](const std::string& descr) {
    return npy_file("{'descr': " + descr + ", 'fortran_order': False, 'shape': (2,), }", 8);
  };
  const auto shape = [](const std::string& dimensions) {
    return npy_file("{'descr': '<f4', 'fortran_order': False, 'shape': " + dimensions + ", }", 8);
  };
  const auto order = [](const std::string& value) {
    return npy_file("{'descr': '<f4', 'fortran_order': " + value + ", 'shape': (2, 1), }", 8);
  };
  const std::string good = "'descr': '<f4', 'fortran_order': False, 'shape': (2,)";
  const std::string escape = "\x1b[2J\x7f\xff";
  std::string ones = "(1";
  for (int i = 1; i < 33; ++i) ones += ", 1";
  ones += ")";
  const struct {
    std::string file, fault, remedy;
  } cases[] = {
      // The bytes before the header
      {"", "is not a .npy file", "numpy.save"},
      {"\x93NUMP", "is not a .npy file", "numpy.save"},
      {"PK\3\4 an archive", "is not a .npy file", "not numpy.savez"},
      {"1.0 2.0\n3.0 4.0\n", "is not a .npy file", "numpy.savetxt"},
      {npy_file("").substr(0, 6), "after 6 bytes", "copy it again"},
      {npy_file("").substr(0, 9), "after 9 bytes", "copy it again"},
      {npy_file("", 0, 2).substr(0, 11), "after 11 bytes", "copy it again"},
      {npy_file("{}", 0, 0), "version 0.0", "1.0, 2.0 and 3.0"},
      {npy_file("{}", 0, 4), "version 4.0", "1.0, 2.0 and 3.0"},
      {std::string("\x93NUMPY\1\1\2\0{}", 12), "version 1.1", "1.0, 2.0 and 3.0"},
      {std::string("\x93NUMPY\1\0\xff\xff{}", 12), "should have 65535", "copy it again"},
      {"\x93NUMPY\2" + std::string(1, '\0') + "\xff\xff\xff\xff{}", "4294967295", "copy it again"},
      // The dictionary's grammar
      {npy_file(""), "found its end", again},
      {npy_file("\n"), "found `\\x0a`", again},
      {npy_file("[]"), "found `[]`", "expected was '{'"},
      {npy_file("{" + good, 8), "found its end", "expected was '}'"},
      {npy_file("{" + good + "}}", 8), "found `}`", "expected was nothing more"},
      {npy_file("{" + good + "}\n\n", 8), "found `\\x0a`", "expected was nothing more"},
      {npy_file("{" + good + "} # c", 8), "found `# c`", "expected was nothing more"},
      {npy_file("{" + good + ",,}", 8), "found `,}`", "expected was a quoted string"},
      {npy_file("{,}"), "found `,}`", "expected was a quoted string"},
      {npy_file("{descr: '<f4'}"), "found `descr", "expected was a quoted string"},
      {npy_file("{'descr: "), "at byte 1", "expected was a closed string"},
      {npy_file("{'descr' '<f4'}"), "found `'<f4'}`", "expected was ':'"},
      {npy_file("{" + escape), "found `\\x1b[2J\\x7f\\xff`", again},
      {npy_file("{" + std::string(1000, 'x')), "xxx...`", again},
      {npy_file(std::string(60000, '{')), "found `{{{", again},
      // Its keys
      {npy_file("{}"), "lacks the key `descr`", again},
      {npy_file("{'descr': '<f4', 'shape': (2,)}", 8), "lacks the key `fortran_order`", again},
      {npy_file("{'descr': '<f4', 'fortran_order': False}", 8), "lacks the key `shape`", again},
      {npy_file("{" + good + ", 'shape': (2,)}", 8), "the key `shape` twice", again},
      {npy_file("{" + good + ", 'x': 1}", 8), "unknown key `x`", "descr, fortran_order and shape"},
      {npy_file("{'Descr': '<f4'}"), "unknown key `Descr`", "descr, fortran_order and shape"},
      {npy_file("{'" + escape + "': 1}"), "unknown key `\\x1b[2J\\x7f\\xff`", again},
      // The type
      {type("'>f4'"), "the type `>f4`", types},
      {type("'=f4'"), "the type `=f4`", types},
      {type("'f4'"), "the type `f4`", types},
      {type("'|O'"), "the type `|O`", types},
      {type("'<f16'"), "the type `<f16`", types},
      {type("'<u4'"), "the type `<u4`", types},
      {type("'|i1'"), "the type `|i1`", types},
      {type("'<c8'"), "the type `<c8`", types},
      {type("''"), "the type ``", types},
      {type("'\\x3cf4'"), "the type `\\x3cf4`", types},
      {type("[('a', '<f4')]"), "a structured type", "a['field']"},
      {type("('<f4', (2,))"), "a structured type", "a['field']"},
      {type("None"), "found `None", "expected was a quoted string"},
      // The order
      {order("True"), "Fortran order is not accepted", "numpy.ascontiguousarray(a)"},
      {order("0"), "found `0,", "expected was True or False"},
      {order("Falsehood"), "found `hood,", "expected was '}'"},
      // The shape
      {shape("(-1,)"), "shape (-1,) has a negative dimension", "0 or more"},
      {shape("(0, -1)"), "shape (0, -1) has a negative dimension", "0 or more"},
      {shape("2"), "found `2,", "expected was '('"},
      {shape("(2)"), "found `)", "expected was ','"},
      {shape("(,)"), "found `,)", "expected was a whole number"},
      {shape("[2]"), "found `[2]", "expected was '('"},
      {shape("(2.0,)"), "found `.0,)", "expected was ','"},
      {shape("(02,)"), "found `02,)", "expected was a whole number"},
      {shape("(-0,)"), "found `-0,)", "expected was a whole number"},
      {shape("(+2,)"), "found `+2,)", "expected was a whole number"},
      {shape("(2L,)"), "found `L,)", "expected was ','"},
      {shape("(2, (1,))"), "found `(1,))", "expected was a whole number"},
      {shape("(9223372036854775808,)"), "does not fit in 64 bits", "use a smaller array"},
      {shape("(" + std::string(1000, '9') + ",)"), "does not fit in 64 bits", again},
      {shape("(9223372036854775807,)"), "more than 2^63 - 1 bytes", "use a smaller array"},
      {shape("(4294967296, 4294967296)"), "more than 2^63 - 1 bytes", again},
      {shape("(0, 4294967296, 4294967296)"), "more than 2^63 - 1 bytes", again},
      {shape("(4294967296, 4294967296, 0)"), "more than 2^63 - 1 bytes", again},
      {shape("(2305843009213693952,)"), "more than 2^63 - 1 bytes", again},
      {shape(ones), "has 33 dimensions", "at most 32"},
      // The data
      {shape("(3,)"), "has 8 bytes of data where shape (3,) of fp32 needs 12", "copy it again"},
      {shape("(1,)"), "has 8 bytes of data where shape (1,) of fp32 needs 4", "only one array"},
      {shape("(0,)"), "has 8 bytes of data where shape (0,) of fp32 needs 0", "only one array"},
      {shape("()"), "has 8 bytes of data where shape () of fp32 needs 4", "only one array"},
      {shape("(2305843009213693951,)"), "needs 9223372036854775804", "copy it again"},
  };
  for (const auto& [file, fault, remedy] : cases) {
    const std::vector<std::byte> bytes = to_bytes(file);
    const std::string message = refusal([&] { parse_npy(bytes, "dir/k.npy"); });
    CHECK(message.rfind("dir/k.npy: ", 0) == 0);
    check_contains(message, fault);
    check_contains(message, remedy);
    CHECK(message.size() < 400);
    for (const char c : message) CHECK((c >= ' ' && c <= '~'));
  }
}

TEST_CASE("npy: a file cut short anywhere is refused") {
  const auto file = format_npy(counting_array(NpyType::fp16, {2, 3}), "k.npy");
  for (std::size_t length = 0; length < file.size(); ++length) {
    // A copy of exactly that size, so that a sanitizer sees a read past its end.
    const std::vector<std::byte> part(file.begin(), file.begin() + std::ptrdiff_t(length));
    CAPTURE(length);
    check_contains(refusal([&] { parse_npy(part, "k.npy"); }), "k.npy: ");
  }
}

TEST_CASE("npy: a damaged byte gives an InputError or a consistent array, nothing else") {
  for (const char major : {'\1', '\2', '\3'}) {
    const std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }  \n";
    const auto file = to_bytes(npy_file(header, 24, major));
    for (std::size_t at = 0; at < file.size() - 24; ++at) {
      for (unsigned value = 0; value < 256; ++value) {
        std::vector<std::byte> damaged = file;
        damaged[at] = std::byte(value);
        try {
          const NpyArray array = parse_npy(damaged, "k.npy");
          check_equal(parse_npy(format_npy(array, "k.npy"), "k.npy"), array);
        } catch (const InputError& error) {
          CHECK(std::string_view(error.what()).starts_with("k.npy: "));
        }
      }
    }
  }
}

TEST_CASE("npy: paths that cannot be read are refused") {
  const TemporaryFolder folder;
  const auto check_refused = [](const fs::path& path, const std::string& fault) {
    const std::string message = refusal([&] { read_npy(path); });
    check_contains(message, path.string() + ": cannot be read");
    check_contains(message, fault);
    check_contains(message, "pass a readable .npy file");
  };
  write_text(folder / "file", "");
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  check_refused(folder / "missing.npy", "No such file");
  check_refused(folder / "file/k.npy", "Not a directory");
  check_refused(folder / "", "it is a folder");
  check_refused(folder / "pipe", "it is a pipe or a device");
  check_refused("/dev/zero", "it is a pipe or a device");
  check_contains(refusal([] { read_npy(""); }), "(empty file name): cannot be read");
  check_contains(refusal([&] { read_npy(folder / "file"); }), "is not a .npy file");
  if (geteuid() != 0) {  // root may read everything
    fs::permissions(folder / "file", fs::perms::none);
    check_refused(folder / "file", "Permission denied");
  }
}

TEST_CASE("npy: arrays that contradict themselves are not written") {
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  const struct {
    std::vector<std::int64_t> shape;
    std::size_t bytes;
    std::string fault;
  } cases[] = {
      {{2, 3}, 23, "has 23 bytes; give the 24 that shape (2, 3) of fp32 needs"},
      {{2, 3}, 25, "give the 24"},
      {{}, 0, "give the 4"},
      {{0}, 4, "give the 0"},
      {{-1}, 0, "negative dimension"},
      {{huge, huge}, 0, "more than 2^63 - 1 bytes"},
      {{huge, huge, 0}, 0, "more than 2^63 - 1 bytes"},
      {std::vector<std::int64_t>(33, 1), 4, "at most 32"},
  };
  const TemporaryFolder folder;
  for (const auto& [shape, bytes, fault] : cases) {
    const NpyArray array{NpyType::fp32, shape, std::vector<std::byte>(bytes)};
    const std::string message = refusal([&] { write_npy(folder / "k.npy", array); });
    check_contains(message, "k.npy: ");
    check_contains(message, fault);
  }
  CHECK(folder.names().empty());
}

TEST_CASE("npy: a write replaces the whole file") {
  const TemporaryFolder folder;
  const NpyArray array = counting_array(NpyType::int32, {3});
  write_text(folder / "k.npy", std::string(10000, 'x'));
  write_npy(folder / "k.npy", array);
  check_equal(read_npy(folder / "k.npy"), array);
  CHECK(folder.names() == std::set<std::string>{"k.npy"});
}

TEST_CASE("npy: a refused write leaves everything as it was") {
  const TemporaryFolder folder;
  write_text(folder / "old.npy", "old");
  fs::create_directory(folder / "folder");
  fs::create_symlink("old.npy", folder / "link");
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const auto names_before = folder.names();
  const NpyArray array = counting_array(NpyType::fp32, {1000});
  const auto check_refused = [&](const fs::path& path, const std::string& fault) {
    const std::string message = refusal([&] { write_npy(path, array); });
    check_contains(message, path.string() + ": cannot be written");
    check_contains(message, fault);
    check_contains(message, "name a file in an existing, writable folder");
    CHECK(folder.names() == names_before);
    CHECK(read_text(folder / "old.npy") == "old");
  };
  check_refused(folder / "missing/k.npy", "No such file");
  check_refused(folder / "old.npy/k.npy", "Not a directory");
  check_refused(folder / "folder", "it exists and is a folder");
  check_refused(folder / "link", "it exists and is a folder, a link");
  check_refused(folder / "pipe", "it exists and is a folder, a link or a device");
  check_contains(refusal([&] { write_npy("", array); }), "(empty file name): cannot be written");
  if (geteuid() != 0) {  // root may write everywhere
    fs::permissions(folder / "", fs::perms::owner_read | fs::perms::owner_exec);
    check_refused(folder / "k.npy", "Permission denied");
    fs::permissions(folder / "", fs::perms::owner_all);
  }

  // A limit on the size of files stands for a full disk. The long array fails while it is written,
  // the short one waits in a buffer and fails when the file is closed.
  const NpyArray short_array = counting_array(NpyType::fp32, {50});
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{100, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const std::string messages[] = {
      refusal([&] { write_npy(folder / "k.npy", array); }),
      refusal([&] { write_npy(folder / "k.npy", short_array); }),
      refusal([&] { write_npy(folder / "old.npy", array); }),
  };
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handler);
  for (const std::string& message : messages) {
    check_contains(message, "cannot be written (File too large)");
  }
  CHECK(folder.names() == names_before);
  CHECK(read_text(folder / "old.npy") == "old");
}
