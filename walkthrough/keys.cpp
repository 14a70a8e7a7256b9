#include "walkthrough/keys.hpp"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ostream>
#include <string_view>

namespace flashbook {
namespace {

// ---- what terminals send

/// Bytes of one key arrive together.
constexpr int at_once = 50;  // ms
constexpr char escape_byte = '\x1b';

/// After ESC [ or ESC O.
Key decode_sequence(const ByteSource& next_byte) {
  std::string sequence;
  for (int byte = next_byte(at_once); byte >= 0; byte = next_byte(at_once)) {
    sequence += static_cast<char>(byte);
    if (byte >= '@' && byte <= '~') break;  // the last of a sequence
  }
  struct Name {
    std::string_view sequence;
    Key::Kind kind;
  };
  constexpr std::array names = {
      Name{"A", Key::up},    Name{"B", Key::down},     Name{"C", Key::right},
      Name{"D", Key::left},  Name{"H", Key::home},     Name{"F", Key::end},
      Name{"1~", Key::home}, Name{"4~", Key::end},     Name{"7~", Key::home},
      Name{"8~", Key::end},  Name{"5~", Key::page_up}, Name{"6~", Key::page_down},
  };
  for (const Name& name : names)
    if (name.sequence == sequence) return {name.kind};
  return {Key::unknown};
}

// ---- the terminal's state

termios before, by_key;

void set(const termios& state) {
  ::tcsetattr(STDIN_FILENO, TCSANOW, &state);
}

/// Runs with the signal at its default again: raised once more, it ends the program.
void leave(int signal) {
  set(before);
  ::raise(signal);
}

void stop(int) {
  set(before);
  ::raise(SIGSTOP);
  set(by_key);  // when the program is continued
}

constexpr std::array ending = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigaction(signal, &action, nullptr);
}

int next_byte_of_stdin(int milliseconds) {
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  int ready = 0;
  do ready = ::poll(&input, 1, milliseconds);
  while (ready < 0 && errno == EINTR);
  if (ready <= 0) return -1;
  unsigned char byte = 0;
  return ::read(STDIN_FILENO, &byte, 1) == 1 ? byte : -1;
}

}  // namespace

Key decode_key(const ByteSource& next_byte) {
  const int byte = next_byte(-1);
  if (byte < 0) return {Key::end_of_input};
  if (byte == '\r' || byte == '\n') return {Key::enter};
  if (byte == 0x7f || byte == '\b') return {Key::erase};
  if (byte == 0x04) return {Key::end_of_input};  // ctrl-D
  if (byte != escape_byte) return {Key::character, static_cast<char>(byte)};
  const int second = next_byte(at_once);
  if (second < 0) return {Key::escape};
  return second == '[' || second == 'O' ? decode_sequence(next_byte) : Key{Key::unknown};
}

Keyboard::Keyboard() : on_terminal_(::isatty(STDIN_FILENO) != 0) {
  if (!on_terminal_) return;
  ::tcgetattr(STDIN_FILENO, &before);
  by_key = before;
  by_key.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  by_key.c_cc[VMIN] = 1;
  by_key.c_cc[VTIME] = 0;
  for (const int signal : ending) handle(signal, leave, static_cast<int>(SA_RESETHAND));
  handle(SIGTSTP, stop, SA_RESTART);
  set(by_key);
}

Keyboard::~Keyboard() {
  if (!on_terminal_) return;
  set(before);
  for (const int signal : ending) handle(signal, SIG_DFL, 0);
  handle(SIGTSTP, SIG_DFL, 0);
}

Key Keyboard::next() const {
  return decode_key(next_byte_of_stdin);
}

std::optional<std::string> read_line(const std::string& prompt, const KeySource& next_key,
                                     std::ostream& out) {
  std::string line;
  out << prompt << std::flush;
  for (Key key = next_key(); key.kind != Key::enter; key = next_key()) {
    if (key.kind == Key::escape || key.kind == Key::end_of_input) return std::nullopt;
    if (key.kind == Key::erase && !line.empty()) {
      line.pop_back();
      out << "\b \b" << std::flush;
    } else if (key.kind == Key::character) {
      line += key.letter;
      out << key.letter << std::flush;
    }
  }
  return line;
}

bool is_interactive() {
  return ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0;
}

bool wants_colour() {
  const char *no_colour = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
  const bool refused = no_colour != nullptr && *no_colour != '\0';
  const bool is_dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return ::isatty(STDOUT_FILENO) != 0 && !refused && !is_dumb;
}

}  // namespace flashbook
