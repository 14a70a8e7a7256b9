#include "cuda/api/place.hpp"

#include <algorithm>
#include <sstream>

namespace flashbook {
namespace {

/// Rounded down, also below 0.
std::int64_t quotient(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0);
}

}  // namespace

std::uintptr_t Place::distance(std::uintptr_t address) const {
  if (address < begin()) return begin() - address;
  return address < end() ? 0 : address - end() + 1;
}

std::string Place::text(std::uintptr_t address) const {
  std::ostringstream text;
  text << (address < begin() ? "before "
           : address < end() ? "in "
                             : "behind ")
       << name << (element_bytes > 1 ? ", at element " : ", at byte ")
       << quotient(static_cast<std::int64_t>(address - zero), element_bytes);
  if (size > 0)
    text << " (it has " << first << " to " << first + size - 1 << ")";
  else
    text << " (it has none)";
  return text.str();
}

}  // namespace flashbook
