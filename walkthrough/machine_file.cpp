#include "walkthrough/machine_file.hpp"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "cpu_reference/error.hpp"

namespace flashbook {
namespace {

using Json = nlohmann::json;

/// What is wrong with a file, in one sentence.
class MachineFile {
 public:
  explicit MachineFile(const std::filesystem::path& file) : file_(file) {}

  std::vector<io::Gpu> read() const;

 private:
  Json parsed() const;
  io::Gpu machine(const Json& object) const;
  std::string text(const Json& object, const char* key) const;
  void read_number(const Json& object, const io::GpuField& field, io::Gpu& gpu) const;
  const Json& value(const Json& object, const std::string& key) const;
  void check_keys(const Json& object) const;
  [[noreturn]] void refuse(const std::string& why) const {
    throw InputError("--machine " + file_.string() + ": " + why);
  }

  const std::filesystem::path& file_;
};

std::string all_keys() {
  std::string keys = "name, source";
  for (const io::GpuField& field : io::gpu_fields()) keys += ", " + std::string(field.name);
  return keys;
}

Json MachineFile::parsed() const {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file_, error)) refuse("is no file: pass a readable one");
  std::ifstream in(file_, std::ios::binary);
  if (!in) refuse("cannot be read: pass a readable file");
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto note = [&](int, Json::parse_event_t event, Json& what) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(what.get<std::string>()).second)
      refuse("key " + what.dump() + " is given twice: keep one of the two");
    return true;
  };
  try {
    return Json::parse(in, note);
  } catch (const Json::parse_error& where) {
    refuse("is not JSON (byte " + std::to_string(where.byte) + "): correct it there");
  } catch (const Json::out_of_range&) {
    refuse("holds a number beyond every double: pass finite numbers");
  }
}

const Json& MachineFile::value(const Json& object, const std::string& key) const {
  const auto found = object.find(key);
  if (found == object.end()) refuse("key \"" + key + "\" is missing: give all of " + all_keys());
  return *found;
}

std::string MachineFile::text(const Json& object, const char* key) const {
  const Json& found = value(object, key);
  if (!found.is_string())
    refuse("key \"" + std::string(key) + "\" is " + found.dump() + ": pass a text");
  return found.get<std::string>();
}

void MachineFile::read_number(const Json& object, const io::GpuField& field, io::Gpu& gpu) const {
  if (field.may_be_unknown && !object.contains(field.name)) return;
  const Json& found = value(object, std::string(field.name));
  const bool whole = std::holds_alternative<Index io::Gpu::*>(field.member);
  // A whole number may be written 2.3e5; what Index cannot hold is no size of anything.
  const double number = found.is_number() ? found.get<double>() : 0;
  if (!found.is_number() || (whole && (number != std::floor(number) || std::abs(number) > 0x1p53)))
    refuse("key \"" + std::string(field.name) + "\" is " + found.dump() + ": pass the " +
           std::string(field.meaning) + ", a " + (whole ? "whole " : "") + "number above 0");
  std::visit(
      [&](auto member) { gpu.*member = static_cast<std::decay_t<decltype(gpu.*member)>>(number); },
      field.member);
}

void MachineFile::check_keys(const Json& object) const {
  for (const auto& [key, _] : object.items()) {
    bool known = key == "name" || key == "source";
    for (const io::GpuField& field : io::gpu_fields()) known = known || key == field.name;
    if (!known) refuse("key \"" + key + "\" is unknown: give " + all_keys());
  }
}

io::Gpu MachineFile::machine(const Json& object) const {
  if (!object.is_object())
    refuse("a machine is " + std::string(object.type_name()) + ": pass an object with " +
           all_keys());
  check_keys(object);
  io::Gpu gpu = {};
  gpu.name = text(object, "name");
  gpu.source = text(object, "source");
  for (const io::GpuField& field : io::gpu_fields()) read_number(object, field, gpu);
  try {
    io::check(gpu);
  } catch (const InputError& error) {
    refuse(error.what());
  }
  return gpu;
}

std::vector<io::Gpu> MachineFile::read() const {
  const Json content = parsed();
  std::vector<io::Gpu> machines;
  if (!content.is_array()) return {machine(content)};
  if (content.empty()) refuse("is an empty list: describe a machine");
  for (const Json& object : content) machines.push_back(machine(object));
  return machines;
}

}  // namespace

std::vector<io::Gpu> read_machines(const std::filesystem::path& file) {
  return MachineFile(file).read();
}

}  // namespace flashbook
