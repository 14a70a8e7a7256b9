#include "walkthrough/book/screens.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>

namespace flashbook::book {
namespace {

constexpr Size usual = {24, 80};

/// Whether it should be seen with what follows: a heading, and a paragraph that announces it.
bool leads_on(const Lines& block) {
  return is_heading(block) ||
         (!block.empty() && !block.back().empty() && block.back().back() == ':');
}

/// Blocks with what they lead on to, where both fit on one screen.
std::vector<Lines> with_leads(const std::vector<Lines>& blocks, std::size_t most) {
  std::vector<Lines> joined;
  bool leading = false;
  for (const Lines& block : blocks) {
    if (leading && joined.back().size() + 1 + block.size() <= most) {
      joined.back().emplace_back();
      joined.back().insert(joined.back().end(), block.begin(), block.end());
    } else {
      joined.push_back(block);
    }
    leading = leads_on(block);
  }
  return joined;
}

/// -1, 0, 1: where the key leads; far for the first and last.
int step_of(const Key& key) {
  constexpr int far = 1 << 20;
  switch (key.kind) {
    case Key::enter:
    case Key::right:
    case Key::down:
    case Key::page_down:
      return 1;
    case Key::left:
    case Key::up:
    case Key::page_up:
    case Key::erase:
      return -1;
    case Key::home:
      return -far;
    case Key::end:
      return far;
    default:
      return key.is(' ') || key.is('n') ? 1 : key.is('b') || key.is('p') ? -1 : 0;
  }
}

bool is_end(const Key& key) {
  return key.is('q') || key.kind == Key::escape || key.kind == Key::end_of_input;
}

void draw(const std::vector<Lines>& screens, int at, std::ostream& out) {
  const int count = static_cast<int>(screens.size());
  out << clear_screen;
  for (const std::string& line : screens[static_cast<std::size_t>(at)]) out << line << "\n";
  out << "\n" << at + 1 << "/" << count << "  space: next   b: back   q: quit" << std::flush;
}

}  // namespace

std::vector<Lines> screens_of(const std::vector<Lines>& blocks, int height) {
  const auto most = static_cast<std::size_t>(std::max(height, 1));
  std::vector<Lines> screens(1);
  for (const Lines& block : with_leads(blocks, most)) {
    const std::size_t gap = screens.back().empty() ? 0 : 1;
    if (screens.back().size() + gap + block.size() > most && gap > 0) screens.emplace_back();
    if (!screens.back().empty()) screens.back().emplace_back();
    for (const std::string& line : block) {
      if (screens.back().size() == most) screens.emplace_back();
      screens.back().push_back(line);
    }
  }
  return screens;
}

Size terminal_size() {
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
    return usual;
  return {size.ws_row, size.ws_col};
}

void step_through(const std::function<std::vector<Lines>()>& redraw, const KeySource& next_key,
                  std::ostream& out) {
  for (int at = 0;;) {
    const std::vector<Lines> screens = redraw();
    const int count = static_cast<int>(screens.size());
    draw(screens, at = std::clamp(at, 0, count - 1), out);
    const Key key = next_key();
    const int step = step_of(key);
    if (is_end(key) || (step == 1 && at == count - 1)) break;
    at = std::clamp(at + step, 0, count - 1);
  }
  out << "\n" << std::flush;
}

}  // namespace flashbook::book
