#include "sim/simt/order.hpp"

#include <algorithm>
#include <utility>

namespace flashbook::simt {
namespace {

constexpr std::uint32_t before_all_of_engines = 0x80000000u;

void join(std::uint32_t* clock, const std::uint32_t* other, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) clock[i] = std::max(clock[i], other[i]);
}

std::size_t rounded(std::size_t agents) {
  return (agents + 15) / 16 * 16;
}

}  // namespace

void join(Clock& clock, const Clock& other) {
  if (clock.size() < other.size()) clock.resize(other.size());
  join(clock.data(), other.data(), other.size());
}

void Order::reset(unsigned blocks, unsigned threads_per_block) {
  block_ = threads_per_block;
  threads_ = blocks * threads_per_block;
  stride_ = rounded(threads_);
  clocks_.assign(threads_ * stride_, 0);
  floors_.assign(threads_, 0);
  for (unsigned t = 0; t < threads_; ++t) clocks_[t * stride_ + t] = 1;
  for (auto& of_kind : fences_) of_kind.clear();
  engines_.clear();
}

unsigned Order::add_engine(std::string name) {
  const auto engine = static_cast<unsigned>(threads_ + engines_.size());
  engines_.push_back({std::move(name), before_all_of_engines});
  if (engine >= stride_) widen(rounded(engine + std::size_t{1}));
  return engine;
}

void Order::widen(std::size_t agents) {
  std::vector<std::uint32_t> wider(threads_ * agents, 0);
  for (unsigned t = 0; t < threads_; ++t)
    std::copy_n(&clocks_[t * stride_], stride_, &wider[t * agents]);
  clocks_ = std::move(wider);
  stride_ = agents;
}

std::uint32_t Order::advance(unsigned engine) {
  return ++engines_[engine - threads_].clock;
}

void Order::learn(unsigned thread, unsigned engine, std::uint32_t clock) {
  std::uint32_t& known = clocks_[thread * stride_ + engine];
  known = std::max(known, clock);
}

void Order::release(unsigned thread, Clock& clock) {
  std::uint32_t* mine = &clocks_[thread * stride_];
  clock.resize(stride_);
  join(clock.data(), mine, stride_);
  ++mine[thread];
}

void Order::acquire(unsigned thread, const Clock& clock) {
  if (clock.empty()) return;
  std::uint32_t* mine = &clocks_[thread * stride_];
  join(mine, clock.data(), clock.size());
  floors_[thread] = *std::min_element(mine, mine + threads_);
}

void Order::fence(unsigned thread, Fence kind) {
  auto& of_kind = fences_[static_cast<unsigned>(kind)];
  of_kind.resize(threads_);
  of_kind[thread].push_back(clocks_[thread * stride_ + thread]++);
}

bool Order::is_fenced(unsigned writer, std::uint32_t clock, std::uint32_t known, Fence kind) const {
  const auto& of_kind = fences_[static_cast<unsigned>(kind)];
  if (of_kind.empty()) return false;
  const auto& fences = of_kind[writer];
  const auto next = std::lower_bound(fences.begin(), fences.end(), clock);
  return next != fences.end() && *next <= known;
}

std::string Order::name(unsigned agent, unsigned rank) const {
  if (agent >= threads_) return engines_[agent - threads_].name;
  const unsigned thread = agent % block_;
  std::string out =
      "thread " + std::to_string(thread) + " (warp " + std::to_string(thread / 32) + ")";
  if (agent / block_ != rank)
    out += " of block " + std::to_string(agent / block_) + " of the cluster";
  return out;
}

}  // namespace flashbook::simt
