#include "walkthrough/records.hpp"

#include <sstream>

namespace flashbook {
namespace {

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string field(const Records::Value& value) {
  if (value.is_null()) return "";
  return quoted(value.is_string() ? value.get<std::string>() : value.dump());
}

}  // namespace

nlohmann::ordered_json as_json(const Records& records) {
  auto out = nlohmann::ordered_json::array();
  for (const auto& row : records.rows) {
    auto object = nlohmann::ordered_json::object();
    for (std::size_t c = 0; c < records.columns.size(); ++c) object[records.columns[c]] = row.at(c);
    out.push_back(std::move(object));
  }
  return out;
}

std::string as_csv(const Records& records) {
  std::ostringstream out;
  for (std::size_t c = 0; c < records.columns.size(); ++c)
    out << (c == 0 ? "" : ",") << quoted(records.columns[c]);
  for (const auto& row : records.rows) {
    out << "\r\n";
    for (std::size_t c = 0; c < row.size(); ++c) out << (c == 0 ? "" : ",") << field(row[c]);
  }
  out << "\r\n";
  return out.str();
}

}  // namespace flashbook
