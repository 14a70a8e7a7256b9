#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/simt/bugs.hpp"

// Planted bugs: each is found, in its category, at its line.

using namespace flashbook;
using namespace flashbook::emulated;

namespace {

simt::Category category_called(const std::string& name) {
  using simt::Category;
  static const std::map<std::string, Category> all = {
      {"deadlock", Category::deadlock},
      {"divergence", Category::divergence},
      {"out_of_bounds", Category::out_of_bounds},
      {"misaligned", Category::misaligned},
      {"uninitialised", Category::uninitialised},
      {"unfinished_copy", Category::unfinished_copy},
      {"race", Category::race},
      {"block_race", Category::block_race},
      {"departed", Category::departed},
      {"invalid", Category::invalid}};
  return all.at(name);
}

bool is_at(simt::SiteId site, const Bug& bug) {
  return simt::text(simt::site_of(site)) == bug.place;
}

bool is_reported(const Bug& bug, const simt::Report& report) {
  const simt::Category category = category_called(bug.category);
  return std::any_of(report.findings.begin(), report.findings.end(), [&](const auto& finding) {
    return finding.category == category && (is_at(finding.site, bug) || is_at(finding.other, bug));
  });
}

bool has_conflicts(const Bug& bug, const simt::Report& report) {
  for (std::size_t id = 1; id < report.lines.size(); ++id)
    if (is_at(static_cast<simt::SiteId>(id), bug))
      return report.lines[id].shared_load.cost > report.lines[id].shared_load.ideal;
  return false;
}

std::string texts(const simt::Report& report) {
  std::string out;
  for (const auto& finding : report.findings) out += finding.text();
  return out;
}

void check_found(const Bug& bug, unsigned seed) {
  simt::Options options;
  options.seed = seed;
  const Outcome outcome = bug.run(options);
  INFO(bug.name << ", " << bug.place << ", seed " << seed << "\n" << texts(outcome.report));
  if (bug.category == "wrong") {
    CHECK_FALSE(outcome.right);
  } else if (bug.category == "conflicts") {
    CHECK(outcome.right);
    CHECK(has_conflicts(bug, outcome.report));
  } else {
    CHECK(is_reported(bug, outcome.report));
  }
}

}  // namespace

TEST_CASE("every planted bug is reported in its category at its line, whatever the warps' order") {
  for (const Bug& bug : bugs())
    for (unsigned seed = 0; seed < 3; ++seed) check_found(bug, seed);
}

TEST_CASE("without a bug the backward rungs are right in these runs, and nothing is found") {
  for (const BackwardKernel* rung : {&standard_backward, &three_kernel_backward}) {
    const Outcome outcome = run_backward(*rung, rung->launch, {});
    CHECK(outcome.right);
    CHECK(texts(outcome.report) == "");
  }
}

TEST_CASE("there are at least 25 bugs of at least 10 kinds") {
  std::set<std::string> kinds;
  for (const Bug& bug : bugs()) kinds.insert(bug.category);
  CHECK(bugs().size() >= 25);
  CHECK(kinds.size() >= 10);
}

TEST_CASE("a finding is reported once a pair of lines") {
  for (const Bug& bug : bugs()) {
    const Outcome outcome = bug.run({});
    const auto& findings = outcome.report.findings;
    for (std::size_t i = 0; i < findings.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) CHECK_FALSE(findings[i].same_pair(findings[j]));
  }
}
