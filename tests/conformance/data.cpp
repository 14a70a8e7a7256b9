#include "tests/conformance/data.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/conformance/recipe_numbers.hpp"

namespace flashbook::conformance {
namespace {

using Shape = std::array<Index, 4>;

Layout layout_of(const Shape& sizes, const flashbook_strides& s) {
  return {sizes, {s.batch, s.token, s.head, 1}};
}

Shape bias_shape(const flashbook_problem& p) {
  return p.has_bias ? std::to_array(p.bias_shape) : Shape{};
}

Layout bias_layout(const flashbook_problem& p) {
  Layout layout = {bias_shape(p), {}};
  for (std::size_t axis = 0; axis < 4; ++axis)
    layout.strides[axis] = p.bias_shape[axis] == 1 ? 0 : p.bias_strides[axis];
  return layout;
}

DType lse_dtype(DType dtype) {
  return dtype == DType::fp64 ? DType::fp64 : DType::fp32;
}

/// Which queries see a key, which keys are seen, token by token of each batch entry.
struct Seen {
  std::vector<char> queries, keys;  // [B, N_q], [B, N_k]
};

template <class F>
void for_each_visible(const AttentionProblem& problem, F&& f) {
  for (Index b = 0; b < problem->members; ++b) {
    const Member m = problem.member(b);
    for (Index i = 0; i < m.n_q; ++i)
      for (Index j = 0; j < m.n_k; ++j)
        if (problem.visible(m, i, j)) f(m, i, j);
  }
}

/// Whether one of the `count` tokens holds, asked outward from `start`: near the diagonal most
/// masks show something.
template <class F>
bool any_outward(Index count, Index start, F&& holds) {
  start = std::clamp<Index>(start, 0, std::max<Index>(count - 1, 0));
  for (Index distance = 0; distance < count; ++distance) {
    if (start + distance < count && holds(start + distance)) return true;
    if (start - distance >= 0 && holds(start - distance)) return true;
  }
  return false;
}

Seen find_seen(const AttentionProblem& problem) {
  const flashbook_problem& p = problem.fields();
  Seen seen = {std::vector<char>(static_cast<std::size_t>(p.batch * p.n_q)),
               std::vector<char>(static_cast<std::size_t>(p.batch * p.n_k))};
  for (Index b = 0; b < p.members; ++b) {
    const Member m = problem.member(b);
    char* queries = seen.queries.data() + m.batch * p.n_q + m.first_q;
    char* keys = seen.keys.data() + m.batch * p.n_k + m.first_k;
#pragma omp parallel for schedule(dynamic, 256)
    for (Index i = 0; i < m.n_q; ++i)
      queries[i] =
          any_outward(m.n_k, i + m.diagonal, [&](Index j) { return problem.visible(m, i, j); });
#pragma omp parallel for schedule(dynamic, 256)
    for (Index j = 0; j < m.n_k; ++j)
      keys[j] =
          any_outward(m.n_q, j - m.diagonal, [&](Index i) { return problem.visible(m, i, j); });
  }
  return seen;
}

/// Fills the tokens that matter; the others stay NaN. Numbers are drawn by several threads and set
/// in order, because strides may have elements share memory.
template <class F>
void fill(Storage& tensor, const std::vector<char>& seen, F&& value) {
  constexpr Index drawn_at_once = Index{1} << 18;
  const Shape& n = tensor.layout().sizes;
  const auto place = [&](Index index) {
    return Place{index / n[3] / n[2] / n[1], index / n[3] / n[2] % n[1], index / n[3] % n[2],
                 index % n[3]};
  };
  const auto matters = [&](const Place& at) {
    return seen[static_cast<std::size_t>(at.batch * n[1] + at.token)] != 0;
  };
  std::vector<double> drawn(
      static_cast<std::size_t>(std::min(drawn_at_once, tensor.layout().size())));
  for (Index first = 0; first < tensor.layout().size(); first += drawn_at_once) {
    const Index end = std::min(first + drawn_at_once, tensor.layout().size());
#pragma omp parallel for
    for (Index index = first; index < end; ++index)
      if (const Place at = place(index); matters(at))
        drawn[static_cast<std::size_t>(index - first)] = value(at);
    for (Index index = first; index < end; ++index)
      if (matters(place(index))) tensor.set(index, drawn[static_cast<std::size_t>(index - first)]);
  }
}

/// Fills the elements of the bias that a visible pair reads.
void fill_bias(Storage& bias, const AttentionProblem& problem, const RecipeNumbers& source) {
  const Shape& n = bias.layout().sizes;
  for_each_visible(problem, [&](const Member& m, Index i, Index j) {
    for (Index head = 0; head < n[1]; ++head) {
      const Index query = n[2] == 1 ? 0 : m.first_q + i, key = n[3] == 1 ? 0 : m.first_k + j;
      const Index batch = n[0] == 1 ? 0 : m.batch;
      const Index index = ((batch * n[1] + head) * n[2] + query) * n[3] + key;
      bias.set(index, source.bias(static_cast<std::uint64_t>(index), batch, query, key));
    }
  });
}

/// Puts `value` into head 0, channel 1 (or 0), two thirds down the tokens.
void plant_in(Storage& tensor, double value) {
  const Shape& n = tensor.layout().sizes;
  if (tensor.layout().size() == 0) return;
  tensor.set((2 * n[1] / 3 * n[2]) * n[3] + (n[3] > 1 ? 1 : 0), value);
}

/// Puts `value` into channel 0 of the second half of each batch entry's tokens.
void plant_in_second_half(Storage& tensor, double value) {
  const Shape& n = tensor.layout().sizes;
  for (Index b = 0; b < n[0]; ++b)
    for (Index row = n[1] / 2 * n[2]; row < n[1] * n[2]; ++row)
      tensor.set((b * n[1] * n[2] + row) * n[3], value);
}

}  // namespace

Data::Data(const ProblemSpec& spec, std::uint64_t seed)
    : fields_(spec.problem.fields()),
      q_(spec.problem.dtype(),
         layout_of({fields_.batch, fields_.n_q, fields_.heads_q, fields_.d}, fields_.q)),
      k_(spec.problem.dtype(),
         layout_of({fields_.batch, fields_.n_k, fields_.heads_kv, fields_.d}, fields_.k)),
      v_(spec.problem.dtype(),
         layout_of({fields_.batch, fields_.n_k, fields_.heads_kv, fields_.d_v}, fields_.v)),
      bias_(spec.problem.dtype(), bias_layout(fields_)),
      alibi_(spec.problem.dtype(), contiguous({1, 1, 1, spec.problem.alibi_size()})),
      sinks_(spec.problem.dtype(), contiguous({1, 1, 1, fields_.has_sinks ? fields_.heads_q : 0})),
      grad_o_(
          spec.problem.dtype(),
          layout_of({fields_.batch, fields_.n_q, fields_.heads_q, fields_.d_v}, fields_.grad_o)),
      grad_lse_(lse_dtype(spec.problem.dtype()), contiguous({1, fields_.batch, fields_.heads_q,
                                                             fields_.has_dlse ? fields_.n_q : 0})) {
  const RecipeNumbers source(spec, seed);
  const Seen seen = find_seen(spec.problem);
  fill(q_, seen.queries, [&](const Place& at) { return source.q(at); });
  fill(k_, seen.keys, [&](const Place& at) { return source.k(at); });
  fill(v_, seen.keys, [&](const Place& at) { return source.v(at); });
  fill(grad_o_, seen.queries, [&](const Place& at) { return source.grad_o(at); });
  if (fields_.has_bias) fill_bias(bias_, spec.problem, source);
  for (Index i = 0; i < alibi_.layout().size(); ++i) {  // 2^(−8(h+1)/H_q), other members steeper
    const Index member = i / fields_.heads_q, head = i % fields_.heads_q;
    alibi_.set(
        i, std::exp2(-8.0 * static_cast<double>(head + 1) / static_cast<double>(fields_.heads_q)) *
               (1 + 0.25 * static_cast<double>(member)));
  }
  for (Index i = 0; i < sinks_.layout().size(); ++i)
    sinks_.set(i, source.sink(static_cast<std::uint64_t>(i)));
  for (Index i = 0; i < grad_lse_.layout().size(); ++i)
    grad_lse_.set(i, source.grad_lse(static_cast<std::uint64_t>(i)));
  plant(spec.recipe.planted);
}

void Data::plant(Planted planted) {
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  switch (planted) {
    case Planted::none:
      return;
    case Planted::nan_q:
      return plant_in(q_, nan);
    case Planted::nan_k:
      return plant_in(k_, nan);
    case Planted::nan_v:
      return plant_in(v_, nan);
    case Planted::nan_do:
      return plant_in(grad_o_, nan);
    case Planted::nan_bias:
      if (fields_.has_bias) plant_in(bias_, nan);
      return;
    case Planted::inf_k:
      return plant_in(k_, infinity);
    case Planted::inf_v:
      return plant_in(v_, infinity);
    case Planted::inf_k_nan_v:
      plant_in(k_, infinity);
      return plant_in(v_, nan);
    case Planted::minus_inf_k:
      return plant_in_second_half(k_, -infinity);
  }
}

Inputs Data::inputs() const {
  return {q_.data(),
          k_.data(),
          v_.data(),
          fields_.has_bias ? bias_.data() : nullptr,
          fields_.alibi != FLASHBOOK_NO_ALIBI ? alibi_.data() : nullptr,
          fields_.has_sinks ? sinks_.data() : nullptr};
}

Cotangents Data::cotangents() const {
  return {grad_o_.data(), fields_.has_dlse ? grad_lse_.data() : nullptr};
}

std::string Data::differences(const Data& other) const {
  const std::pair<const char*, Storage Data::*> tensors[] = {
      {"Q", &Data::q_},       {"K", &Data::k_},          {"V", &Data::v_},
      {"bias", &Data::bias_}, {"ALiBi", &Data::alibi_},  {"sinks", &Data::sinks_},
      {"dO", &Data::grad_o_}, {"dLSE", &Data::grad_lse_}};
  std::string names;
  for (const auto& [name, tensor] : tensors)
    if ((this->*tensor).bytes() != (other.*tensor).bytes())
      names.append(names.empty() ? "" : ", ").append(name);
  return names;
}

Results::Results(const AttentionProblem& problem)
    : fields_(problem.fields()),
      storage_{{make(problem, Output::O), make(problem, Output::LSE), make(problem, Output::dQ),
                make(problem, Output::dK), make(problem, Output::dV), make(problem, Output::dBias),
                make(problem, Output::dSinks)}} {}

Storage Results::make(const AttentionProblem& problem, Output output) {
  const flashbook_problem& p = problem.fields();
  const Shape sizes = shape(problem, output);
  switch (output) {
    case Output::O:
      return {problem.dtype(), layout_of(sizes, p.o)};
    case Output::dQ:
      return {problem.dtype(), layout_of(sizes, p.grad_q)};
    case Output::dK:
      return {problem.dtype(), layout_of(sizes, p.grad_k)};
    case Output::dV:
      return {problem.dtype(), layout_of(sizes, p.grad_v)};
    case Output::LSE:
      return {lse_dtype(problem.dtype()), contiguous(sizes)};
    default:
      return {problem.dtype(), contiguous(sizes)};
  }
}

Outputs Results::outputs() {
  return {storage_[Output::O].data(), storage_[Output::LSE].data()};
}

Gradients Results::gradients() {
  return {storage_[Output::dQ].data(), storage_[Output::dK].data(), storage_[Output::dV].data(),
          fields_.has_bias ? storage_[Output::dBias].data() : nullptr,
          fields_.has_sinks ? storage_[Output::dSinks].data() : nullptr};
}

std::string find_misplaced_writes(const Storage& storage, Output output) {
  const std::string what(name(output));
  std::int64_t unwritten = 0, first = 0;
  for (std::int64_t i = storage.layout().size(); i-- > 0;)
    if (storage.untouched(i)) ++unwritten, first = i;
  if (unwritten > 0)
    return what + ": " + std::to_string(unwritten) +
           " elements were not written, the first is number " + std::to_string(first);
  if (const std::int64_t outside = storage.trespassed(); outside > 0)
    return what + ": " + std::to_string(outside) + " elements outside the tensor were written";
  return {};
}

}  // namespace flashbook::conformance
