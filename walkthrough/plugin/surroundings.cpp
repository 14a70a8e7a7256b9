#include "walkthrough/plugin/surroundings.hpp"

#include <omp.h>

#include <locale>

namespace flashbook::plugin {

Surroundings::Surroundings() {
  std::fegetenv(&ours_);
  theirs_ = ours_;
}

void Surroundings::enter() const {
  std::fesetenv(&theirs_);
}

void Surroundings::leave() {
  std::fegetenv(&theirs_);
  std::fesetenv(&ours_);
  std::locale::global(std::locale::classic());
  omp_set_num_threads(1);
}

}  // namespace flashbook::plugin
