// docs/faults.md: every fault known from the field is shown by cases that exist, and a planted
// mistake of its kind fails in every group of cases its row names.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/conformance/suite.hpp"
#include "tests/unit/planted_faults.hpp"

namespace {

using namespace flashbook;
using namespace flashbook::conformance;
using namespace flashbook::test;

std::string contents(const std::string& path) {
  std::ifstream in(FLASHBOOK_SOURCE "/" + path);
  REQUIRE_MESSAGE(in, path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// A row of docs/faults.md.
struct Row {
  std::string kind, shown;                // shown: the last column
  std::vector<std::string> globs, tests;  // what it names between backticks; tests: pages, too
};

Row parse_row(const std::string& kind, const std::string& shown) {
  Row row = {kind, shown, {}, {}};
  for (std::size_t at = shown.find('`'); at != std::string::npos; at = shown.find('`', at + 1)) {
    const std::size_t end = shown.find('`', at + 1);
    const std::string name = shown.substr(at + 1, end - at - 1);
    (name.find(": ") == std::string::npos ? row.globs : row.tests).push_back(name);
    at = end;
  }
  return row;
}

/// Id → row; complains of an id listed twice.
std::map<std::string, Row> read_rows() {
  std::istringstream page(contents("docs/faults.md"));
  std::map<std::string, Row> rows;
  std::string kind;
  for (std::string line; std::getline(page, line);) {
    if (line.rfind("## ", 0) == 0) kind = line.substr(3);
    if (line.rfind("| C", 0) != 0) continue;
    const std::string id = line.substr(2, 4);
    const std::size_t last = line.rfind('|'), before = line.rfind('|', last - 1);
    CHECK_MESSAGE(rows.count(id) == 0, id);
    rows[id] = parse_row(kind, line.substr(before + 2, last - before - 3));
  }
  return rows;
}

std::vector<PlantedFault> planted_faults() {
  std::vector<PlantedFault> all = faults_of_place();
  for (PlantedFault& fault : faults_of_value()) all.push_back(std::move(fault));
  return all;
}

/// Whether one of the cases fails for the fault.
bool bites(const Faulty& faulty, const std::vector<Case>& cases) {
  return std::any_of(cases.begin(), cases.end(), [&](const Case& each) {
    return verify(faulty, each, 1).status == Status::failed;
  });
}

}  // namespace

TEST_CASE("every known fault has a row under its kind, and every row is of a known fault") {
  std::map<std::string, Row> rows = read_rows();
  std::istringstream ids(contents("tests/conformance/fault_ids.txt"));
  std::size_t count = 0;
  for (std::string id, kind; ids >> id >> kind; ++count) {
    CAPTURE(id);
    CHECK(rows[id].kind == kind);
  }
  CHECK(count == 100);
  CHECK(rows.size() == count);
}

TEST_CASE("every row names cases and tests that exist, or says what it awaits or why it does not") {
  for (const auto& [id, row] : read_rows()) {
    const std::string fault = id;
    CAPTURE(fault);
    const bool is_open =
        row.shown.rfind("awaits ", 0) == 0 || row.shown.rfind("out of scope: ", 0) == 0;
    CHECK((is_open || !row.globs.empty() || !row.tests.empty()));
    for (const std::string& glob : row.globs) CHECK_MESSAGE(!matching_cases(glob).empty(), glob);
    for (const std::string& test : row.tests) {
      const std::size_t colon = test.find(": ");
      const std::string file = test.substr(0, colon), words = test.substr(colon + 2);
      const std::string quote = file.ends_with(".cpp") ? "\"" : "";
      CHECK_MESSAGE(contents(file).find(quote + words) != std::string::npos, test);
    }
  }
}

TEST_CASE("every kind of case that is not a general one is named in some row") {
  std::set<std::string> kinds,
      named = {"size", "data", "option", "pair", "degenerate", "nan", "fuzz", "sanitize"};
  for (const Case& each : all_cases()) kinds.insert(each.name.substr(0, each.name.find('/')));
  for (const auto& [id, row] : read_rows())
    for (const std::string& glob : row.globs) named.insert(glob.substr(0, glob.find('/')));
  for (const std::string& kind : kinds) CHECK_MESSAGE(named.count(kind), kind);
}

TEST_CASE("every kind of fault that cases show has a planted one") {
  std::set<std::string> planted, shown;
  const std::map<std::string, Row> rows = read_rows();
  for (const PlantedFault& each : planted_faults()) planted.insert(rows.at(each.id).kind);
  for (const auto& [id, row] : rows)
    if (!row.globs.empty() && row.shown[0] == '`') shown.insert(row.kind);
  for (const std::string& kind : shown) CHECK_MESSAGE(planted.count(kind), kind);
  MESSAGE(planted_faults().size() << " planted faults of " << planted.size() << " kinds");
}

TEST_CASE("a planted fault fails in every group of cases of its row, and passes an ordinary one") {
  const std::map<std::string, Row> rows = read_rows();
  const std::vector<PlantedFault> faults = planted_faults();
  std::vector<std::string> complaints;
#pragma omp parallel for schedule(dynamic)
  for (std::size_t n = 0; n < faults.size(); ++n) {
    const Faulty faulty(faults[n].fault);
    std::string silent;
    for (const std::string& glob : rows.at(faults[n].id).globs)
      if (!bites(faulty, matching_cases(glob))) silent += ' ' + glob;
    const Case ordinary = {"ordinary", parse_problem("hq=2 nq=64 nk=64 d=32 dtype=bf16")};
    if (bites(faulty, {ordinary})) silent += " fails an ordinary problem";
#pragma omp critical(flashbook_faults_test)
    if (!silent.empty()) complaints.push_back(faults[n].id + silent);
  }
  for (const std::string& complaint : complaints) CHECK_MESSAGE(false, complaint);
  CHECK(complaints.empty());
}
