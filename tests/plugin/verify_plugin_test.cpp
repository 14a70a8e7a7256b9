// `flashbook verify --plugin`: a right kernel passes, each of many wrong ones is named for what is
// wrong with it, and none takes the suite down.
#include <doctest/doctest.h>

#include "tests/plugin/plugin_runs.hpp"

using namespace flashbook::test;

namespace {

const Outputs all = {"O", "LSE", "dQ", "dK", "dV"};

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
      {"writes_to_inputs", "memory was written to that is only read: in Q, at element 0"},
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
  auto found = faulty("crashes", "heads/8-2-rows-2/fp32");  // by a signal, without an address
  CHECK(!says(found["heads/8-2-rows-2/fp32"], "element"));
  found = faulty("crashes_in_backward", "heads/8-2-*/fp32");
  CHECK(says(found["heads/8-2-rows-1/fp32"], "Floating point exception (signal 8), in backward"));
}

TEST_CASE(
    "what is touched outside the tensors is named: which one, on which side, and how far off") {
  const std::pair<std::string, std::string> faults[] = {
      {"writes_before", "memory was written to before O, at element -1 (it has 0 to 255)"},
      {"writes_behind", "memory was written to behind O, at element 256 (it has 0 to 255)"},
      {"writes_far_before", "in forward, before O, at element -1048576 (it has 0 to 255)"},
      {"writes_far_behind", "in forward, behind O, at element 1048576 (it has 0 to 255)"},
      {"reads_far_behind", "in forward, behind Q, at element 1048576 (it has 0 to 255)"},
      {"reads_a_null_pointer", "in forward, at a null pointer"},
  };
  for (const auto& [fault, words] : faults) {
    const auto found = faulty(fault, "heads/8-2-rows-2/fp32");
    const json& report = found.at("heads/8-2-rows-2/fp32");
    CHECK_MESSAGE(says(report, words), reasons(report));
  }
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

TEST_CASE("of many failures the first are printed, and all are counted by kind") {
  const Run run = verify(FLASHBOOK_FAULTY, "lse_in_base_2", "--case '?[il]*/*/fp32'");
  CHECK(run.status == 1);
  const std::size_t more = run.out.find(" more; all of them: align ");
  REQUIRE_MESSAGE(more != std::string::npos, run.out);
  CHECK(run.out.find(", size ", more) != std::string::npos);
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
