#include "walkthrough/orders/recording.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cpu_reference/error.hpp"

namespace flashbook::orders {
namespace {

using json = nlohmann::ordered_json;

json numbers_of(const Stamps& stamps) {
  json numbers = json::array();
  for (const Stamp& stamp : stamps) {
    numbers.push_back(static_cast<std::uint32_t>(stamp.phase));
    numbers.push_back(stamp.cycles);
  }
  return numbers;
}

Stamps stamps_of(const json& numbers) {
  Stamps stamps;
  for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
    const auto phase = numbers[i].get<std::uint32_t>(),
               cycles = numbers[i + 1].get<std::uint32_t>();
    const bool follows = stamps.empty() || stamps.back().cycles <= cycles;
    if (phase > static_cast<std::uint32_t>(Phase::done) || !follows)
      throw std::invalid_argument("stamp " + std::to_string(i / 2) + " is none");
    stamps.push_back({static_cast<Phase>(phase), cycles});
  }
  if (stamps.size() < 2 || stamps.back().phase != Phase::done)
    throw std::invalid_argument("a consumer does not come to its end");
  return stamps;
}

OrderRecording order_of(const json& object) {
  OrderRecording order = {object.at("order").get<std::string>(),
                          object.at("what").get<std::string>(),
                          object.at("timed_cycles").get<std::uint32_t>()};
  for (const json& numbers : object.at("consumers")) order.consumers.push_back(stamps_of(numbers));
  if (order.consumers.size() != consumers)
    throw std::invalid_argument(order.name + " has not two consumers");
  return order;
}

Recording recording_of(const json& object) {
  Recording recording = {
      object.at("on") == name(Machine::gpu) ? Machine::gpu : Machine::cpu,
      object.at("gpu").get<std::string>(), object.at("driver").get<std::string>(),
      object.at("tokens").get<std::int64_t>(), object.at("heads").get<std::int64_t>()};
  for (const json& order : object.at("orders")) recording.orders.push_back(order_of(order));
  return recording;
}

}  // namespace

const OrderRecording& Recording::order(const std::string& name) const {
  std::string known;
  for (const OrderRecording& order : orders) {
    if (order.name == name) return order;
    known += (known.empty() ? "" : ", ") + order.name;
  }
  throw InputError("ORDER is '" + name + "', which is not recorded: pass one of " + known);
}

/// A line a consumer, so that a difference between two files can be read.
std::string text_of_file(const Recording& r) {
  const json head = {{"on", name(r.machine)}, {"gpu", r.gpu},     {"driver", r.driver},
                     {"tokens", r.tokens},    {"heads", r.heads}, {"orders", json::array()}};
  std::string text = head.dump();
  text.resize(text.size() - 2);  // without "]}"
  for (const OrderRecording& order : r.orders) {
    json object = {{"order", order.name}, {"what", order.what}};
    object["timed_cycles"] = order.timed_cycles;
    std::string line = object.dump();
    line.back() = ',';
    text += (&order == &r.orders.front() ? "\n" : ",\n") + line + " \"consumers\": [\n";
    for (const Stamps& stamps : order.consumers)
      text += numbers_of(stamps).dump() + (&stamps == &order.consumers.back() ? "" : ",\n");
    text += "]}";
  }
  return text + "]}\n";
}

Recording read_recording(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in)
    throw InputError("--recording is " + file.string() +
                     ", which cannot be read: pass a file that timeline --record has written");
  try {
    return recording_of(json::parse(in));
  } catch (const std::exception& error) {
    throw InputError("--recording is " + file.string() + ", which is no recording (" +
                     error.what() + "): pass a file that timeline --record has written");
  }
}

}  // namespace flashbook::orders
