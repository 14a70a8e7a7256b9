#include "sim/simt/access.hpp"

#include <algorithm>
#include <string>

namespace flashbook::simt {
namespace {

struct Vector16 {
  alignas(16) std::byte bytes[16];
};

std::size_t shared_offset(const void* p) {
  return static_cast<std::size_t>(static_cast<const std::byte*>(p) - sm->shared());
}

Access kind_of(GlobalShadow::Use use) {
  switch (use) {
    case GlobalShadow::Use::read:
      return Access::global_load;
    case GlobalShadow::Use::write:
      return Access::global_store;
    case GlobalShadow::Use::atomic:
      break;
  }
  return Access::atomic_add;
}

}  // namespace

void refuse_access(bool outside, std::size_t bytes, std::ptrdiff_t index, std::ptrdiff_t size,
                   Site site) {
  sm->report(outside ? Category::out_of_bounds : Category::misaligned, id_of(site), 0, [&] {
    const std::string access = std::to_string(bytes) + " bytes at element " + std::to_string(index);
    return outside ? access + " of " + std::to_string(size)
                   : access + ", an address that is no multiple of " + std::to_string(bytes);
  });
}

void observe_shared(const void* p, unsigned bytes, bool is_write, Site site) {
  const SiteId id = id_of(site);
  const std::size_t offset = shared_offset(p);
  Thread& thread = *this_thread;
  if (sm->options().count)
    thread.warp->log.access(id, is_write ? Access::shared_store : Access::shared_load, bytes,
                            thread.lane, offset);
  if (!sm->options().check) return;
  if (is_write)
    sm->races.write(thread.index, offset, bytes, id);
  else
    sm->races.read(thread.index, offset, bytes, id);
}

void observe_global(const void* p, unsigned bytes, GlobalShadow::Use use, Site site) {
  const SiteId id = id_of(site);
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  Thread& thread = *this_thread;
  if (sm->options().count) thread.warp->log.access(id, kind_of(use), bytes, thread.lane, address);
  if (sm->options().check) sm->global.access(use, address, bytes, sm->block_number(), id);
}

std::byte* shared_memory(std::size_t bytes, Site site) {
  if (bytes > sm->shape().shared_bytes)
    sm->stop(Category::invalid, id_of(site), 0,
             "the kernel's shared memory is " + std::to_string(bytes) + " bytes, the launch's " +
                 std::to_string(sm->shape().shared_bytes));
  return sm->shared();
}

void atomic_add_global(const Pointer<float>& p, float value, Site site) {
  if (!sm->shape().float_atomics)
    sm->stop(Category::invalid, id_of(site), 0,
             "an atomic addition of floats, and the launch's shape does not say float_atomics");
  if (!detail::admits<float>(p, site)) return;
  if (sm->observes()) observe_global(p.at, sizeof(float), GlobalShadow::Use::atomic, site);
  *p.at += value;
}

void copy_async_16(const Pointer<std::byte>& target, const Pointer<const std::byte>& source,
                   bool valid, Site site) {
  if (!detail::admits<Vector16>(target, site)) return;
  if (valid && !detail::admits<Vector16>(source, site)) return;
  const SiteId id = id_of(site);
  Thread& thread = *this_thread;
  if (sm->options().count) {
    thread.warp->log.access(id, Access::shared_store, 16, thread.lane, shared_offset(target.at));
    thread.warp->log.execute(id, Access::async_copy, thread.lane);
  }
  if (valid && sm->observes()) observe_global(source.at, 16, GlobalShadow::Use::read, site);
  thread.copies.add({target.at, source.at, 16, valid ? 16u : 0u, id});
}

}  // namespace flashbook::simt
