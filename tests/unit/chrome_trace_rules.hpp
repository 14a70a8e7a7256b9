#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

/// Checks a trace against Chrome's "Trace Event Format", from that document and not from the code
/// that writes traces, and against rules of our own, which are stricter: every thread and process
/// has a name, every complete event a category, and the complete events of a thread and the values
/// of a counter come in the order of time. The format allows any order, and nesting.
namespace flashbook::testing {

class ChromeTraceRules {
 public:
  explicit ChromeTraceRules(const std::string& text)
      : document_(nlohmann::json::parse(text, nullptr, false)) {}

  void check() {
    REQUIRE(document_.is_object());
    REQUIRE(document_.at("traceEvents").is_array());
    REQUIRE_FALSE(document_["traceEvents"].empty());
    if (document_.contains("displayTimeUnit"))
      CHECK((document_["displayTimeUnit"] == "ms" || document_["displayTimeUnit"] == "ns"));
    for (const auto& event : document_["traceEvents"]) {
      check_common(event);
      const std::string phase = event["ph"];
      if (phase == "X")
        check_complete(event);
      else if (phase == "C")
        check_counter(event);
      else if (phase == "M")
        check_metadata(event);
      else
        FAIL_CHECK("phase " << phase);
    }
    for (const auto& thread : used_) CHECK(named_.count(thread) == 1);
    for (const auto& [pid, tid] : used_) CHECK(named_processes_.count(pid) == 1);
  }

  /// Sum of args.bytes of the complete events of a category.
  std::int64_t bytes(const std::string& category) const {
    std::int64_t sum = 0;
    for (const auto& event : document_["traceEvents"])
      if (event["ph"] == "X" && event["cat"] == category)
        sum += event["args"]["bytes"].get<std::int64_t>();
    return sum;
  }
  /// The process of this name.
  std::int64_t pid(const std::string& name) const {
    for (const auto& event : document_["traceEvents"])
      if (event["name"] == "process_name" && event["args"]["name"] == name) return event["pid"];
    throw std::logic_error("no process " + name);
  }
  /// Nanoseconds of the complete events of a category in a process, one after the other.
  std::int64_t busy_ns(std::int64_t pid, const std::string& category) const {
    std::int64_t sum = 0;
    for (const auto& event : document_["traceEvents"])
      if (event["ph"] == "X" && event["pid"] == pid && event["cat"] == category)
        sum += nanoseconds(event, "dur");
    return sum;
  }
  /// Nanoseconds from 0 to `end` in which nothing of these categories runs in a process.
  std::int64_t idle_ns(std::int64_t pid, const std::set<std::string>& categories,
                       std::int64_t end) const {
    std::multimap<std::int64_t, std::int64_t> spans;  // start → end
    for (const auto& event : document_["traceEvents"])
      if (event["ph"] == "X" && event["pid"] == pid && categories.count(event["cat"]) == 1) {
        const std::int64_t start = nanoseconds(event, "ts");
        spans.emplace(start, start + nanoseconds(event, "dur"));
      }
    std::int64_t idle = 0, free = 0;
    for (const auto& [first, last] : spans) {
      idle += std::max<std::int64_t>(0, first - free);
      free = std::max(free, last);
    }
    return idle + end - free;
  }
  std::size_t counted(const std::string& phase) const {
    std::size_t n = 0;
    for (const auto& event : document_["traceEvents"]) n += event["ph"] == phase;
    return n;
  }

 private:
  using Thread = std::pair<std::int64_t, std::int64_t>;

  static Thread thread_of(const nlohmann::json& event) { return {event["pid"], event["tid"]}; }

  /// Microseconds, as whole nanoseconds. JSON has no word for NaN: it would be null.
  static std::int64_t nanoseconds(const nlohmann::json& event, const char* key) {
    REQUIRE(event.contains(key));
    REQUIRE(event[key].is_number());
    const double us = event[key];
    CHECK(std::isfinite(us));
    CHECK(us >= 0);
    return std::llround(us * 1000);
  }

  static void check_common(const nlohmann::json& event) {
    REQUIRE(event.is_object());
    for (const char* key : {"name", "ph", "pid", "tid"}) REQUIRE(event.contains(key));
    REQUIRE(event["name"].is_string());
    CHECK_FALSE(event["name"].get<std::string>().empty());
    REQUIRE(event["ph"].is_string());
    CHECK(event["pid"].is_number_integer());
    CHECK(event["tid"].is_number_integer());
    if (event.contains("args")) CHECK(event["args"].is_object());
  }

  /// Our own rule: complete events of one thread come in the order of time, and do not overlap.
  void check_complete(const nlohmann::json& event) {
    const std::int64_t start = nanoseconds(event, "ts"), duration = nanoseconds(event, "dur");
    const Thread thread = thread_of(event);
    CHECK(start >= free_at_[thread]);
    free_at_[thread] = start + duration;
    used_.insert(thread);
    REQUIRE(event.contains("cat"));
    CHECK_FALSE(event["cat"].get<std::string>().empty());
  }

  void check_counter(const nlohmann::json& event) {
    const std::int64_t at = nanoseconds(event, "ts");
    auto& last = counter_at_[{event["pid"], event["name"]}];
    CHECK(at >= last);
    last = at;
    REQUIRE(event.contains("args"));
    CHECK_FALSE(event["args"].empty());
    for (const auto& value : event["args"]) {
      REQUIRE(value.is_number());
      CHECK(value >= 0);
    }
  }

  void check_metadata(const nlohmann::json& event) {
    const std::string what = event["name"];
    const auto& args = event.at("args");
    if (what == "process_name" || what == "thread_name")
      CHECK_FALSE(args.at("name").get<std::string>().empty());
    else if (what == "thread_sort_index" || what == "process_sort_index")
      CHECK(args.at("sort_index").is_number_integer());
    else
      FAIL_CHECK("metadata " << what);
    if (what == "thread_name") CHECK(named_.insert(thread_of(event)).second);
    if (what == "process_name")
      CHECK(named_processes_.insert(event["pid"].get<std::int64_t>()).second);
  }

  nlohmann::json document_;
  std::map<Thread, std::int64_t> free_at_;
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> counter_at_;
  std::set<Thread> used_, named_;
  std::set<std::int64_t> named_processes_;
};

}  // namespace flashbook::testing
