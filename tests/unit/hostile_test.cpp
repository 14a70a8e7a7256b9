// Hostile use of the command line: files that lie, numbers that are none. No crash, no partial
// output, one sentence. (npy_test has the reader's refusals one by one, attend_test those of --q.)
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "tests/unit/command_line.hpp"

namespace {

using namespace flashbook;
using test::check_refused;
using test::Run;
using test::Scratch;

/// A .npy file whose header is the given one, followed by four bytes.
std::string npy_with(const std::string& descr, const std::string& shape) {
  const std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
  return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + '\0' + header +
         std::string(4, '\0');
}

const char* const attend = "attend --q q.npy --k k.npy --v k.npy --out out ";

struct Tensors : Scratch {
  Tensors() {
    save("q.npy", {1, 5, 2, 4});
    save("k.npy", {1, 6, 2, 4});
    save("sinks.npy", {2});
    save_text("huge_header.npy", std::string("\x93NUMPY\2\0\xff\xff\xff\xff{}", 14));
    save_text("huge_shape.npy", npy_with("<f4", "(1, 2147483648, 2, 4)"));
    save_text("negative.npy", npy_with("<f4", "(1, -5, 2, 4)"));
    save_text("objects.npy", npy_with("|O", "(1, 5, 2, 4)"));
    save_text("big_endian.npy", npy_with(">f4", "(1, 5, 2, 4)"));
    save_text("short.npy", npy_with("<f4", "(1, 5, 2, 4)"));
    save_text("magic.npy", "\x92NUMPY");
  }
};

void plant(const Scratch& scratch, const std::string& name, std::size_t element, float value) {
  NpyArray array = read_npy(scratch.path(name));
  std::memcpy(array.bytes.data() + element * sizeof value, &value, sizeof value);
  write_npy(scratch.path(name), array);
}

std::vector<float> floats(const Scratch& scratch, const std::string& name) {
  const NpyArray array = read_npy(scratch.path(name));
  std::vector<float> values(array.bytes.size() / sizeof(float));
  std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
  return values;
}

}  // namespace

TEST_CASE("attend: every flag refuses every file that lies, and names the flag and the file") {
  const Tensors t;
  const char* const flags[] = {"--q",    "--k",     "--v",     "--do",           "--dlse",
                               "--bias", "--alibi", "--sinks", "--cu-seqlens-q", "--cu-seqlens-k"};
  const char* const files[] = {"huge_header.npy", "huge_shape.npy", "negative.npy", "objects.npy",
                               "big_endian.npy",  "short.npy",      "magic.npy"};
  for (const std::string flag : flags)
    for (const std::string file : files) {
      std::string command = attend;
      const std::size_t given = command.find(flag + " ");
      if (given != std::string::npos)
        command.replace(given + flag.size() + 1, 5, file);
      else
        command += flag + " " + file + (flag == "--cu-seqlens-q" ? " --cu-seqlens-k k.npy" : "") +
                   (flag == "--cu-seqlens-k" ? " --cu-seqlens-q q.npy" : "") +
                   (flag == "--dlse" ? " --do q.npy" : "");
      if (flag == "--cu-seqlens-k") continue;  // --cu-seqlens-q is read first
      check_refused(t, command, {flag + ": " + file});
    }
}

TEST_CASE("attend: NaN and Inf in the tensors are data: they reach the rows that see them") {
  const Tensors t;
  plant(t, "q.npy", 8, std::nanf(""));  // token 1, head 0
  CHECK(t.flashbook(attend).status == 0);
  const std::vector<float> o = floats(t, "out/o.npy");
  for (std::size_t i = 0; i < o.size(); ++i) CHECK(std::isnan(o[i]) == (i / 4 == 2));
  plant(t, "sinks.npy", 1, HUGE_VALF);
  const Run run = t.flashbook(std::string(attend) + "--sinks sinks.npy --do q.npy");
  CHECK(run.status == 0);
  for (const char* name : {"o", "lse", "dq", "dk", "dv", "dsinks"})
    CHECK_FALSE(floats(t, std::string("out/") + name + ".npy").empty());
}

TEST_CASE("numbers that are none, or too many: one sentence from every verb") {
  const Scratch s;
  check_refused(s, "fuzz --seconds many", {"--seconds"});
  check_refused(s, "fuzz --seconds -1", {"--seconds"});
  check_refused(s, "fuzz --seconds nan", {"--seconds"});
  check_refused(s, "fuzz --problems 1e99", {"--problems"});
  check_refused(s, "fuzz --problems -3", {"--problems"});
  check_refused(s, "fuzz --seed -1", {"--seed"});
  check_refused(s, "fuzz --impl nobody", {"--impl is 'nobody'", "oracle"});
  check_refused(s, "fuzz --impl 'io.fa2[0x4]'", {"--impl"});
  check_refused(s, "verify --problem 'nq=-1'", {"nq is '-1'"});
  check_refused(s, "verify --problem 'cu_q=0,9223372036854775808 cu_k=0,1'", {"cu_q"});
  check_refused(s, "verify --problem 'scale=inf'", {"scale is 'inf'"});
  check_refused(s, "verify --seed 99999999999999999999", {"--seed"});
  check_refused(s, "list q.npy", {"q.npy"});
  check_refused(s, "tour q.npy", {"q.npy"});
  check_refused(s, "sim traffic --algorithm fa2_forward --d 4 --n -5", {"--n"});
  check_refused(s, "sim traffic --algorithm fa2_forward --d 4 --n 99999999999999999999", {"--n"});
}

TEST_CASE("fuzz: a few problems, quiet but for the summary, and as JSON") {
  const Scratch s;
  const Run run = s.flashbook("fuzz --problems 40 --seed 5");
  CHECK(run.status == 0);
  CHECK(run.out.rfind("40 problems of seed 5 in ", 0) == 0);
  CHECK(run.err.empty());
  const Run json = s.flashbook("fuzz --problems 40 --seed 5 --impl io.fa2 --json");
  CHECK(json.status == 0);
  CHECK(json.out.find("\"problems\": 40") != std::string::npos);
  CHECK(json.out.find("\"failure\": null") != std::string::npos);
}

TEST_CASE("help: no line is wider than 80 columns") {
  const Scratch s;
  for (const char* verb :
       {"", "tour", "softmax", "read", "check", "step forward", "attend", "list", "sim",
        "sim traffic", "sim roofline", "verify", "run", "demo", "draw", "ladder"}) {
    const Run run = s.flashbook(std::string(verb) + " --help");
    CHECK(run.status == 0);
    CHECK(run.out.find("--help") != std::string::npos);
    std::istringstream lines(run.out);
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      const auto columns = std::count_if(line.begin(), line.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u;
      });
      CHECK(columns <= 80);
    }
  }
}
