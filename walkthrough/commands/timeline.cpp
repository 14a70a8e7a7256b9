#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cpu_reference/error.hpp"
#include "walkthrough/commands/commands.hpp"
#include "walkthrough/implementations.hpp"
#include "walkthrough/orders/pictures.hpp"
#include "walkthrough/orders/shares.hpp"
#include "walkthrough/output_file.hpp"
#include "walkthrough/places.hpp"

namespace flashbook {
namespace {

using namespace orders;
using json = nlohmann::ordered_json;

struct Options {
  std::string order, on, recording, record, svg;
  std::optional<std::int64_t> n, tile;
  std::optional<std::uint32_t> cycles;
  bool as_json = false;
};

/// By default 9600 cycles from the middle on, three to four tiles; of the emulator's steps, all.
Window window_for(const Options& options, const Recording& recording) {
  const bool is_time = recording.machine == Machine::gpu;
  Window window = {options.tile.value_or(is_time ? recording.tiles() / 2 : 0),
                   options.cycles.value_or(9600)};
  if (window.tile < 0 || window.tile >= recording.tiles())
    throw InputError("--tile is " + std::to_string(window.tile) + ": pass 0 to " +
                     std::to_string(recording.tiles() - 1));
  if (is_time || options.cycles) return window;
  for (const OrderRecording& order : recording.orders)
    for (const Stamps& stamps : order.consumers)
      if (!stamps.empty()) window.cycles = std::max(window.cycles, stamps.back().cycles);
  return window;
}

std::vector<const OrderRecording*> chosen(const Options& options, const Recording& recording) {
  if (!options.order.empty()) return {&recording.order(options.order)};
  std::vector<const OrderRecording*> all;
  for (const OrderRecording& order : recording.orders) all.push_back(&order);
  return all;
}

/// Refuses before anything is recorded what it would refuse afterwards.
void check_choice(const Options& options, Machine machine, std::int64_t n) {
  Recording planned = {machine, {}, {}, n};
  for (const Order& order : emulated::orders::all())
    planned.orders.push_back({order.name, order.what});
  chosen(options, planned);
  window_for(options, planned);
}

/// A recording that is made now, or one from a file; by default the book's.
Recording recording_for(const Options& options) {
  if (options.on.empty())
    return read_recording(options.recording.empty()
                              ? book_folder() / "chapters" / "12_overlap" / "h200.json"
                              : std::filesystem::path(options.recording));
  const Machine machine = machine_called(options.on);
  const bool on_gpu = machine == Machine::gpu;
  const std::int64_t n = options.n.value_or(on_gpu ? 4096 : 512), most = on_gpu ? 65536 : 2048;
  if (n < tile_keys || n > most || n % tile_keys != 0)
    throw InputError("--n is " + std::to_string(n) + ": pass a multiple of 128 up to " +
                     std::to_string(most));
  check_choice(options, machine, n);
  return record(machine, n, on_gpu ? 16 : 1);
}

json as_json(const Recording& recording, const std::vector<const OrderRecording*>& orders) {
  json object = {{"on", name(recording.machine)}, {"gpu", recording.gpu},
                 {"driver", recording.driver},    {"tokens", recording.tokens},
                 {"heads", recording.heads},      {"orders", json::array()}};
  for (const OrderRecording* order : orders) {
    const Shares shares = shares_of(*order, recording.tiles());
    json one = {{"order", order->name},
                {"cycles_a_tile", shares.cycles_a_tile},
                {"utilisation", shares.utilisation},
                {"hidden_softmax", shares.hidden},
                {"consumers", json::array()}};
    for (const Stamps& stamps : order->consumers) {
      json stretches = json::array();
      for (const Stretch& s : stretches_of(stamps))
        stretches.push_back({{"does", name(s.activity)}, {"begin", s.begin}, {"end", s.end}});
      one["consumers"].push_back(stretches);
    }
    object["orders"].push_back(one);
  }
  return object;
}

void run_command(const Options& options) {
  for (const auto& [flag, file] : {std::pair("--svg", options.svg), {"--record", options.record}})
    if (!file.empty()) check_writable(flag, file);
  if (options.order.empty() && options.svg.empty() && (options.tile || options.cycles))
    throw InputError((options.tile ? "--tile is " + std::to_string(*options.tile)
                                   : "--cycles is " + std::to_string(*options.cycles)) +
                     ", and the table draws nothing: pass an ORDER, or --svg FILE");
  const Recording recording = recording_for(options);
  const std::vector<const OrderRecording*> orders = chosen(options, recording);
  const Window window = window_for(options, recording);
  if (!options.record.empty()) write_file("--record", options.record, text_of_file(recording));
  if (!options.svg.empty()) write_file("--svg", options.svg, svg_of(recording, orders, window));
  if (options.as_json)
    std::cout << as_json(recording, orders).dump(2) << "\n";
  else if (options.order.empty())
    std::cout << table_of(recording);
  else
    std::cout << text_of(recording, *orders.front(), window);
}

}  // namespace

void add_timeline(CLI::App& app) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  CLI::App* verb = app.add_subcommand(
      "timeline", "when the warpgroups of chapter 12 wait, multiply and compute softmax");
  verb->add_option("ORDER", o.order,
                   "one_after_another, overlapped, in_turns or no_maximum; without one, a table");
  CLI::Option* recording =
      verb->add_option("--recording", o.recording, "file to draw; default: the book's, of an H200");
  CLI::Option* on = verb->add_option("--on", o.on,
                                     "record now, on a gpu or, in its steps, on the "
                                     "emulator: cpu")
                        ->excludes(recording);
  verb->add_option("--n", o.n, "with --on: tokens; default 4096, on the emulator 512")->needs(on);
  verb->add_option("--record", o.record, "with --on: keeps the recording in this file")->needs(on);
  verb->add_option("--tile", o.tile, "draw from this tile of the keys on; default: the middle one");
  verb->add_option("--cycles", o.cycles, "draw so many; default 9600")
      ->check(CLI::Range(std::uint32_t{64}, std::uint32_t{1} << 24));
  verb->add_option("--svg", o.svg, "draws it in this file, too; without ORDER, all orders");
  verb->add_flag("--json", o.as_json, "one object, for programs");
  verb->callback([options] { run_command(*options); });
}

}  // namespace flashbook
