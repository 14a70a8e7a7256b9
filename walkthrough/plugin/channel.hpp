#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace flashbook::plugin {

/// One end of a socket between two processes, over which messages go, each a line of JSON. It
/// belongs to the process that made it: one that was forked from it ends when it uses it.
class Channel {
 public:
  explicit Channel(int socket);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  int socket() const { return socket_; }
  /// Lost if the other process has ended.
  void send(const nlohmann::ordered_json& message) const;
  /// Waits for one; none if the other process has ended. Throws nlohmann::json::exception for a
  /// line that is no message.
  std::optional<nlohmann::json> receive();
  /// Whether one is here already.
  bool has_message() const { return unread_.find('\n') != std::string::npos; }
  /// Reads what has come. False if the other process has ended.
  bool fill();

 private:
  void check_owner() const;

  int socket_;
  pid_t owner_;
  std::string unread_;
};

}  // namespace flashbook::plugin
