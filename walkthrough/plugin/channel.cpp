#include "walkthrough/plugin/channel.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

namespace flashbook::plugin {

Channel::Channel(int socket) : socket_(socket), owner_(::getpid()) {}

Channel::~Channel() {
  ::close(socket_);
}

/// Two processes that judge for one parent would answer for each other's cases.
void Channel::check_owner() const {
  if (::getpid() != owner_) std::_Exit(0);
}

void Channel::send(const nlohmann::ordered_json& message) const {
  check_owner();
  const std::string line =
      message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t sent = ::send(socket_, line.data() + done, line.size() - done, MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) return;
    if (sent > 0) done += static_cast<std::size_t>(sent);
  }
}

bool Channel::fill() {
  check_owner();
  std::array<char, 4096> buffer{};
  ssize_t got = 0;
  do got = ::recv(socket_, buffer.data(), buffer.size(), 0);
  while (got < 0 && errno == EINTR);
  if (got <= 0) return false;
  unread_.append(buffer.data(), static_cast<std::size_t>(got));
  return true;
}

std::optional<nlohmann::json> Channel::receive() {
  while (!has_message())
    if (!fill()) return std::nullopt;
  const std::size_t end = unread_.find('\n');
  const std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  return nlohmann::json::parse(line);
}

}  // namespace flashbook::plugin
