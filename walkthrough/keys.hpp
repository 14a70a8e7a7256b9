#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

/// Reading by key: what a reader presses on a terminal, one key at a time.
namespace flashbook {

/// One key: a character, or one that has none.
struct Key {
  enum Kind {
    character,
    enter,
    erase,  ///< backspace
    escape,
    up,
    down,
    left,
    right,
    home,
    end,
    page_up,
    page_down,
    unknown,
    end_of_input
  };

  Kind kind = unknown;
  char letter = 0;  ///< of a character

  bool is(char c) const { return kind == character && letter == c; }
  bool operator==(const Key&) const = default;
};

/// Where keys come from: a Keyboard, or a test's script. After end_of_input it is not asked again.
using KeySource = std::function<Key()>;

/// The next byte, or −1 for none within so many milliseconds (−1: wait), and at the end of input.
using ByteSource = std::function<int(int milliseconds)>;

/// Reads one key from the bytes that terminals send for it: ESC alone, or with what follows at
/// once.
Key decode_key(const ByteSource& next_byte);

/// The terminal's keys, each as it is pressed and unseen, for as long as this lives. The terminal
/// is as before afterwards: also while the program is stopped (ctrl-Z), and when a signal ends it
/// (ctrl-C). One at a time. Where stdin is no terminal, keys come from it as they are.
class Keyboard {
 public:
  Keyboard();
  ~Keyboard();
  Keyboard(const Keyboard&) = delete;
  Keyboard& operator=(const Keyboard&) = delete;

  Key next() const;

 private:
  bool on_terminal_;
};

/// A line the reader types after `prompt`, echoed to `out`; nothing if they press escape.
std::optional<std::string> read_line(const std::string& prompt, const KeySource& next_key,
                                     std::ostream& out);

/// Whether a reader sits at both ends: stdin and stdout are terminals.
bool is_interactive();

/// Whether stdout may be coloured: it is a terminal that can, and NO_COLOR is not set.
bool wants_colour();

/// Empties the screen and begins at its top.
inline constexpr const char* clear_screen = "\x1b[2J\x1b[H";

}  // namespace flashbook
