// What may be passed to `verify --plugin`: libraries, sources and templates, and what is none of
// them.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/plugin/plugin_runs.hpp"

using namespace flashbook::test;

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
  for (const char* part : {"--plugin is 'mine.c': it does not compile (cc -O2", " -I ", "):\n"})
    CHECK_MESSAGE(wrong.err.find(part) != std::string::npos, wrong.err);
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
