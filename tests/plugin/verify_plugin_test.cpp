// `flashbook verify --plugin`: a right kernel passes, each of many wrong ones is named for what is
// wrong with it, and none takes the suite down.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/unit/command_line.hpp"

namespace {

using flashbook::test::check_refused;
using flashbook::test::Run;
using flashbook::test::Scratch;
using nlohmann::json;

/// `verify --plugin` on a library, with a mistake of faulty.cpp.
Run verify(const std::string& library, const std::string& fault, const std::string& arguments) {
  return Scratch().shell("FAULT='" + fault + "' '" FLASHBOOK_PROGRAM "' verify --plugin '" +
                         library + "' " + arguments);
}

/// Case → its report.
std::map<std::string, json> reports(const Run& run) {
  CAPTURE(run.err);
  REQUIRE(run.status < 2);
  std::map<std::string, json> by_name;
  for (json& each : json::parse(run.out)) by_name[each["case"]] = each;
  return by_name;
}

std::map<std::string, json> faulty(const std::string& fault, const std::string& cases,
                                   const std::string& more = {}) {
  return reports(verify(FLASHBOOK_FAULTY, fault, "--json --case '" + cases + "' " + more));
}

using Outputs = std::set<std::string>;
const Outputs all = {"O", "LSE", "dQ", "dK", "dV"};

Outputs failing(const json& report) {
  Outputs outputs;
  for (const json& output : report["outputs"])
    if (!output["passed"]) outputs.insert(output["output"].get<std::string>());
  return outputs;
}

std::string reasons(const json& report) {
  std::string text;
  for (const json& reason : report["reasons"]) text += reason.get<std::string>() + "\n";
  return text;
}

bool says(const json& report, const std::string& part) {
  return reasons(report).find(part) != std::string::npos;
}

/// A mistake that numbers show: one of the cases that fails of it, in which outputs and words, and
/// one that must not (empty: all fail).
struct WrongNumbers {
  std::string fault, cases, fails;
  Outputs outputs;
  std::string words, passes;
};

const WrongNumbers wrong_numbers[] = {
    {"top_left_always", "align/*-17/fp32", "align/bottom-right-17/fp32", all, "O fails gate 1",
     "align/top-left-17/fp32"},
    {"grouped_modulo", "heads/8-*rows-17/fp32", "heads/8-2-rows-17/fp32", all, "O fails gate 1",
     "heads/8-8-rows-17/fp32"},
    {"tail_unwritten",
     "tail/minus-100-1?/fp32",
     "tail/minus-100-17/fp32",
     {"O", "LSE"},
     "O: 32 elements were not written",
     "tail/minus-100-16/fp32"},
    {"finite_sentinel",
     "logits/*/fp32",
     "logits/one-key-far-below/fp32",
     {"O", "LSE", "dV"},
     "O fails gate 1",
     "logits/logits-1e10-17/fp32"},
    {"lse_in_base_2",
     "align/top-left*17/fp32",
     "align/top-left-17/fp32",
     {"LSE"},
     "LSE fails gate 1",
     ""},
    {"window_one_short", "window/*16/fp32", "window/left-16/fp32", all, "O fails gate 1",
     "window/right-only-16/fp32"},
    {"scale_ignored", "scale/*/fp32", "scale/0.5/fp32", all, "O fails gate 1", ""},
    {"nan_in_empty_rows",
     "align/*-17/fp32",
     "align/bottom-right-17/fp32",
     {"O"},
     "is nan, expected 0",
     "align/top-left-17/fp32"},
    {"strides_ignored",
     "strides/[qk]-odd/fp32",
     "strides/q-odd/fp32",
     {"O", "LSE"},
     "O fails gate 1",
     "strides/k-odd/fp32"},
    {"softcap_ignored", "softcap/*normal/fp32", "softcap/2-normal/fp32", all, "O fails gate 1", ""},
    {"dk_without_scale",
     "scale/*/fp32",
     "scale/0.5/fp32",
     {"dK"},
     "dK fails gate 1",
     "scale/1/fp32"},
};

}  // namespace

TEST_CASE("a right plug-in passes everywhere; each mistake fails where and as it should") {
  for (const WrongNumbers& each : wrong_numbers) {
    CAPTURE(each.fault);
    for (const auto& right : faulty("", each.cases))
      CHECK_MESSAGE(right.second["status"] != "failed", reasons(right.second));
    auto found = faulty(each.fault, each.cases);
    const json& wrong = found[each.fails];
    CHECK(wrong["status"] == "failed");
    CHECK(failing(wrong) == each.outputs);
    CHECK_MESSAGE(says(wrong, each.words), reasons(wrong));
    if (!each.passes.empty()) CHECK(found[each.passes]["status"] == "passed");
  }
}

TEST_CASE("what no number shows is that case's failure, and the suite goes on") {
  const std::pair<std::string, std::string> faults[] = {
      {"crashes", "it crashed: Segmentation fault (signal 11), in forward"},
      {"aborts", "it crashed: Aborted (signal 6), in forward"},
      {"exits", "it ended the process, with status 7, in forward"},
      {"hangs", "forward did not return within 4 s"},
      {"throws", "no such head"},
      {"out_of_memory", "it ran out of memory"},
      {"silent", "it returned status 3 without a message"},
      {"writes_before", "memory next to O was written to"},
      {"writes_far_behind", "it crashed: Segmentation fault (signal 11), in forward"},
      {"writes_to_inputs", "Q was written to, which is only read"},
      {"asks_for_all_bytes", "it ran out of memory"},
      {"supports_crashes", "it crashed: Segmentation fault (signal 11), in supports_forward"},
      {"supports_fails", "asked whether it takes the problem, it returned status 3"},
      {"closes_files", "it closed, or wrote to, a file descriptor that is not its own, in forward"},
      {"closes_files_and_hangs", "it closed, or wrote to, a file descriptor that is not its own"},
      {"writes_to_files", "it closed, or wrote to, a file descriptor that is not its own"},
      {"exits_from_a_fork", "it ended the process, with status 9, in forward"},
  };
  for (const auto& [fault, words] : faults) {
    auto found = faulty(fault, "heads/8-2-*/fp32", "--timeout 4");
    REQUIRE(found.size() == 3);
    CHECK(found["heads/8-2-rows-1/fp32"]["status"] == "passed");  // faults are of two rows and more
    for (const char* rows : {"heads/8-2-rows-2/fp32", "heads/8-2-rows-17/fp32"}) {
      CHECK(found[rows]["status"] == "failed");
      CHECK_MESSAGE(says(found[rows], words), reasons(found[rows]));
      CHECK(found[rows]["outputs"].empty());
    }
  }
  auto found = faulty("crashes_in_backward", "heads/8-2-*/fp32");
  CHECK(says(found["heads/8-2-rows-1/fp32"], "Floating point exception (signal 8), in backward"));
}

TEST_CASE("a result that differs from call to call is named") {
  auto found = faulty("differs", "heads/8-2-rows-2/fp32");
  CHECK(says(found["heads/8-2-rows-2/fp32"], "O differs between two runs on the same inputs"));
}

TEST_CASE("what a plug-in does to its process changes no verdict") {
  for (const char* what : {"forks", "leaves_a_process", "leaves_traps"}) {
    CAPTURE(what);
    for (const auto& each : faulty(what, "heads/8-2-*/fp32"))
      CHECK_MESSAGE(each.second["status"] == "passed", reasons(each.second));
  }
}

TEST_CASE("no process of a plug-in outlives the command") {
  // It would keep the pipe open, and cat waiting.
  const Run run = Scratch().shell("FAULT=leaves_a_process '" FLASHBOOK_PROGRAM
                                  "' verify --plugin '" FLASHBOOK_FAULTY
                                  "' --case 'heads/8-2-*/fp32' 2>&1 | timeout 60 cat");
  CHECK(run.status == 0);
  CHECK(run.out.find("faulty") != std::string::npos);
}

TEST_CASE("it stops after calls that do not return, and says what was not run") {
  // Many more cases than any machine has processors: those would all hang at the same time.
  const Run run = verify(FLASHBOOK_FAULTY, "hangs", "--case '*/fp32' --timeout 0.3");
  CHECK(run.status == 1);
  const std::size_t stopped = run.out.find("Stopped: after ");
  REQUIRE_MESSAGE(stopped != std::string::npos, run.out);
  CHECK(std::stoi(run.out.substr(stopped + std::string("Stopped: after ").size())) >= 5);
  CHECK(run.out.find(" calls that did not return, ", stopped) != std::string::npos);
  CHECK(run.out.find(" cases were not run", stopped) != std::string::npos);
}

TEST_CASE("the line that a failure prints shows it again") {
  auto found = faulty("grouped_modulo", "heads/8-2-rows-17/fp32", "--seed 3");
  std::string line = found["heads/8-2-rows-17/fp32"]["command"];
  CHECK(line.rfind("flashbook verify --plugin " FLASHBOOK_FAULTY " --problem \"", 0) == 0);
  CHECK(line.find("--seed 3") != std::string::npos);
  line.replace(0, std::string("flashbook").size(), "FAULT=grouped_modulo '" FLASHBOOK_PROGRAM "'");
  const Run again = Scratch().shell(line + " --json");
  CHECK(again.status == 1);
  CHECK(failing(json::parse(again.out)[0]) == all);
}

TEST_CASE(
    "one pass is enough: the other is not judged, and lent by the oracle where it is needed") {
  auto found = faulty("no_forward", "align/top-left-17/fp32");
  json report = found["align/top-left-17/fp32"];
  CHECK(report["status"] == "passed");
  CHECK(report["outputs"].size() == 3);  // dQ, dK, dV
  found = faulty("no_backward", "align/top-left-17/fp32");
  report = found["align/top-left-17/fp32"];
  CHECK(report["status"] == "passed");
  CHECK(report["outputs"].size() == 2);
  CHECK(says(report, "backward is refused: there is no backward pass"));
}

TEST_CASE("refusals are listed with their number of cases, and all refused is no success") {
  const Run some = verify(FLASHBOOK_FAULTY, "", "--case 'option/[bs]*/fp32'");
  CHECK(some.status == 0);
  CHECK(some.out.find(" 5  forward is refused: bias: this kernel does not take it\n") !=
        std::string::npos);
  // Our `standard` takes a bias. This one need not.
  CHECK(verify(FLASHBOOK_FAULTY, "named_as_ours", "--case 'option/[bs]*/fp32'").status == 0);
  const Run none = verify(FLASHBOOK_FAULTY, "", "--case 'option/bias/*'");
  CHECK(none.status == 1);
  CHECK(none.out.find("Nothing was judged") != std::string::npos);
}

TEST_CASE("what is no plug-in is one sentence, status 2") {
  const Scratch scratch;
  scratch.save_text("text.so", "no library");
  const auto complains = [&](const std::string& arguments, const std::string& part) {
    check_refused(scratch, "verify " + arguments, {part});
  };
  complains("--plugin nowhere.so", "there is no such file");
  complains("--plugin .", "there is no such file");
  complains("--plugin text.so", "it cannot be loaded");
  complains("--plugin " FLASHBOOK_NO_PLUGIN, "it exports no flashbook_plugin");
  complains("--plugin x.so --impl oracle", "excludes");
  complains("--timeout 5", "requires");
  complains("--plugin text.so --timeout nan", "--timeout is nan: pass seconds, from 0.001");
  const std::pair<std::string, std::string> faults[] = {
      {"other_version", "version 2"},
      {"no_name", "it has no name"},
      {"name_of_2_lines", "a control character"},
      {"no_passes", "are both null"},
      {"no_table", "returned null"},
      {"no_size", "set size to sizeof"},
      {"exits_at_once", "with status 3"},
  };
  for (const auto& [fault, words] : faults) {
    const Run run = verify(FLASHBOOK_FAULTY, fault, "--case 'size/*'");
    CHECK(run.status == 2);
    CHECK(run.out.empty());
    CHECK_MESSAGE(run.err.find(words) != std::string::npos, run.err);
  }
}

TEST_CASE("the template in C passes all cases that it takes") {
  const Run run = verify(FLASHBOOK_NAIVE, "", "--case 's*/*/fp32'");
  CHECK_MESSAGE(run.status == 0, run.out);
  CHECK(run.out.find("mine fp32") != std::string::npos);
}

TEST_CASE("a source is compiled first, and nothing of that is left") {
  const Scratch scratch;
  std::filesystem::create_directory(scratch.path("tmp"));
  const std::string in_tmp = "TMPDIR='" + scratch.path("tmp").string() + "' ";
  const auto verify = [&](const std::string& file) {
    return scratch.shell(in_tmp + "'" FLASHBOOK_PROGRAM "' verify --case 'size/1*/fp32' --plugin" +
                         file);
  };
  const Run run = verify(" '" FLASHBOOK_NAIVE_SOURCE "'");
  CHECK_MESSAGE(run.status == 0, run.out, run.err);
  CHECK(run.out.find("mine fp32") != std::string::npos);

  scratch.save_text("mine.c", "int flashbook_plugin(void) { return nothing; }");
  const Run wrong = verify(" mine.c");
  CHECK(wrong.status == 2);
  CHECK_MESSAGE(wrong.err.find("--plugin is 'mine.c': it does not compile:\n") != std::string::npos,
                wrong.err);
  CHECK(wrong.err.find("nothing") != std::string::npos);  // the compiler's words

  std::filesystem::copy_file(FLASHBOOK_NAIVE_SOURCE, scratch.path("-x'.c"));
  CHECK(verify("=\"-x'.c\"").status == 0);
  std::filesystem::copy_file(FLASHBOOK_NAIVE_SOURCE, scratch.path("\xff.c"));
  CHECK(verify(" '\xff.c' --json").status == 0);
  const Run no_room =
      scratch.shell("TMPDIR=/nowhere '" FLASHBOOK_PROGRAM "' verify --plugin '\xff.c'");
  CHECK(no_room.status == 2);
  CHECK_MESSAGE(no_room.err.find("temporary folder can be made in '/nowhere'") != std::string::npos,
                no_room.err);

  scratch.save_text("hangs.c", "void* flashbook_plugin(void) { for (;;); }");
  const Run ended =
      scratch.shell(in_tmp + "timeout 5 '" FLASHBOOK_PROGRAM "' verify --plugin hangs.c");
  CHECK(ended.status == 124);  // that of timeout, which asked it to end

  const Run nowhere = scratch.shell("PATH=/nowhere '" FLASHBOOK_PROGRAM "' verify --plugin mine.c");
  CHECK(nowhere.status == 2);
  CHECK_MESSAGE(nowhere.err.find("cc is not here to compile it") != std::string::npos, nowhere.err);
  CHECK(std::filesystem::is_empty(scratch.path("tmp")));
}

TEST_CASE("the template for the emulator passes, and without a barrier its race is named") {
  const Scratch scratch;
  const auto verify = [&](const std::string& text) {
    scratch.save_text("mine.cpp", text);
    return scratch.shell("'" FLASHBOOK_PROGRAM
                         "' verify --case 'align/*+1/fp32' --plugin mine.cpp");
  };
  std::ostringstream file;
  file << std::ifstream(FLASHBOOK_EMULATED_TEMPLATE).rdbuf();
  std::string text = file.str();
  const Run right = verify(text);
  CHECK_MESSAGE(right.status == 0, right.out, right.err);
  CHECK(right.out.find("mine fp32") != std::string::npos);

  const std::string barrier = "sync_threads();  // nobody reads K and V any more";
  REQUIRE(text.find(barrier) != std::string::npos);
  const Run raced = verify(text.erase(text.find(barrier), barrier.size()));
  CHECK(raced.status == 1);
  CHECK_MESSAGE(raced.out.find("it failed: race at mine.cpp:") != std::string::npos, raced.out);
}

#ifdef FLASHBOOK_CUDA_TEMPLATE
TEST_CASE("the template in CUDA passes, or says that there is no GPU for it") {
  const Run run = verify(FLASHBOOK_CUDA_TEMPLATE, "", "--case 's*/*/fp32'");
  if (run.status != 2)
    CHECK_MESSAGE(run.status == 0, run.out);
  else
    CHECK_MESSAGE(run.err.find("its tensors lie in GPU memory") != std::string::npos, run.err);
}
#endif

#ifdef FLASHBOOK_HAS_NUMPY
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
#endif
