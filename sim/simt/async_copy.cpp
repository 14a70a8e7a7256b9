#include "sim/simt/async_copy.hpp"

#include <cstring>

#include "sim/simt/multiprocessor.hpp"

namespace flashbook::simt {
namespace {

std::size_t offset_of(const CopyQueue::Copy& copy) {
  return static_cast<std::size_t>(copy.target - sm->shared());
}

void complete(const CopyQueue::Copy& copy) {
  if (copy.valid) std::memcpy(copy.target, copy.source, copy.valid);
  std::memset(copy.target + copy.valid, 0, copy.bytes - copy.valid);
  if (!sm->options().check) return;
  const auto by = sm->races.accessor(this_thread->index, copy.site);
  sm->races.end_copy(by.agent, by.clock[by.agent], offset_of(copy), copy.bytes, copy.site);
}

}  // namespace

void CopyQueue::add(const Copy& copy) {
  if (sm->options().check) {
    const auto by = sm->races.accessor(this_thread->index, copy.site);
    sm->races.begin_copy(by, by.agent, offset_of(copy), copy.bytes);
  }
  copies_.push_back(copy);
}

void CopyQueue::wait_group(std::size_t newest) {
  if (groups_.size() <= newest) return;
  const auto done = static_cast<std::ptrdiff_t>(groups_.size() - newest);
  const std::uint32_t end = groups_[static_cast<std::size_t>(done) - 1];
  for (std::uint32_t i = 0; i < end; ++i) complete(copies_[i]);
  copies_.erase(copies_.begin(), copies_.begin() + end);
  groups_.erase(groups_.begin(), groups_.begin() + done);
  for (std::uint32_t& group_end : groups_) group_end -= end;
}

void CopyQueue::report_unfinished() const {
  if (copies_.empty()) return;
  const SiteId site = copies_.front().site;
  sm->report(Category::unfinished_copy, site, 0,
             [] { return "leaves the kernel with copies that it has not waited for"; });
}

void CopyQueue::clear() {
  copies_.clear();
  groups_.clear();
}

}  // namespace flashbook::simt
