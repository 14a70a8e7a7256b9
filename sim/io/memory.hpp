#pragma once

#include <array>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cpu_reference/tensor_view.hpp"

/// The two levels of memory that FlashAttention is about. Tensors lie in HBM, which exposes no
/// element; arithmetic happens on tiles in SRAM; `load`, `store` and `atomic_add` are the way
/// between the two, and they count what they copy. So a kernel that is written in tiles cannot move
/// an element without counting it. (Nothing stops an algorithm from reading the pointers it binds;
/// and FLOPs and visited tiles are what kernels report of themselves.)
namespace flashbook::io {

enum class Kind { matrix, vector };

std::string_view name(Kind kind);

/// Elements moved between HBM and SRAM.
struct Counts {
  Index reads = 0, writes = 0, atomic_updates = 0;

  Counts& operator+=(const Counts& other);
  Counts repeated(Index times) const {
    return {times * reads, times * writes, times * atomic_updates};
  }
  bool operator==(const Counts&) const = default;
};

/// A tile in SRAM, as seen from outside.
struct ResidentTile {
  std::string name;
  Index rows, columns, bytes;
};

/// What workers counted, of one kernel or of many.
struct Tally {
  std::vector<Counts> tensors;           ///< by Tensor::index
  Index visited_tiles = 0;               ///< tiles of S that were computed
  Index flops = 0;                       ///< of the products computed, 2 a multiply-add
  Index peak_bytes = 0;                  ///< most bytes one worker held at once
  std::vector<ResidentTile> peak_tiles;  ///< what it held then

  void add(const Tally& other);
};

/// Names a tensor of an Hbm. A tensor the problem does not have is absent.
struct Tensor {
  int index = -1;
  explicit operator bool() const { return index >= 0; }
};

/// How a tensor [batch, head, row, column] lies in memory.
struct Layout {
  /// Length of an axis along which one element stands for all.
  static constexpr Index endless = std::numeric_limits<Index>::max();

  Kind kind;
  DType dtype;
  std::array<Index, 4> shape;
  std::array<Index, 4> strides;  ///< in elements
};

/// rows x columns elements of one head: what one copy moves.
struct Region {
  Index batch, head;
  Index row, rows;
  Index column, columns;

  Index size() const { return rows * columns; }
};

/// A tile as it stands in SRAM.
struct Resident {
  std::size_t slot;       ///< no two tiles of one worker are in one slot at a time
  std::string_view tile;  ///< its name
  Index rows, columns, bytes;
};

struct ScoreTile;  // scores.hpp

/// Hears of everything a worker does that counts, as it happens (Machine::listener, launch.hpp),
/// and of the values that the algorithm shows.
class Listener {
 public:
  enum class Move { load, store, atomic_add };
  /// Of a tile or a vector (one column), for as long as the call lasts.
  using Values = Eigen::Ref<const Matrix<float>>;

  virtual ~Listener() = default;
  /// What was heard so far is no part of the run (Machine::forget).
  virtual void on_forget() = 0;
  /// A kernel begins, after all tasks of the one before have ended.
  virtual void on_launch() = 0;
  virtual void on_task_begin(Index task) = 0;
  virtual void on_task_end() = 0;
  /// `bytes` of the region's elements: an atomic addition reads and writes as many.
  virtual void on_move(Move move, const std::string& tensor, const Region& region, Index bytes) = 0;
  /// `resident_bytes` are what the worker holds from now on.
  virtual void on_allocate(const Resident& tile, Index resident_bytes) = 0;
  virtual void on_release(const Resident& tile, Index resident_bytes) = 0;
  virtual void on_product(Index flops) = 0;
  /// S of a tile, before anything takes its place.
  virtual void on_scores(const ScoreTile&, const Values& /*S*/) {}
  /// What an algorithm shows of its working.
  virtual void on_show(std::string_view /*equation*/, const Values&) {}
  /// The end of a visit of a tile, or of a phase without one; so is the end of a task.
  virtual void on_step_end() {}
};

class Hbm {
 public:
  Tensor add_input(std::string name, const Layout& layout, const void* data);
  Tensor add_output(std::string name, const Layout& layout, void* data);
  /// A tensor of the algorithm's own, contiguous, zero at first.
  Tensor add_workspace(std::string name, Kind kind, DType dtype, const std::array<Index, 4>& shape);

  std::size_t size() const { return tensors_.size(); }
  const std::string& name(Tensor tensor) const { return entry(tensor).name; }
  Kind kind(Tensor tensor) const { return entry(tensor).layout.kind; }
  Index element_bytes(Tensor tensor) const { return bytes_of(entry(tensor).layout.dtype); }

 private:
  friend class Sram;
  struct Entry {
    std::string name;
    Layout layout;
    bool is_input;
    const void* source;
    void* target;  // null for an input
    std::vector<std::byte> workspace;
  };
  const Entry& entry(Tensor tensor) const {
    return tensors_[static_cast<std::size_t>(tensor.index)];
  }
  /// What a kernel writes a region of: throws std::logic_error unless it may.
  const Entry& written(Tensor tensor, const Region& region) const;
  Tensor add(Entry entry);

  std::vector<Entry> tensors_;
};

class Sram;

/// A matrix [rows, columns] in SRAM, row-major; a vector is one column. It is an Eigen matrix of
/// floats: 16-bit values are held exactly, and occupy 2 bytes an element of the SRAM's capacity.
/// Its memory returns to the SRAM with the end of its scope, and becomes NaN.
class Tile : public Eigen::Map<Matrix<float>> {
 public:
  using Map = Eigen::Map<Matrix<float>>;
  using Map::operator=;

  Tile(Tile&& other) noexcept;
  Tile& operator=(Tile&&) = delete;
  ~Tile();

 private:
  friend class Sram;
  Tile(Sram& sram, std::size_t slot, float* data, Index rows, Index columns)
      : Map(data, rows, columns), sram_(&sram), slot_(slot) {}

  Sram* sram_;
  std::size_t slot_;
};

/// The on-chip memory of one worker.
class Sram {
 public:
  static constexpr Index unlimited = std::numeric_limits<Index>::max();

  explicit Sram(const Hbm& hbm, Index capacity_bytes = unlimited, Listener* listener = nullptr);
  Sram(const Sram&) = delete;
  Sram& operator=(const Sram&) = delete;

  // Copies throw std::logic_error if a region leaves its tensor, if the tile has another shape, or
  // if what is written to is an input.

  /// Copies a region of a tensor into a new tile.
  /// Throws InputError that names the resident tiles if it does not fit; so does allocate.
  Tile load(Tensor tensor, const Region& region);
  /// Copies one element into a register.
  float load_element(Tensor tensor, Index batch, Index head, Index row);
  /// A tile of its own, for results: `element_bytes` each, NaN at first. `name` outlives it.
  Tile allocate(std::string_view name, Index rows, Index columns, Index element_bytes = 4);
  /// Rounds a tile to the tensor's type and copies it there.
  void store(const Tile& tile, Tensor tensor, const Region& region);
  void store_element(float value, Tensor tensor, Index batch, Index head, Index row);
  /// Adds a tile to an fp32 tensor, element by element, each addition atomic.
  void atomic_add(const Tile& tile, Tensor tensor, const Region& region);

  void count_visited_tile() { ++tally_.visited_tiles; }
  void count_flops(Index flops) {
    tally_.flops += flops;
    if (listener_ != nullptr) listener_->on_product(flops);
  }

  // An algorithm shows its working to the listener. Where there is none, an expression is not
  // even evaluated.

  /// `equation` is the paper's: what the values are, "=" and how they came about.
  template <class Values>
  void show(std::string_view equation, const Values& values) const {
    if (listener_ != nullptr) listener_->on_show(equation, values);
  }
  void show_scores(const ScoreTile& at, const Tile& S) const {
    if (listener_ != nullptr) listener_->on_scores(at, S);
  }
  /// What was done since the last step is one: a tile of S visited, or a phase without one.
  void end_step() const {
    if (listener_ != nullptr) listener_->on_step_end();
  }

  const Tally& tally() const { return tally_; }
  Index resident_bytes() const { return resident_bytes_; }

 private:
  friend class Tile;
  struct Slot {
    std::string_view tile;  // empty: free
    Index rows, columns, bytes, capacity;
    std::unique_ptr<float[], void (*)(float*)> data;
  };
  std::size_t free_slot(Index elements);
  void release(std::size_t slot);
  std::vector<ResidentTile> residents() const;
  [[noreturn]] void refuse(std::string_view name, Index rows, Index columns, Index bytes) const;
  Resident resident(std::size_t slot) const;
  /// Adds to one of a tensor's counts the elements that a copy of a region has moved.
  void count(Listener::Move move, Tensor tensor, const Region& region);

  const Hbm& hbm_;
  Index capacity_bytes_, resident_bytes_ = 0;
  Listener* listener_;
  std::vector<Slot> slots_;
  Tally tally_;
};

}  // namespace flashbook::io
