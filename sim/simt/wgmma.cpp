#include "sim/simt/wgmma.hpp"

#include <algorithm>
#include <string>

#include "sim/simt/cluster.hpp"

namespace flashbook::simt {
namespace {

constexpr unsigned M = 64, K = 16;

using Call = std::array<WgmmaArguments*, 128>;

/// Byte of the 16-byte chunk that holds element (row, 8 chunk) of an operand of rows along M or N,
/// or of one stored the other way: element (8 chunk, row) with rows along K.
std::size_t chunk_offset(const WgmmaMatrix& m, bool transposed, unsigned row, unsigned chunk) {
  const std::size_t linear = transposed ? m.start + chunk / 8 * std::size_t{m.leading} +
                                              row * std::size_t{128} + chunk % 8 * 16
                                        : m.start + row * std::size_t{128} + chunk * 16;
  return swizzled(linear, 128);
}

/// Calls f(row, chunk) for the chunks of a matrix of `size` rows along M or N and 16 along K.
template <class F>
void for_each_chunk(bool transposed, unsigned size, F&& f) {
  const unsigned rows = transposed ? K : size, chunks = (transposed ? size : K) / 8;
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned chunk = 0; chunk < chunks; ++chunk) f(row, chunk);
}

void check_place(const WgmmaMatrix& m, bool transposed, unsigned size, Site site) {
  const std::size_t bytes = m.tile.bytes_left();
  const unsigned within = m.start % 1024;
  if (within >= 128 || within % (transposed ? 128 : 32) != 0)
    sm->stop(Category::misaligned, id_of(site), 0,
             "an operand of wgmma begins at a row and a column of its tile that are no multiples "
             "of 8 and " +
                 std::string(transposed ? "64" : "16"));
  for_each_chunk(transposed, size, [&](unsigned row, unsigned chunk) {
    if (chunk_offset(m, transposed, row, chunk) + 16 > bytes)
      sm->stop(Category::out_of_bounds, id_of(site), 0,
               "an operand of wgmma ends outside its tile");
  });
}

// ---- what the race detector is told

/// What all four warps know: the least of their clocks.
Clock common_clock(const Warp& warp) {
  const Order& order = sm->cluster().order;
  const Warp* const first = &sm->warps[warp.index / 4 * std::size_t{4}];
  Clock common;
  for (unsigned w = 0; w < 4; ++w) {
    const auto by = sm->races.accessor(first[w].first->index, 0);
    if (w == 0)
      common.assign(by.clock, by.clock + order.size());
    else
      for (std::size_t i = 0; i < common.size(); ++i) common[i] = std::min(common[i], by.clock[i]);
  }
  return common;
}

void observe_reads(Warpgroup& group, const WgmmaMatrix& m, bool transposed, unsigned size,
                   const Clock& known, Site site) {
  const auto base = static_cast<std::size_t>(m.tile.begin - sm->shared());
  constexpr unsigned nobody = ~0u;  // no thread may read what it alone has written
  const RaceDetector::Accessor by = {nobody, id_of(site), known.data(), 0};
  for_each_chunk(transposed, size, [&](unsigned row, unsigned chunk) {
    sm->races.engine_read(by, group.products.engine, group.products.clock,
                          base + chunk_offset(m, transposed, row, chunk), 16);
  });
}

void observe(Warpgroup& group, const WgmmaShape& shape, const WgmmaArguments& x, Site site) {
  Order& order = sm->cluster().order;
  WgmmaQueue& products = group.products;
  if (products.engine == 0)
    products.engine =
        order.add_engine("a wgmma of warpgroup " + std::to_string(this_thread->warp->index / 4));
  if (products.clock == 0) products.clock = order.advance(products.engine);
  const Clock known = common_clock(*this_thread->warp);
  observe_reads(group, x.B, shape.B_transposed, shape.n, known, site);
  if (!x.a) observe_reads(group, x.A, false, M, known, site);
  if (!group.fenced)
    sm->report(Category::race, id_of(site), 0, [] {
      return "a wgmma whose registers no wgmma_fence has ordered since the last wait, or at all";
    });
}

// ---- issuing

WgmmaQueue::Product product_of(Warpgroup& group, const WgmmaShape& shape, const Call& call) {
  WgmmaQueue::Product p = {{},
                           {},
                           call[0]->A,
                           call[0]->B,
                           call[0]->a != nullptr,
                           shape.B_transposed,
                           call[0]->accumulate,
                           shape.type};
  std::array<float*, 128> registers;
  for (unsigned t = 0; t < 128; ++t) {
    registers[t] = call[t]->d;
    if (p.A_in_registers) std::copy_n(call[t]->a, 4, &p.A_rmem[t * 4]);
  }
  p.D = group.products.accumulators(registers, shape.n);
  return p;
}

void require_same(const Call& call, Site site) {
  const auto same_matrix = [](const WgmmaMatrix& a, const WgmmaMatrix& b) {
    return a.tile.at == b.tile.at && a.start == b.start && a.leading == b.leading;
  };
  for (const WgmmaArguments* x : call)
    if (x->accumulate != call[0]->accumulate || !same_matrix(x->A, call[0]->A) ||
        !same_matrix(x->B, call[0]->B))
      sm->stop(Category::invalid, id_of(site), 0,
               "threads of a warpgroup give wgmma other operands");
}

void issue(Warpgroup& group, const WgmmaShape& shape, const Call& call, Site site) {
  const WgmmaArguments& x = *call[0];
  require_same(call, site);
  check_place(x.B, shape.B_transposed, shape.n, site);
  if (!x.a) check_place(x.A, false, M, site);
  if (sm->options().count) {
    sm->line(site).wgmma += 4;  // warps
    sm->line(site).mma_flops += std::uint64_t{2} * M * shape.n * K;
  }
  if (sm->options().check) observe(group, shape, x, site);
  group.products.add(product_of(group, shape, call), id_of(site));
}

}  // namespace

void wgmma(const WgmmaShape& shape, WgmmaArguments arguments, Site site) {
  collectively_in_warpgroup(
      Instruction::wgmma, arguments, site,
      [&](Warpgroup& group, const Call& call) { issue(group, shape, call, site); });
}

void wgmma_fence(Site site) {
  int nothing = 0;
  collectively_in_warpgroup(Instruction::wgmma_fence, nothing, site,
                            [](Warpgroup& group, auto&) { group.fenced = true; });
}

void wgmma_commit(Site site) {
  int nothing = 0;
  collectively_in_warpgroup(Instruction::wgmma_commit, nothing, site,
                            [](Warpgroup& group, auto&) { group.products.commit(); });
}

void wgmma_wait(unsigned newest, Site site) {
  int nothing = 0;
  collectively_in_warpgroup(Instruction::wgmma_wait, nothing, site, [&](Warpgroup& group, auto&) {
    if (!group.products.can_wait(newest)) return;
    const std::uint32_t clock = group.products.wait_group(newest);
    group.fenced = false;
    if (!sm->options().check) return;
    const unsigned first = this_thread->index / 128 * 128;
    for (unsigned t = first; t < first + 128; ++t) sm->races.learn(t, group.products.engine, clock);
  });
}

}  // namespace flashbook::simt
