#pragma once

#include <cfenv>

namespace flashbook::plugin {

/// What a process shares with the code that it calls. How it rounds, and whether it flushes small
/// numbers to 0 (a library built with -ffast-math asks for that when it is loaded), a plug-in
/// keeps from call to call, and we do not see; its locale and its number of OpenMP threads end with
/// the call. Made before the plug-in is loaded.
class Surroundings {
 public:
  Surroundings();
  /// To the plug-in's.
  void enter() const;
  /// Back to ours.
  void leave();

 private:
  std::fenv_t ours_{}, theirs_{};
};

}  // namespace flashbook::plugin
