#include "sim/simt/race_detector.hpp"

#include <algorithm>
#include <bit>

#include "sim/simt/multiprocessor.hpp"

namespace flashbook::simt {
namespace {

constexpr std::size_t cell_bytes = 4;

std::string describe(const char* did, std::size_t cell, const char* then, unsigned other) {
  return std::string(did) + " shared memory at byte " + std::to_string(cell * cell_bytes) + ", " +
         then + " thread " + std::to_string(other) + " (warp " + std::to_string(other / 32) + ")";
}

/// The bits of the bytes [first, last) that lie in a cell.
std::uint8_t bytes_in_cell(std::size_t cell, std::size_t first, std::size_t last) {
  const std::size_t from = std::max(first, cell * cell_bytes) % cell_bytes;
  const std::size_t count = std::min(last, (cell + 1) * cell_bytes) - cell * cell_bytes - from;
  return static_cast<std::uint8_t>(((1u << count) - 1) << from);
}

template <class F>
void for_each_cell(std::size_t offset, std::size_t bytes, F&& f) {
  const std::size_t last = offset + bytes;
  if (offset % cell_bytes == 0 && bytes % cell_bytes == 0)
    for (std::size_t cell = offset / cell_bytes; cell < last / cell_bytes; ++cell)
      f(cell, std::uint8_t{0xf});
  else
    for (std::size_t cell = offset / cell_bytes; cell * cell_bytes < last; ++cell)
      f(cell, bytes_in_cell(cell, offset, last));
}

void join(std::uint32_t* clock, const std::uint32_t* other, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) clock[i] = std::max(clock[i], other[i]);
}

}  // namespace

void join(Clock& clock, const Clock& other) {
  if (clock.size() < other.size()) clock.resize(other.size());
  join(clock.data(), other.data(), other.size());
}

void RaceDetector::reset(unsigned threads, std::size_t bytes) {
  threads_ = threads;
  warps_ = (threads + 31) / 32;
  stride_ = (threads + std::size_t{15}) / 16 * 16;
  cell_count_ = (bytes + cell_bytes - 1) / cell_bytes;
  cells_.assign(cell_count_, Cell{});
  reads_.assign(cell_count_ * warps_, ReadMark{});
  clocks_.assign(threads_ * stride_, 0);
  floors_.assign(threads_, 0);
  for (unsigned t = 0; t < threads_; ++t) clocks_[t * stride_ + t] = 1;
}

void RaceDetector::read(unsigned thread, std::size_t offset, std::size_t bytes, SiteId site) {
  const Accessor by = accessor(thread, site);
  const std::uint32_t now = by.clock[thread], lane = 1u << thread % 32;
  ReadMark* const marks = &reads_[thread / 32 * cell_count_];

  for_each_cell(offset, bytes, [&](std::size_t c, std::uint8_t mask) {
    Cell& cell = cells_[c];
    if (cell.copy_under_way || cell.write_clock > by.floor || (cell.initialised & mask) != mask)
        [[unlikely]]
      check_read(by, c, mask);
    cell.read_clock = std::max(cell.read_clock, now);
    ReadMark& mark = marks[c];
    if (mark.clock == now && mark.bytes == mask)
      mark.lanes |= lane;
    else
      mark = {lane, now, site, mask};
  });
}

void RaceDetector::check_read(const Accessor& by, std::size_t c, std::uint8_t bytes) {
  const Cell& cell = cells_[c];
  if (cell.copy_under_way)
    return sm->report(Category::unfinished_copy, by.site, cell.write_site, [&] {
      return describe("reads", c, "where a copy has not been waited for by", cell.writer);
    });
  if ((cell.written & bytes) && cell.write_clock > by.clock[cell.writer] &&
      cell.writer != by.thread)
    sm->report(Category::race, by.site, cell.write_site, [&] {
      return describe("reads", c, "with no barrier since it was written by", cell.writer);
    });
  if ((cell.initialised & bytes) != bytes)
    sm->report(Category::uninitialised, by.site, 0, [&] {
      return "reads shared memory at byte " + std::to_string(c * cell_bytes) +
             ", which nobody has written";
    });
}

void RaceDetector::write(unsigned thread, std::size_t offset, std::size_t bytes, SiteId site) {
  const Accessor by = accessor(thread, site);
  for_each_cell(offset, bytes, [&](std::size_t c, std::uint8_t mask) {
    check_write(by, c, mask);
    stamp(by, c, mask);
  });
}

void RaceDetector::begin_copy(unsigned thread, std::size_t offset, std::size_t bytes, SiteId site) {
  const Accessor by = accessor(thread, site);
  for_each_cell(offset, bytes, [&](std::size_t c, std::uint8_t mask) {
    check_write(by, c, mask);
    Cell& cell = cells_[c];
    cell.writer = static_cast<std::uint16_t>(thread);
    cell.write_site = site;
    cell.copy_under_way = true;
  });
}

void RaceDetector::end_copy(unsigned thread, std::size_t offset, std::size_t bytes, SiteId site) {
  const Accessor by = accessor(thread, site);
  for_each_cell(offset, bytes, [&](std::size_t c, std::uint8_t mask) {
    cells_[c].copy_under_way = false;
    stamp(by, c, mask);
  });
}

void RaceDetector::check_write(const Accessor& by, std::size_t c, std::uint8_t bytes) {
  const Cell& cell = cells_[c];
  if (cell.copy_under_way) [[unlikely]]
    sm->report(Category::unfinished_copy, by.site, cell.write_site, [&] {
      return describe("writes", c, "where a copy has not been waited for by", cell.writer);
    });
  else if (cell.write_clock > by.floor && (cell.written & bytes) &&
           cell.write_clock > by.clock[cell.writer] && cell.writer != by.thread) [[unlikely]]
    sm->report(Category::race, by.site, cell.write_site, [&] {
      return describe("writes", c, "with no barrier since it was written by", cell.writer);
    });
  if (cell.read_clock > by.floor) check_readers(by, c, bytes);
}

void RaceDetector::check_readers(const Accessor& by, std::size_t c, std::uint8_t bytes) {
  for (unsigned w = 0; w < warps_; ++w) {
    const ReadMark& mark = reads_[w * cell_count_ + c];
    if (!(mark.bytes & bytes)) continue;
    for (std::uint32_t lanes = mark.lanes; lanes; lanes &= lanes - 1) {
      const unsigned reader = w * 32 + static_cast<unsigned>(std::countr_zero(lanes));
      if (mark.clock <= by.clock[reader] || reader == by.thread) continue;
      sm->report(Category::race, by.site, mark.site, [&] {
        return describe("writes", c, "with no barrier since it was read by", reader);
      });
    }
  }
}

void RaceDetector::stamp(const Accessor& by, std::size_t c, std::uint8_t bytes) {
  Cell& cell = cells_[c];
  cell.write_clock = by.clock[by.thread];
  cell.write_site = by.site;
  cell.writer = static_cast<std::uint16_t>(by.thread);
  cell.written = bytes & 0xf;
  cell.initialised |= bytes & 0xf;
}

void RaceDetector::release(unsigned thread, Clock& clock) {
  std::uint32_t* mine = &clocks_[thread * stride_];
  clock.resize(stride_);
  join(clock.data(), mine, stride_);
  ++mine[thread];
}

void RaceDetector::acquire(unsigned thread, const Clock& clock) {
  if (clock.empty()) return;
  std::uint32_t* mine = &clocks_[thread * stride_];
  join(mine, clock.data(), stride_);
  floors_[thread] = *std::min_element(mine, mine + threads_);
}

}  // namespace flashbook::simt
