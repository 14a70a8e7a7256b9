#include "sim/simt/race_detector.hpp"

#include <algorithm>
#include <bit>

#include "sim/simt/multiprocessor.hpp"

namespace flashbook::simt {
namespace {

constexpr std::size_t cell_bytes = 4;

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

}  // namespace

void RaceDetector::reset(Order& order, unsigned rank, unsigned threads, std::size_t bytes) {
  order_ = &order;
  rank_ = rank;
  first_ = rank * threads;
  warps_ = (threads + 31) / 32;
  cell_count_ = (bytes + cell_bytes - 1) / cell_bytes;
  cells_.assign(cell_count_, Cell{});
  reads_.assign(cell_count_ * warps_, ReadMark{});
  engine_reads_.clear();
}

std::string RaceDetector::describe(const char* did, std::size_t cell, const char* then,
                                   unsigned other) const {
  return std::string(did) + " shared memory at byte " + std::to_string(cell * cell_bytes) + ", " +
         then + " " + order_->name(other, rank_);
}

void RaceDetector::read(unsigned thread, std::size_t offset, std::size_t bytes, SiteId site) {
  const Accessor by = accessor(thread, site);
  const std::uint32_t now = by.clock[by.agent], lane = 1u << thread % 32;
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
  if (cell.copy_under_way) return report_writer("reads", by, c);
  if ((cell.written & bytes) && cell.write_clock > by.clock[cell.writer] && cell.writer != by.agent)
    report_writer("reads", by, c);
  if ((cell.initialised & bytes) != bytes)
    sm->report(Category::uninitialised, by.site, 0, [&] {
      return "reads shared memory at byte " + std::to_string(c * cell_bytes) +
             ", which nobody has written";
    });
}

void RaceDetector::write(unsigned thread, std::size_t offset, std::size_t bytes, SiteId site) {
  const Accessor by = accessor(thread, site);
  const std::uint32_t now = by.clock[by.agent];
  for_each_cell(offset, bytes, [&](std::size_t c, std::uint8_t mask) {
    check_write(by, c, mask);
    stamp(by.agent, now, site, c, mask);
  });
}

void RaceDetector::begin_copy(const Accessor& by, unsigned writer, std::size_t offset,
                              std::size_t bytes) {
  for_each_cell(offset, bytes, [&](std::size_t c, std::uint8_t mask) {
    check_write(by, c, mask);
    Cell& cell = cells_[c];
    cell.writer = static_cast<std::uint16_t>(writer);
    cell.write_site = by.site;
    cell.copy_under_way = true;
  });
}

void RaceDetector::end_copy(unsigned writer, std::uint32_t clock, std::size_t offset,
                            std::size_t bytes, SiteId site) {
  for_each_cell(offset, bytes, [&](std::size_t c, std::uint8_t mask) {
    cells_[c].copy_under_way = false;
    stamp(writer, clock, site, c, mask);
  });
}

std::vector<RaceDetector::ReadMark>& RaceDetector::marks_of(unsigned engine) {
  for (EngineReads& reads : engine_reads_)
    if (reads.engine == engine) return reads.marks;
  engine_reads_.push_back({engine, std::vector<ReadMark>(cell_count_)});
  return engine_reads_.back().marks;
}

void RaceDetector::engine_read(const Accessor& by, unsigned engine, std::uint32_t clock,
                               std::size_t offset, std::size_t bytes) {
  std::vector<ReadMark>& marks = marks_of(engine);
  for_each_cell(offset, bytes, [&](std::size_t c, std::uint8_t mask) {
    check_read(by, c, mask);
    check_fenced(by, c, mask);
    cells_[c].read_clock = clock;
    marks[c] = {1, clock, by.site, mask};
  });
}

void RaceDetector::check_fenced(const Accessor& by, std::size_t c, std::uint8_t bytes) {
  const Cell& cell = cells_[c];
  const std::uint32_t known = by.clock[cell.writer];
  if (cell.copy_under_way || !(cell.written & bytes) || cell.write_clock > known) return;
  if (order_->is_engine(cell.writer)) return;
  if (order_->is_fenced(cell.writer, cell.write_clock, known, Order::Fence::proxy)) return;
  sm->report(Category::race, by.site, cell.write_site, [&] {
    return describe("the asynchronous proxy reads", c,
                    "with no fence_proxy_async since it was written by", cell.writer);
  });
}

void RaceDetector::check_written(const Accessor& by, std::size_t offset, std::size_t bytes) {
  for_each_cell(offset, bytes, [&](std::size_t c, std::uint8_t mask) { check_read(by, c, mask); });
}

/// An access that nothing orders after the last write.
void RaceDetector::report_writer(const char* does, const Accessor& by, std::size_t c) {
  const Cell& cell = cells_[c];
  const bool is_engine = order_->is_engine(cell.writer), is_copy = cell.copy_under_way || is_engine;
  const char* const lack = is_engine ? "with no wait for its writer,"
                           : is_copy ? "where a copy has not been waited for by"
                                     : "with no barrier since it was written by";
  sm->report(is_copy ? Category::unfinished_copy : Category::race, by.site, cell.write_site,
             [&] { return describe(does, c, lack, cell.writer); });
}

void RaceDetector::check_write(const Accessor& by, std::size_t c, std::uint8_t bytes) {
  const Cell& cell = cells_[c];
  if (cell.copy_under_way) [[unlikely]]
    report_writer("writes", by, c);
  else if (cell.write_clock > by.floor && (cell.written & bytes) &&
           cell.write_clock > by.clock[cell.writer] && cell.writer != by.agent) [[unlikely]]
    report_writer("writes", by, c);
  if (cell.read_clock > by.floor) check_readers(by, c, bytes);
}

void RaceDetector::check_readers(const Accessor& by, std::size_t c, std::uint8_t bytes) {
  for (unsigned w = 0; w < warps_; ++w) {
    const ReadMark& mark = reads_[w * cell_count_ + c];
    if (!(mark.bytes & bytes)) continue;
    for (std::uint32_t lanes = mark.lanes; lanes; lanes &= lanes - 1) {
      const unsigned reader = first_ + w * 32 + static_cast<unsigned>(std::countr_zero(lanes));
      if (mark.clock > by.clock[reader] && reader != by.agent) report_reader(by, c, mark, reader);
    }
  }
  for (const EngineReads& reads : engine_reads_) {
    const ReadMark& mark = reads.marks[c];
    if ((mark.bytes & bytes) && mark.clock > by.clock[reads.engine])
      report_reader(by, c, mark, reads.engine);
  }
}

void RaceDetector::report_reader(const Accessor& by, std::size_t c, const ReadMark& mark,
                                 unsigned reader) {
  sm->report(Category::race, by.site, mark.site, [&] {
    return order_->is_engine(reader)
               ? describe("writes", c, "not ordered after its read by", reader)
               : describe("writes", c, "with no barrier since it was read by", reader);
  });
}

void RaceDetector::stamp(unsigned writer, std::uint32_t clock, SiteId site, std::size_t c,
                         std::uint8_t bytes) {
  Cell& cell = cells_[c];
  cell.write_clock = clock;
  cell.write_site = site;
  cell.writer = static_cast<std::uint16_t>(writer);
  cell.written = bytes & 0xf;
  cell.initialised |= bytes & 0xf;
}

}  // namespace flashbook::simt
