// `verify --plugin` on Python modules.
#include <doctest/doctest.h>

#include "tests/plugin/plugin_runs.hpp"

using namespace flashbook::test;

namespace {

/// With the python3 that CMake found to have numpy.
Run in_python(const Scratch& scratch, const std::string& arguments) {
  return scratch.shell("PATH=/usr/bin:$PATH '" FLASHBOOK_PROGRAM "' verify --plugin " + arguments);
}

/// What becomes of a module whose forward pass has this body.
json report_of(const std::string& body) {
  const Scratch scratch;
  scratch.save_text(
      "mine.py",
      "import os, numpy as np\ntakes = {'fp32'}\ndef forward(p, q, k, v):\n  " + body + "\n");
  const Run run = in_python(scratch, "mine.py --json --case size/16x16/fp32 --timeout 10");
  CAPTURE(run.err);
  REQUIRE(run.status == 1);
  return json::parse(run.out)[0];
}

}  // namespace

TEST_CASE("the template in Python passes all cases that it takes, gradients included") {
  for (const char* cases : {"option/*", "align/*17/*", "empty/*", "nan/*", "heads/8-*17/*"}) {
    const Run run =
        in_python(Scratch(), FLASHBOOK_NUMPY_TEMPLATE " --case '" + std::string(cases) + "'");
    CHECK_MESSAGE(run.status == 0, run.out << run.err);
  }
}

TEST_CASE("a module that goes wrong is named for it") {
  CHECK(says(report_of("raise KeyError('head')"), "KeyError: 'head'"));
  CHECK(says(report_of("return q, q"), "LSE has shape"));
  CHECK(says(report_of("return q, q"), "[batch, query head, query]"));
  CHECK(says(report_of("return 1, q"), "[batch, token, head, channel]"));
  CHECK(says(report_of("return q"), "forward must return 2 arrays: O, LSE"));
  CHECK(says(report_of("return q, np.zeros((p.batch, p.heads_q, p.n_q))"), "O fails gate 1"));
  CHECK(says(report_of("return q + 1j, q"), "O has dtype complex64"));
  CHECK(says(report_of("raise ValueError('\\udc80')"), "ValueError: ?"));
  CHECK(says(report_of("os.fork(); return 1, 2"), "O has shape ()"));
  CHECK(says(report_of("[os.write(i, b'?\\n') for i in range(3, 6)]"),
             "it closed, or wrote to, a file descriptor that is not its own"));
  CHECK(says(report_of("os._exit(4)"), "it ended the process, with status 4, in forward"));
  CHECK(says(report_of("os.kill(os.getpid(), 11)"), "it crashed: Segmentation fault (signal 11)"));
  CHECK(says(report_of("\n  while True: pass"), "forward did not return within 10 s"));
}

TEST_CASE("what a module raises again and again is printed once, with its place and its number") {
  const Scratch scratch;
  scratch.save_text("mine.py",
                    "takes = {'fp32', 'causal'}\n"
                    "def row(q):\n  raise KeyError(q.shape)\n"
                    "def forward(p, q, k, v):\n  return row(q)\n");
  const Run run = in_python(scratch, "mine.py --case 'align/*/fp32'");
  CHECK(run.status == 1);
  const std::size_t at = run.err.find("line 3, in row\n    raise KeyError(q.shape)\n");
  REQUIRE_MESSAGE(at != std::string::npos, run.err);
  CHECK_MESSAGE(run.err.find("in row", at + 20) == std::string::npos, run.err);
  CHECK(run.err.find("KeyError: (") == 1);  // after an empty line
  CHECK_MESSAGE(run.err.find(" (the first of 14) was raised at\n") != std::string::npos, run.err);
  CHECK_MESSAGE(run.err.find("run_python.py") == std::string::npos, run.err);
}

TEST_CASE("a module that cannot be used is one sentence, status 2") {
  const Scratch scratch;
  const std::string right = "takes = {'fp32'}\ndef forward(p, q, k, v): pass\n";
  const std::pair<std::string, std::string> modules[] = {
      {"import nothing_of_the_kind", "No module named 'nothing_of_the_kind'"},
      {"takes = {'fp32'}", "it defines neither forward nor backward"},
      {"def forward(p, q, k, v): pass", "it has no `takes`"},
      {"forward = 3", "it defines neither forward nor backward"},
      {right + "takes = 'fp32'", "takes is 'fp32': pass a set of words"},
      {right + "takes = {'FP32'}", "takes has 'FP32', which is no option: there are fp16, bf16"},
      {right + "properties = 5", "properties is 5: pass a dict"},
      {right + "properties = {'eps_exp': float('nan')}", "eps is nan: pass a relative error"},
      {right + "properties = {'nan_tile': [-1, 0]}",
       "nan_tile is [-1, 0]: pass two positive sizes"},
      {right + "properties = {'materialized': True}", "with some of materialised"},
  };
  for (const auto& [text, words] : modules) {
    scratch.save_text("mine.py", text + "\n");
    const Run run = in_python(scratch, "mine.py");
    CHECK(run.status == 2);
    CHECK_MESSAGE(run.err.find(words) != std::string::npos, run.err);
  }
}
