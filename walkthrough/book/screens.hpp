#pragma once

#include <iosfwd>

#include "walkthrough/book/render.hpp"
#include "walkthrough/keys.hpp"

namespace flashbook::book {

/// The blocks on screens of at most so many lines, a blank line between two: a block is divided
/// only if it is longer than a screen, and a heading stays with what it heads.
std::vector<Lines> screens_of(const std::vector<Lines>& blocks, int height);

/// Lines and columns of the terminal that stdout is; 24 and 80 if it does not say.
struct Size {
  int lines, columns;
};
Size terminal_size();

/// Shows screen after screen, each when its reader presses a key, until q or the key after the
/// last. `redraw` gives the screens for the terminal as it is then, so that it may change its size.
void step_through(const std::function<std::vector<Lines>()>& redraw, const KeySource& next_key,
                  std::ostream& out);

}  // namespace flashbook::book
