#include "sim/io/launch.hpp"

#include <omp.h>

#include <algorithm>
#include <exception>

namespace flashbook::io {

void Machine::launch(Index tasks, const std::function<void(Sram&, Index)>& task) {
  std::exception_ptr error;
  const int workers = listener != nullptr ? 1 : std::min(max_workers, omp_get_max_threads());
  if (listener != nullptr) listener->on_launch();
#pragma omp parallel num_threads(workers)
  {
    Sram sram(hbm, sram_bytes, listener);
    // An exception must not leave a parallel region: keep the first and throw it afterwards.
#pragma omp for schedule(dynamic)
    for (Index t = 0; t < tasks; ++t) {
      try {
        if (listener != nullptr) listener->on_task_begin(t);
        task(sram, t);
        if (listener != nullptr) listener->on_task_end();
      } catch (...) {
#pragma omp critical(flashbook_io_launch)
        if (!error) error = std::current_exception();
      }
    }
#pragma omp critical(flashbook_io_launch)
    tally.add(sram.tally());
  }
  if (error) std::rethrow_exception(error);
}

void Machine::forget() {
  tally = {};
  if (listener != nullptr) listener->on_forget();
}

}  // namespace flashbook::io
