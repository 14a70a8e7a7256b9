#include "sim/io/memory.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <sstream>
#include <stdexcept>

#include "cpu_reference/error.hpp"

namespace flashbook::io {
namespace {

constexpr std::align_val_t cache_line{64};

void free_aligned(float* data) {
  ::operator delete[](data, cache_line);
}

float* allocate_aligned(Index elements) {
  return static_cast<float*>(
      ::operator new[](static_cast<std::size_t>(elements) * sizeof(float), cache_line));
}

Index offset_of(const Layout& layout, const Region& region) {
  const auto& s = layout.strides;
  return region.batch * s[0] + region.head * s[1] + region.row * s[2] + region.column * s[3];
}

std::string text_of(const Region& r) {
  std::ostringstream out;
  out << "[batch " << r.batch << ", head " << r.head << ", rows " << r.row << " + " << r.rows
      << ", columns " << r.column << " + " << r.columns << "]";
  return out.str();
}

/// Whether [first, first + n) is a part of an axis.
bool within(Index first, Index n, Index axis) {
  return first >= 0 && n >= 0 && first <= axis - n;
}

void check_within(const std::string& name, const Layout& layout, const Region& r) {
  const auto& shape = layout.shape;
  if (within(r.batch, 1, shape[0]) && within(r.head, 1, shape[1]) &&
      within(r.row, r.rows, shape[2]) && within(r.column, r.columns, shape[3]))
    return;
  std::ostringstream out;
  out << "region " << text_of(r) << " leaves tensor " << name << " [" << shape[0] << ", "
      << shape[1] << ", " << shape[2] << ", " << shape[3] << "]";
  throw std::logic_error(out.str());
}

void check_same_shape(const Tile& tile, const std::string& name, const Region& r) {
  if (tile.rows() == r.rows && tile.cols() == r.columns) return;
  std::ostringstream out;
  out << "a tile [" << tile.rows() << ", " << tile.cols() << "] to region " << text_of(r) << " of "
      << name;
  throw std::logic_error(out.str());
}

template <class T>
void copy_in(const T* from, const Layout& layout, Tile& tile) {
  const auto [row_stride, column_stride] = std::pair(layout.strides[2], layout.strides[3]);
  for (Index i = 0; i < tile.rows(); ++i, from += row_stride) {
    if (column_stride == 1)
      tile.row(i) = Eigen::Map<const Eigen::Matrix<T, 1, Eigen::Dynamic>>(from, tile.cols())
                        .template cast<float>();
    else
      for (Index j = 0; j < tile.cols(); ++j)
        tile(i, j) = static_cast<float>(from[j * column_stride]);
  }
}

template <class T>
void copy_out(const Tile& tile, const Layout& layout, T* to) {
  const auto [row_stride, column_stride] = std::pair(layout.strides[2], layout.strides[3]);
  for (Index i = 0; i < tile.rows(); ++i, to += row_stride)
    for (Index j = 0; j < tile.cols(); ++j) to[j * column_stride] = round_to<T>(tile(i, j));
}

/// Calls f with the address of a region's first element, typed.
template <class Void, class F>
auto at_region(const Layout& layout, Void* data, const Region& region, F&& f) {
  return with_element_type(layout.dtype, [&](auto element) {
    using T = std::conditional_t<std::is_const_v<Void>, const decltype(element), decltype(element)>;
    return f(static_cast<T*>(data) + offset_of(layout, region));
  });
}

}  // namespace

std::string_view name(Kind kind) {
  return kind == Kind::matrix ? "matrix" : "vector";
}

Counts& Counts::operator+=(const Counts& other) {
  reads += other.reads;
  writes += other.writes;
  atomic_updates += other.atomic_updates;
  return *this;
}

void Tally::add(const Tally& other) {
  tensors.resize(std::max(tensors.size(), other.tensors.size()));
  for (std::size_t i = 0; i < other.tensors.size(); ++i) tensors[i] += other.tensors[i];
  visited_tiles += other.visited_tiles;
  flops += other.flops;
  if (other.peak_bytes <= peak_bytes) return;
  peak_bytes = other.peak_bytes;
  peak_tiles = other.peak_tiles;
}

// ---- Hbm

Tensor Hbm::add(Entry entry) {
  tensors_.push_back(std::move(entry));
  return {static_cast<int>(tensors_.size()) - 1};
}

Tensor Hbm::add_input(std::string name, const Layout& layout, const void* data) {
  return add({std::move(name), layout, true, data, nullptr, {}});
}

Tensor Hbm::add_output(std::string name, const Layout& layout, void* data) {
  return add({std::move(name), layout, false, data, data, {}});
}

Tensor Hbm::add_workspace(std::string name, Kind kind, DType dtype,
                          const std::array<Index, 4>& shape) {
  const Layout layout = {
      kind, dtype, shape, {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1}};
  std::vector<std::byte> memory(
      static_cast<std::size_t>(shape[0] * layout.strides[0] * bytes_of(dtype)));
  void* data = memory.data();
  return add({std::move(name), layout, false, data, data, std::move(memory)});
}

const Hbm::Entry& Hbm::written(Tensor tensor, const Region& region) const {
  const Entry& to = entry(tensor);
  if (to.is_input) throw std::logic_error("store to the input " + to.name);
  check_within(to.name, to.layout, region);
  return to;
}

// ---- Tile

Tile::Tile(Tile&& other) noexcept : Map(other), sram_(other.sram_), slot_(other.slot_) {
  other.sram_ = nullptr;
}

Tile::~Tile() {
  if (sram_ != nullptr) sram_->release(slot_);
}

// ---- Sram

Sram::Sram(const Hbm& hbm, Index capacity_bytes, Listener* listener)
    : hbm_(hbm), capacity_bytes_(capacity_bytes), listener_(listener) {
  tally_.tensors.resize(hbm.size());
}

// [count]
void Sram::count(Listener::Move move, Tensor tensor, const Region& region) {
  Counts& counts = tally_.tensors[static_cast<std::size_t>(tensor.index)];
  if (move == Listener::Move::load) counts.reads += region.size();
  if (move == Listener::Move::store) counts.writes += region.size();
  if (move == Listener::Move::atomic_add) counts.atomic_updates += region.size();
  if (listener_ != nullptr)
    listener_->on_move(move, hbm_.name(tensor), region, region.size() * hbm_.element_bytes(tensor));
}
// [/count]

Resident Sram::resident(std::size_t slot) const {
  const Slot& s = slots_[slot];
  return {slot, s.tile, s.rows, s.columns, s.bytes};
}

// [load]
Tile Sram::load(Tensor tensor, const Region& region) {
  const Hbm::Entry& from = hbm_.entry(tensor);
  check_within(from.name, from.layout, region);
  const Index element_bytes = bytes_of(from.layout.dtype);
  Tile tile = allocate(from.name, region.rows, region.columns, element_bytes);
  if (region.size() == 0) return tile;
  at_region(from.layout, from.source, region,
            [&](const auto* source) { copy_in(source, from.layout, tile); });
  count(Listener::Move::load, tensor, region);
  return tile;
}
// [/load]

float Sram::load_element(Tensor tensor, Index batch, Index head, Index row) {
  const Hbm::Entry& from = hbm_.entry(tensor);
  const Region region = {batch, head, row, 1, 0, 1};
  check_within(from.name, from.layout, region);
  count(Listener::Move::load, tensor, region);
  return at_region(from.layout, from.source, region,
                   [](const auto* source) { return static_cast<float>(*source); });
}

Tile Sram::allocate(std::string_view name, Index rows, Index columns, Index element_bytes) {
  const Index bytes = rows * columns * element_bytes;
  if (bytes > capacity_bytes_ - resident_bytes_) refuse(name, rows, columns, bytes);
  const std::size_t slot = free_slot(rows * columns);
  slots_[slot].tile = name;
  slots_[slot].rows = rows;
  slots_[slot].columns = columns;
  slots_[slot].bytes = bytes;
  resident_bytes_ += bytes;
  if (resident_bytes_ > tally_.peak_bytes) {
    tally_.peak_bytes = resident_bytes_;
    tally_.peak_tiles = residents();
  }
  if (listener_ != nullptr) listener_->on_allocate(resident(slot), resident_bytes_);
  return Tile(*this, slot, slots_[slot].data.get(), rows, columns);
}

void Sram::store(const Tile& tile, Tensor tensor, const Region& region) {
  const Hbm::Entry& to = hbm_.written(tensor, region);
  check_same_shape(tile, to.name, region);
  if (region.size() == 0) return;
  at_region(to.layout, to.target, region, [&](auto* target) { copy_out(tile, to.layout, target); });
  count(Listener::Move::store, tensor, region);
}

void Sram::store_element(float value, Tensor tensor, Index batch, Index head, Index row) {
  const Region region = {batch, head, row, 1, 0, 1};
  const Hbm::Entry& to = hbm_.written(tensor, region);
  at_region(to.layout, to.target, region, [&](auto* target) {
    *target = round_to<std::remove_reference_t<decltype(*target)>>(value);
  });
  count(Listener::Move::store, tensor, region);
}

void Sram::atomic_add(const Tile& tile, Tensor tensor, const Region& region) {
  const Hbm::Entry& to = hbm_.written(tensor, region);
  check_same_shape(tile, to.name, region);
  if (to.layout.dtype != DType::fp32)
    throw std::logic_error("atomic addition to " + to.name + ", which is not fp32");
  if (region.size() == 0) return;
  const auto& strides = to.layout.strides;
  float* target = static_cast<float*>(to.target) + offset_of(to.layout, region);
  for (Index i = 0; i < region.rows; ++i)
    for (Index j = 0; j < region.columns; ++j) {
      float& element = target[i * strides[2] + j * strides[3]];
#pragma omp atomic
      element += tile(i, j);
    }
  count(Listener::Move::atomic_add, tensor, region);
}

/// The smallest free slot that holds so many elements, or a new one.
std::size_t Sram::free_slot(Index elements) {
  std::size_t best = slots_.size();
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    const bool fits = slots_[s].tile.empty() && slots_[s].capacity >= elements;
    if (fits && (best == slots_.size() || slots_[s].capacity < slots_[best].capacity)) best = s;
  }
  if (best < slots_.size()) return best;
  Slot slot = {{}, {}, {}, {}, elements, {allocate_aligned(elements), free_aligned}};
  std::fill_n(slot.data.get(), elements, std::nanf(""));
  slots_.push_back(std::move(slot));
  return best;
}

void Sram::release(std::size_t index) {
  Slot& slot = slots_[index];
  std::fill_n(slot.data.get(), slot.rows * slot.columns, std::nanf(""));
  resident_bytes_ -= slot.bytes;
  if (listener_ != nullptr) listener_->on_release(resident(index), resident_bytes_);
  slot.tile = {};
}

std::vector<ResidentTile> Sram::residents() const {
  std::vector<ResidentTile> tiles;
  for (const Slot& slot : slots_)
    if (!slot.tile.empty())
      tiles.push_back({std::string(slot.tile), slot.rows, slot.columns, slot.bytes});
  return tiles;
}

void Sram::refuse(std::string_view name, Index rows, Index columns, Index bytes) const {
  std::ostringstream out;
  out << "the SRAM of " << capacity_bytes_ << " bytes has no room for tile " << name << " [" << rows
      << ", " << columns << "] of " << bytes << " bytes beside ";
  for (const ResidentTile& tile : residents())
    out << tile.name << " [" << tile.rows << ", " << tile.columns << "] of " << tile.bytes
        << " bytes, ";
  out << resident_bytes_
      << " in all: pass smaller blocks (--br, --bc) or a larger sram_bytes (--sram)";
  throw InputError(out.str());
}

}  // namespace flashbook::io
