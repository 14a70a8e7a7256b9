#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace flashbook {

/// Results as programs read them: named columns, a value of any kind in each. null where a column
/// does not apply.
struct Records {
  using Value = nlohmann::ordered_json;

  std::vector<std::string> columns;
  std::vector<std::vector<Value>> rows;  ///< each as long as `columns`
};

/// An array of objects.
nlohmann::ordered_json as_json(const Records& records);

/// RFC 4180: a heading line, then a line a row; null is an empty field.
std::string as_csv(const Records& records);

}  // namespace flashbook
