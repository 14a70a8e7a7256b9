#include "walkthrough/receipts/receipts.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cpu_reference/error.hpp"
#include "walkthrough/commands/commands.hpp"
#include "walkthrough/number_table.hpp"
#include "walkthrough/places.hpp"

namespace flashbook {
namespace {

using namespace receipts;

struct Options {
  std::string folder;
  bool brief = false, as_json = false;
};

/// A kernel, how its receipt stands, and why it may stand so.
struct Line {
  std::string kernel;
  Standing standing;
  std::string pending;

  bool needs_work() const {
    return standing.state == State::stale || standing.state == State::missing;
  }
  /// Work that nobody has promised, or a promise that has been kept.
  bool is_wrong() const {
    return needs_work() ? pending.empty() : standing.state == State::current && !pending.empty();
  }
  std::string remark() const {
    if (standing.state == State::current)
      return pending.empty() ? "" : "current, and still in pending.txt: remove its line";
    return standing.why + (pending.empty() ? "" : "; pending: " + pending);
  }
};

std::vector<Line> lines_of(const std::filesystem::path& folder) {
  const auto pending = read_pending(folder / "pending.txt");
  std::vector<Line> lines;
  for (const std::string& kernel : kernel_names()) {
    const auto reason = pending.find(kernel);
    lines.push_back({kernel, standing_of(kernel, read_receipt(folder, kernel), kernel_builds()),
                     reason == pending.end() ? "" : reason->second});
  }
  return lines;
}

void print(const std::vector<Line>& lines, bool brief) {
  for (const Line& line : lines) {
    if (brief && line.standing.state == State::current && line.pending.empty()) continue;
    std::cout << paragraph(left(line.kernel, 32) + left(std::string(name(line.standing.state)), 16),
                           line.remark());
  }
}

Json as_json(const std::vector<Line>& lines) {
  Json list = Json::array();
  for (const Line& line : lines)
    list.push_back({{"kernel", line.kernel},
                    {"state", name(line.standing.state)},
                    {"why", line.standing.why},
                    {"pending", line.pending},
                    {"ok", !line.is_wrong()}});
  return list;
}

void receipts_command(const Options& options) {
  const std::filesystem::path folder = options.folder.empty()
                                           ? sources_folder() / "docs/receipts"
                                           : std::filesystem::path(options.folder);
  if (!options.folder.empty() && !std::filesystem::is_directory(folder))
    throw InputError("--folder is '" + options.folder + "': there is no such folder");
  const std::vector<Line> lines = lines_of(folder);
  if (options.as_json)
    std::cout << as_json(lines).dump(2) << "\n";
  else
    print(lines, options.brief);
  for (const Line& line : lines)
    if (line.is_wrong()) throw CLI::RuntimeError(1);
}

}  // namespace

void add_receipts(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "receipts", "whether what a GPU showed of each kernel is about its code as it is now");
  verb->add_option("--folder", options->folder, "where they are; default: docs/receipts");
  verb->add_flag("--brief", options->brief, "only those that are not current");
  verb->add_flag("--json", options->as_json, "a list, for programs");
  verb->callback([options] { receipts_command(*options); });
}

}  // namespace flashbook
