#include "sim/simt/warpgroup.hpp"

#include <algorithm>
#include <string>

#include "sim/simt/collective.hpp"

namespace flashbook::simt {
namespace {

constexpr unsigned most_of_a_thread = 255;

}  // namespace

void Warpgroups::reset(std::size_t threads) {
  all_.resize((threads + 127) / 128);
  const auto count = static_cast<unsigned>(threads);
  const unsigned registers = std::min(most_of_a_thread, max_registers / count) / 8 * 8;
  free_registers_ = 0;
  for (Warpgroup& group : all_) {
    group.arrived = 0;
    group.fenced = false;
    group.products.clear();
    group.registers = registers;
    group.wanted = 0;
    group.waiting.clear();
  }
}

Warpgroup& Warpgroups::of(const Warp& warp) {
  return all_[warp.index / 4];
}

void Warpgroups::set_registers(unsigned count, bool increase, Site site) {
  int nothing = 0;
  collectively_in_warpgroup(Instruction::setmaxnreg, nothing, site, [&](Warpgroup& group, auto&) {
    if (sm->options().count) sm->line(site).setmaxnreg += 4;  // warps
    request(group, count, increase, site);
  });
  Warpgroup& group = of(*this_thread->warp);
  while (group.wanted) {
    group.waiting.push_back(this_thread);
    sm->suspend(Instruction::setmaxnreg, site);
  }
  if (this_thread->index % 128 == 0)
    sm->record({Event::Kind::registers, this_thread->index, id_of(site), 0, 0, 0, nullptr,
                group.registers});
}

void Warpgroups::request(Warpgroup& group, unsigned count, bool increase, Site site) {
  if (count % 8 != 0 || count < 24 || count > 256)
    sm->stop(
        Category::invalid, id_of(site), 0,
        "setmaxnreg " + std::to_string(count) + ": multiples of 8 from 24 to 256 are possible");
  if (increase ? count < group.registers : count > group.registers)
    sm->stop(Category::invalid, id_of(site), 0,
             "setmaxnreg " + std::to_string(count) + " goes the wrong way from " +
                 std::to_string(group.registers));
  if (!increase) {
    free_registers_ += (group.registers - count) * 128;
    group.registers = count;
  } else {
    group.wanted = count;
  }
  grant();
}

void Warpgroups::grant() {
  for (Warpgroup& group : all_) {
    const unsigned more = group.wanted ? (group.wanted - group.registers) * 128 : 0;
    if (group.wanted == 0 || more > free_registers_) continue;
    free_registers_ -= more;
    group.registers = group.wanted;
    group.wanted = 0;
    for (Thread* thread : group.waiting) Multiprocessor::wake(*thread);
    group.waiting.clear();
  }
}

void Warpgroups::report_unfinished(const Thread& thread) {
  const WgmmaQueue& products = of(*thread.warp).products;
  if (products.empty()) return;
  sm->report(Category::unfinished_copy, products.first_site(), 0,
             [] { return "leaves the kernel with wgmma that it has not waited for"; });
}

}  // namespace flashbook::simt
