#include "sim/simt/bulk_store.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "sim/simt/cluster.hpp"

namespace flashbook::simt {
namespace {

void add_floats(std::byte* to, const std::byte* from, unsigned bytes) {
  for (unsigned i = 0; i < bytes; i += sizeof(float)) {
    float sum, x;
    std::memcpy(&sum, to + i, sizeof sum);
    std::memcpy(&x, from + i, sizeof x);
    sum += x;
    std::memcpy(to + i, &sum, sizeof sum);
  }
}

void complete(const BulkStores::Store& store) {
  const std::byte* const source = sm->shared() + store.source;
  const unsigned row_bytes = store.map.row_bytes();
  std::vector<std::byte> row_of_box(row_bytes);
  for_each_row(store.map, store.at, [&](const BoxRow& row) {
    for (unsigned i = 0; i < row_bytes; i += 16)
      std::memcpy(&row_of_box[i],
                  source + swizzled(std::size_t{row.number} * row_bytes + i, store.map.swizzle),
                  16);
    if (row.bytes == 0) return;
    if (store.adds)
      add_floats(row.part, &row_of_box[row.skipped], row.bytes);
    else
      std::memcpy(row.part, &row_of_box[row.skipped], row.bytes);
  });
}

void require_atomics(Site site) {
  if (!sm->shape().float_atomics)
    sm->stop(Category::invalid, id_of(site), 0,
             "an atomic addition of floats, and the launch's shape does not say float_atomics");
}

void start_store(const TensorMap& map, const int* at, const Pointer<const std::byte>& source,
                 bool adds, Site site) {
  unsigned bytes = 0;
  if (!observe_tensor(map, at, adds ? Direction::add : Direction::store, bytes, site)) return;
  if (sm->options().count) {
    ++sm->line(site).tma;
    sm->line(site).tma_store_bytes += bytes;
  }
  BulkStores::Store store = {
      map, {}, static_cast<std::uint32_t>(source.at - sm->shared()), adds, id_of(site)};
  std::copy_n(at, map.rank, store.at);
  this_thread->stores.add(store);
}

}  // namespace

void BulkStores::add(const Store& store) {
  stores_.push_back(store);
  if (!sm->options().check) return;
  Order& order = sm->cluster().order;
  if (engine_ == 0)
    engine_ = order.add_engine("a bulk store of thread " + std::to_string(this_thread->index));
  if (clock_ == 0) clock_ = order.advance(engine_);
  sm->races.engine_read(sm->races.accessor(this_thread->index, store.site), engine_, clock_,
                        store.source, store.map.box_bytes());
}

void BulkStores::commit() {
  groups_.push_back({stores_.size(), clock_});
  clock_ = 0;
}

void BulkStores::wait_group(std::size_t newest) {
  if (groups_.size() <= newest) return;
  const auto done = static_cast<std::ptrdiff_t>(groups_.size() - newest);
  const Group last = groups_[static_cast<std::size_t>(done) - 1];
  const auto end = static_cast<std::ptrdiff_t>(last.end);
  std::for_each(stores_.begin(), stores_.begin() + end, complete);
  for (auto group = groups_.begin(); group != groups_.begin() + done; ++group)
    if (group->clock) sm->races.learn(this_thread->index, engine_, group->clock);
  stores_.erase(stores_.begin(), stores_.begin() + end);
  groups_.erase(groups_.begin(), groups_.begin() + done);
  for (Group& group : groups_) group.end -= last.end;
}

void BulkStores::report_unfinished() const {
  if (stores_.empty()) return;
  sm->report(Category::unfinished_copy, stores_.front().site, 0,
             [] { return "leaves the kernel with bulk stores that it has not waited for"; });
}

void BulkStores::clear() {
  stores_.clear();
  groups_.clear();
  engine_ = 0;
  clock_ = 0;
}

void store_tensor(const TensorMap& map, const int* at, unsigned coordinates,
                  const Pointer<const std::byte>& source, bool adds, Site site) {
  if (!admits_box(source, map, coordinates, site)) return;
  if (!map.writable)
    sm->stop(Category::invalid, id_of(site), 0, "a store by the tensor map of a constant tensor");
  if (adds) require_atomics(site);
  start_store(map, at, source, adds, site);
}

void store_bulk(const Pointer<std::byte>& target, const Pointer<const std::byte>& source,
                std::uint32_t bytes, bool adds, Site site) {
  if (adds) require_atomics(site);
  if (bytes % 16 != 0 || bytes == 0)
    sm->stop(Category::invalid, id_of(site), 0,
             "a bulk copy of " + std::to_string(bytes) + " bytes, which must be a multiple of 16");
  if (reinterpret_cast<std::uintptr_t>(target.at) % 16 != 0 ||
      static_cast<std::size_t>(source.at - sm->shared()) % 16 != 0)
    return sm->report(Category::misaligned, id_of(site), 0,
                      [] { return "a bulk copy from or to an address that is no multiple of 16"; });
  if (source.at < source.begin || source.at >= source.end || source.bytes_left() < bytes)
    return sm->report(Category::out_of_bounds, id_of(site), 0, [&] {
      return std::to_string(bytes) + " bytes at byte " + std::to_string(source.index()) +
             " of a tile of " + std::to_string(source.size());
    });
  TensorMap row;
  row.data = target;
  row.element_bytes = row.rank = 1;
  row.extent[0] = row.box[0] = static_cast<int>(bytes);
  const int origin[] = {0};
  start_store(row, origin, source, adds, site);
}

}  // namespace flashbook::simt
