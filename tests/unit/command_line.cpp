#include "tests/unit/command_line.hpp"

#include <doctest/doctest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "cpu_reference/element_types.hpp"

namespace flashbook::test {
namespace fs = std::filesystem;
namespace {

std::string contents(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

template <class T>
void fill(NpyArray& array) {
  array.bytes.resize(static_cast<std::size_t>(array.size()) * sizeof(T));
  for (std::int64_t i = 0; i < array.size(); ++i) {
    const T x = static_cast<T>(std::sin(1.7 * static_cast<double>(i) + 0.3));
    std::memcpy(array.bytes.data() + i * static_cast<std::int64_t>(sizeof(T)), &x, sizeof(T));
  }
}

}  // namespace

Scratch::Scratch() {
  std::string name = (fs::temp_directory_path() / "flashbook-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = name;
}

Scratch::~Scratch() {
  fs::remove_all(folder_);
}

Run Scratch::flashbook(const std::string& arguments) const {
  return shell("'" FLASHBOOK_PROGRAM "' " + arguments);
}

Run Scratch::shell(const std::string& user_command) const {
  const fs::path outside = folder_.string() + ".output";
  fs::create_directory(outside);
  const std::string command = "cd '" + folder_.string() + "' && (" + user_command + ") >'" +
                              (outside / "out").string() + "' 2>'" + (outside / "err").string() +
                              "'";
  const int status = std::system(command.c_str());
  Run run = {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(outside / "out"),
             contents(outside / "err")};
  fs::remove_all(outside);
  return run;
}

Run Scratch::on_terminal(const std::string& arguments, const std::string& when,
                         const std::string& keys) const {
  int terminal = 0, other_side = 0;
  REQUIRE(::openpty(&terminal, &other_side, nullptr, nullptr, nullptr) == 0);
  const std::string command =
      "cd '" + folder_.string() + "' && TERM=xterm exec '" FLASHBOOK_PROGRAM "' " + arguments;
  const pid_t child = ::fork();
  if (child == 0) {
    ::login_tty(other_side);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    std::_Exit(127);
  }
  ::close(other_side);
  Run run = {};
  bool pressed = false;
  for (char byte = 0; ::read(terminal, &byte, 1) == 1;) {
    run.out += byte;
    if (pressed || run.out.find(when) == std::string::npos) continue;
    pressed = true;
    CHECK(::write(terminal, keys.data(), keys.size()) == static_cast<ssize_t>(keys.size()));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(terminal);
  run.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return run;
}

void Scratch::save(const std::string& name, std::vector<std::int64_t> shape, NpyType type) const {
  NpyArray array = {type, std::move(shape), {}};
  switch (type) {
    case NpyType::fp16:
      fill<half>(array);
      break;
    case NpyType::fp32:
      fill<float>(array);
      break;
    case NpyType::fp64:
      fill<double>(array);
      break;
    case NpyType::int32:
      fill<std::int32_t>(array);
      break;
    case NpyType::int64:
      fill<std::int64_t>(array);
      break;
  }
  write_npy(path(name), array);
}

void Scratch::save_offsets(const std::string& name,
                           const std::vector<std::int64_t>& offsets) const {
  NpyArray array = {NpyType::int64, {static_cast<std::int64_t>(offsets.size())}, {}};
  array.bytes.resize(offsets.size() * sizeof(std::int64_t));
  if (!offsets.empty()) std::memcpy(array.bytes.data(), offsets.data(), array.bytes.size());
  write_npy(path(name), array);
}

void Scratch::save_text(const std::string& name, const std::string& text) const {
  std::ofstream(path(name), std::ios::binary) << text;
}

std::vector<std::string> Scratch::listing() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder_))
    names.push_back(fs::relative(entry.path(), folder_).string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string squeezed(const std::string& text) {
  std::istringstream words(text);
  std::string line;
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
  return line;
}

long widest_line(const std::string& text) {
  long widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    widest = std::max<long>(
        widest, std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
  return widest;
}

std::string json_of(const std::string& arguments) {
  const Run run = Scratch().flashbook(arguments + " --json");
  CAPTURE(run.err);
  REQUIRE(run.status == 0);
  return run.out;
}

void check_refused(const Scratch& scratch, const std::string& arguments,
                   const std::vector<std::string>& parts) {
  CAPTURE(arguments);
  const std::vector<std::string> before = scratch.listing();
  const Run run = scratch.flashbook(arguments);
  CAPTURE(run.err);
  CHECK(run.status == 2);
  CHECK(run.out.empty());
  CHECK(run.err.rfind("flashbook: ", 0) == 0);
  CHECK(run.err.find('\n') == run.err.size() - 1);
  for (const std::string& part : parts) {
    CAPTURE(part);
    CHECK(run.err.find(part) != std::string::npos);
  }
  CHECK(scratch.listing() == before);
}

}  // namespace flashbook::test
