// What faulty.cpp does wrong that no number shows, if the environment's FAULT names it.
#pragma once

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "cuda/api/plugin.h"

inline const char* const chosen_fault = std::getenv("FAULT");

inline bool fault(std::string_view name) {
  return chosen_fault && name == chosen_fault;
}

[[noreturn]] inline void hang() {
  for (;;) ::pause();
}

/// With what the process shares with those that judge.
inline void misuse_the_process() {
  if (fault("closes_files") || fault("closes_files_and_hangs"))
    for (int file = 3; file < 64; ++file) ::close(file);
  if (fault("closes_files_and_hangs")) hang();
  if (fault("writes_to_files"))
    for (int file = 3; file < 64; ++file)
      if (::write(file, "{\"loaded\": 1}\n", 14) < 0) continue;
  if (fault("forks")) (void)!::fork();
  if (fault("leaves_a_process") && ::fork() == 0) hang();
  if (fault("exits_from_a_fork")) {
    if (::fork() == 0) hang();
    std::_Exit(9);
  }
}

/// In the memory of tensors, or outside.
inline void misuse_the_tensors(const flashbook_problem& p, const flashbook_forward_tensors& t) {
  volatile auto* const q = static_cast<float*>(const_cast<void*>(t.q));
  volatile auto* const o = static_cast<float*>(t.o);
  const int64_t size = p.batch * p.n_q * p.heads_q * p.d_v, far = 1 << 20;
  if (fault("writes_before")) o[-1] = 1;
  if (fault("writes_behind")) o[size] = 1;
  if (fault("writes_far_before")) o[-far] = 1;
  if (fault("writes_far_behind")) o[far] = 1;
  if (fault("reads_far_behind")) (void)q[far];
  if (fault("reads_a_null_pointer")) (void)*static_cast<const volatile float*>(t.bias);
  if (fault("writes_to_inputs")) q[0] = q[0] + 1;
}

/// What no number shows.
inline void misbehave(const flashbook_problem& p, const flashbook_forward_tensors& t) {
  if (fault("crashes")) std::raise(SIGSEGV);
  if (fault("aborts")) std::abort();
  if (fault("exits")) std::_Exit(7);
  if (fault("hangs")) hang();
  misuse_the_process();
  if (fault("throws")) throw std::runtime_error("no such head");
  misuse_the_tensors(p, t);
}
