#include "tests/simt/conformance/children.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace flashbook::probes {
namespace {

/// Memory that a child and its parent share: it outlives a child that was killed.
class Progress {
 public:
  struct Last {
    int number;  ///< of the probes begun so far
    bool ended;  ///< a child has come to the end of all
    std::array<char, 64> probe;
  };

  Progress()
      : last_(static_cast<Last*>(mmap(nullptr, sizeof(Last), PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (last_ == MAP_FAILED) throw std::runtime_error("no memory to share with a child process");
  }
  ~Progress() { munmap(last_, sizeof(Last)); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  Last& operator*() const { return *last_; }

 private:
  Last* last_;
};

class ChildReporter : public Reporter {
 public:
  ChildReporter(Progress::Last& last, int pipe, unsigned seconds)
      : last_(last), skipped_(last.number), pipe_(pipe), seconds_(seconds) {}

  bool begin(const std::string& probe) override {
    if (number_++ < skipped_) return false;
    last_.number = number_;
    std::snprintf(last_.probe.data(), last_.probe.size(), "%s", probe.c_str());
    alarm(seconds_);
    return true;
  }
  void end(const Result& result) override {
    alarm(0);
    std::ostringstream text;
    write(text, result);
    const std::string bytes = text.str();
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t n = ::write(pipe_, bytes.data() + done, bytes.size() - done);
      if (n <= 0) throw std::runtime_error("the pipe to the parent is closed");
      done += static_cast<std::size_t>(n);
    }
  }

 private:
  Progress::Last& last_;
  int number_ = 0, skipped_, pipe_;
  unsigned seconds_;
};

[[noreturn]] void be_child(const std::function<void(Reporter&)>& run, Reporter& reporter,
                           Progress::Last& last) {
  try {
    run(reporter);
    last.ended = true;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  _exit(0);  // what the parent opened is the parent's to close
}

std::string read_all(int pipe) {
  std::string text;
  std::array<char, 4096> part;
  for (ssize_t n = 1; n > 0;) {
    n = read(pipe, part.data(), part.size());
    if (n > 0) text.append(part.data(), static_cast<std::size_t>(n));
  }
  return text;
}

/// What a child gave.
std::string run_child(const std::function<void(Reporter&)>& run, Progress::Last& last,
                      unsigned seconds) {
  std::array<int, 2> ends = {};
  if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe to a child process");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no child process");
  if (child == 0) {
    close(ends[0]);
    ChildReporter reporter(last, ends[1], seconds);
    be_child(run, reporter, last);
  }
  close(ends[1]);
  std::string text = read_all(ends[0]);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return text;
}

}  // namespace

Dump dump_in_children(const std::function<void(Reporter&)>& run, unsigned seconds) {
  const Progress progress;
  Progress::Last& last = *progress;
  Dump dump;
  while (!last.ended) {
    const int before = last.number;
    std::istringstream in(run_child(run, last, seconds));
    read_results(in, dump);
    if (last.ended) break;
    if (last.number == before) throw std::runtime_error("no probe could be begun");
    dump.failed.emplace_back(last.probe.data());
  }
  return dump;
}

}  // namespace flashbook::probes
