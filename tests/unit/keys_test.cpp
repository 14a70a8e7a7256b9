// Keys: the bytes of a terminal, a typed line, and a terminal that is as it was before.
#include "walkthrough/keys.hpp"

#include <doctest/doctest.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include <csignal>
#include <cstdlib>
#include <sstream>

namespace flashbook {
namespace {

/// Bytes that arrive together, and then nothing.
ByteSource bytes(const std::string& text) {
  return [text, at = std::size_t{0}](int) mutable {
    return at < text.size() ? static_cast<unsigned char>(text[at++]) : -1;
  };
}

KeySource typed(const std::string& text) {
  return [source = bytes(text)] { return decode_key(source); };
}

/// What a program on a terminal of its own left behind.
struct Session {
  int status;       ///< as of waitpid
  bool as_before;   ///< the terminal is in its first state
  bool was_by_key;  ///< it was not, while the program waited for a key
  std::string seen;
};

bool same(const termios& a, const termios& b) {
  return a.c_lflag == b.c_lflag && a.c_iflag == b.c_iflag && a.c_oflag == b.c_oflag;
}

/// Says that the Keyboard is there, and then which letter was pressed.
void read_a_key() {
  const Keyboard keyboard;
  if (::write(STDOUT_FILENO, "?", 1) != 1) std::_Exit(1);
  const Key key = keyboard.next();
  if (::write(STDOUT_FILENO, &key.letter, 1) != 1) std::_Exit(1);
}

/// Reads a key on a terminal of its own and exits with 7. `act` gets the terminal and
/// the process when the Keyboard is there.
template <class Act>
Session on_terminal(const Act& act) {
  int terminal = 0, other_side = 0;
  REQUIRE(::openpty(&terminal, &other_side, nullptr, nullptr, nullptr) == 0);
  termios first = {}, now = {};
  ::tcgetattr(other_side, &first);
  const pid_t child = ::fork();
  if (child == 0) {
    ::login_tty(other_side);
    read_a_key();
    std::_Exit(7);
  }
  Session session = {};
  char byte = 0;
  if (::read(terminal, &byte, 1) == 1) session.seen += byte;
  ::tcgetattr(other_side, &now);
  session.was_by_key = !same(first, now);
  act(terminal, child);
  ::waitpid(child, &session.status, 0);
  ::tcgetattr(other_side, &now);
  session.as_before = same(first, now);
  ::close(other_side);
  while (::read(terminal, &byte, 1) == 1) session.seen += byte;
  ::close(terminal);
  return session;
}

}  // namespace

TEST_CASE("keys: the bytes of each") {
  const auto kind = [](const std::string& text) { return decode_key(bytes(text)).kind; };
  CHECK(decode_key(bytes("n")) == Key{Key::character, 'n'});
  CHECK(kind("\r") == Key::enter);
  CHECK(kind("\n") == Key::enter);
  CHECK(kind("\x7f") == Key::erase);
  CHECK(kind("\x04") == Key::end_of_input);
  CHECK(kind("") == Key::end_of_input);
  CHECK(kind("\x1b") == Key::escape);
  CHECK(kind("\x1b[A") == Key::up);
  CHECK(kind("\x1bOB") == Key::down);
  CHECK(kind("\x1b[C") == Key::right);
  CHECK(kind("\x1b[D") == Key::left);
  CHECK(kind("\x1b[1~") == Key::home);
  CHECK(kind("\x1bOF") == Key::end);
  CHECK(kind("\x1b[5~") == Key::page_up);
  CHECK(kind("\x1b[6~") == Key::page_down);
  CHECK(kind("\x1b[15~") == Key::unknown);
  CHECK(kind("\x1bx") == Key::unknown);
  const KeySource keys = typed("\x1b[200~n");  // a sequence is taken whole
  CHECK(keys().kind == Key::unknown);
  CHECK(keys().is('n'));
}

TEST_CASE("keys: a typed line is echoed, corrected, and given up by escape") {
  std::ostringstream out;
  CHECK(read_line("to: ",
                  typed("13\x7f"
                        "2\r"),
                  out) == "12");
  CHECK(out.str() == "to: 13\b \b2");
  CHECK(read_line("", typed("\x7f\r"), out) == "");
  CHECK(read_line("", typed("12\x1b"), out) == std::nullopt);
  CHECK(read_line("", typed("12"), out) == std::nullopt);
}

TEST_CASE("keys: one is read without enter and echo, and the terminal is as before") {
  const Session session =
      on_terminal([](int terminal, pid_t) { CHECK(::write(terminal, "n", 1) == 1); });
  CHECK(session.was_by_key);
  CHECK(session.as_before);
  CHECK(WEXITSTATUS(session.status) == 7);
  CHECK(session.seen == "?n");
}

TEST_CASE("keys: a signal ends the program and leaves the terminal as before") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    CAPTURE(signal);
    const Session session = on_terminal([&](int, pid_t child) { ::kill(child, signal); });
    CHECK(session.was_by_key);
    CHECK(session.as_before);
    CHECK(WIFSIGNALED(session.status));
    CHECK(WTERMSIG(session.status) == signal);
  }
}

TEST_CASE("keys: a stopped program gives the terminal back, and takes it again") {
  const Session session = on_terminal([](int terminal, pid_t child) {
    int status = 0;
    ::kill(child, SIGTSTP);
    ::waitpid(child, &status, WUNTRACED);
    CHECK(WIFSTOPPED(status));
    termios stopped = {};
    ::tcgetattr(terminal, &stopped);
    CHECK((stopped.c_lflag & ICANON) != 0);
    ::kill(child, SIGCONT);
    CHECK(::write(terminal, "n", 1) == 1);
  });
  CHECK(session.as_before);
  CHECK(WEXITSTATUS(session.status) == 7);
}

}  // namespace flashbook
