#pragma once

#include <array>
#include <csignal>
#include <cstdint>
#include <string>

#include "cuda/api/place.hpp"

namespace flashbook::plugin {

/// Memory that a worker shares with its parent: where the tensors of its present call lie and, once
/// it has crashed, the address that it could not touch. Made before the two part.
class CrashSite {
 public:
  /// Throws std::bad_alloc.
  CrashSite();
  ~CrashSite();
  CrashSite(const CrashSite&) = delete;
  CrashSite& operator=(const CrashSite&) = delete;

  /// The worker's: from now on a fault leaves its address here. One site a process.
  void watch();
  /// The worker's: another call, with other tensors.
  void clear();
  void add(const Place& place);

  /// The parent's: ", behind O, at element 256 (it has 0 to 255)", or nothing if nothing is known.
  std::string text() const;

 private:
  struct Shared {
    std::array<Place, 32> places;
    std::size_t count;
    bool has_faulted;
    std::uintptr_t address;
  };
  static void note_fault(int signal, siginfo_t* info, void*);
  static Shared* watched;

  Shared* shared_;
};

}  // namespace flashbook::plugin
