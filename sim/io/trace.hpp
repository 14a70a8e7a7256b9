#pragma once

#include "sim/io/machines.hpp"
#include "sim/io/memory.hpp"

/// A run in time: what its workers moved, multiplied and held, on a clock that is a model.
namespace flashbook::io {

/// The model's machine. The run itself is real; only the clock is not: a worker does one thing at a
/// time, a move takes bytes / bandwidth, a product FLOPs / rate, each rounded up to a nanosecond,
/// and everything else takes none. A task goes to the worker that is free first, and a kernel
/// begins when the one before it has ended.
struct TraceModel {
  Index workers;
  double gb_per_s;     ///< of one worker, between HBM and its SRAM: bytes a nanosecond
  double tflop_per_s;  ///< of one worker
};

/// Each worker is one of the GPU's multiprocessors, with its share of DRAM and of the products'
/// rate in this type.
TraceModel multiprocessors_of(const Gpu& gpu, DType dtype, Index workers);

/// Times are nanoseconds since the run began.
struct Trace {
  struct Span {
    Index worker, start_ns, duration_ns;
    Index end_ns() const { return start_ns + duration_ns; }
  };
  struct Task : Span {
    Index kernel, task;  ///< the task-th of that kernel of the run, both from 0
  };
  struct Move : Span {
    Listener::Move kind;
    std::string tensor;
    Region region;
    Index bytes;  ///< read and written: an atomic addition counts its region twice
  };
  struct Product : Span {
    Index flops;
  };
  /// From its allocation to its release.
  struct TileLife : Span {
    std::size_t slot;  ///< of the worker's SRAM: one tile at a time
    std::string tile;
    Index rows, columns, bytes;
  };
  struct Residency {
    Index worker, at_ns, bytes;  ///< held by the worker from then on
  };

  TraceModel model = {};
  Index duration_ns = 0;
  std::vector<Task> tasks;  ///< in the order in which they ran, as are the others
  std::vector<Move> moves;
  std::vector<Product> products;
  std::vector<TileLife> tiles;  ///< in the order of their release
  std::vector<Residency> residency;
};

/// Makes a trace of a run: RunOptions::listener. All that happens is recorded up to `most_events`;
/// what follows is only counted.
class TraceRecorder final : public Listener {
 public:
  static constexpr Index most_workers = 1024;

  /// Throws InputError for workers outside [1, most_workers] and for rates outside
  /// [0.001, 1,000,000].
  TraceRecorder(const TraceModel& model, Index most_events);

  /// Of the run so far.
  const Trace& trace() const { return trace_; }
  /// Of the whole run: tasks, moves, products, and for each tile its life and two changes of what
  /// is resident.
  Index events() const { return events_; }
  bool complete() const { return events_ <= most_events_; }

  void on_forget() override;
  void on_launch() override;
  void on_task_begin(Index task) override;
  void on_task_end() override;
  void on_move(Move move, const std::string& tensor, const Region& region, Index bytes) override;
  void on_allocate(const Resident& tile, Index resident_bytes) override;
  void on_release(const Resident& tile, Index resident_bytes) override;
  void on_product(Index flops) override;

 private:
  template <class Event>
  void record(std::vector<Event>& events, Event event);
  /// Lets the worker's clock run on.
  Trace::Span spend(double ns);
  Index& clock() { return clocks_[static_cast<std::size_t>(worker_)]; }

  Trace trace_;
  Index most_events_, events_ = 0;
  std::vector<Index> clocks_;  ///< when each worker is free
  Index worker_ = 0;           ///< whose task is running
  Index kernel_ = -1, task_ = 0;
  Index task_start_ = 0;
  std::vector<Index> allocated_at_;  ///< by slot
};

}  // namespace flashbook::io
