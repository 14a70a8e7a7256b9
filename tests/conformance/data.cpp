#include "tests/conformance/data.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flashbook::conformance {
namespace {

using Shape = std::array<Index, 4>;

// Streams of the generator: one a tensor.
enum Stream : std::uint64_t {
  stream_q,
  stream_k,
  stream_v,
  stream_bias,
  stream_sinks,
  stream_do,
  stream_dlse,
  stream_outlier
};

/// SplitMix64's finaliser (Steele, Lea, Flood 2014).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

std::uint64_t bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return mix(mix(mix(seed + 0x9E3779B97F4A7C15u) + stream) + index);
}

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

Seen find_seen(const AttentionProblem& problem) {
  const flashbook_problem& p = problem.fields();
  Seen seen = {std::vector<char>(static_cast<std::size_t>(p.batch * p.n_q)),
               std::vector<char>(static_cast<std::size_t>(p.batch * p.n_k))};
  const auto any = [](Index count, auto&& holds) {
    for (Index n = 0; n < count; ++n)
      if (holds(n)) return 1;
    return 0;
  };
  for (Index b = 0; b < p.members; ++b) {
    const Member m = problem.member(b);
    char* queries = seen.queries.data() + m.batch * p.n_q + m.first_q;
    char* keys = seen.keys.data() + m.batch * p.n_k + m.first_k;
    for (Index i = 0; i < m.n_q; ++i)
      queries[i] |= any(m.n_k, [&](Index j) { return problem.visible(m, i, j); });
    for (Index j = 0; j < m.n_k; ++j)
      keys[j] |= any(m.n_q, [&](Index i) { return problem.visible(m, i, j); });
  }
  return seen;
}

/// The lowest finite number of a type.
double lowest(std::int32_t dtype) {
  return with_element_type(static_cast<DType>(dtype), [](auto element) {
    return static_cast<double>(std::numeric_limits<decltype(element)>::lowest());
  });
}

/// Where an element of Q, K, V or dO stands.
struct Place {
  Index batch, token, head, channel;
};

/// The numbers of one recipe for one problem.
class Source {
 public:
  Source(const ProblemSpec& spec, std::uint64_t seed)
      : p_(spec.problem.fields()),
        recipe_(spec.recipe),
        seed_(seed),
        scale_(p_.scale != 0 ? p_.scale : 1 / std::sqrt(static_cast<double>(p_.d))) {}

  double q(const Place& at) const {
    const double x = draw(stream_q, at), d = static_cast<double>(p_.d);
    switch (recipe_.values) {
      case Values::flat:
      case Values::flat_constant:
        return 0;
      case Values::q_is_k:
      case Values::q_is_k_is_v:
        return k(as_key(at));
      case Values::sharp:  // |k|² is near d
        return 30 / (scale_ * d) * k(as_key(at));
      case Values::logits_1e4:
        return coin(stream_q, at) * amplitude(1e4);
      case Values::logits_minus_100:
        return amplitude(-100) + x / 8;
      case Values::logits_1e10:
        return amplitude(1e10);
      default:
        return x * spread();
    }
  }

  double k(const Place& at) const {
    switch (recipe_.values) {
      case Values::logits_1e4:
        return sign() * coin(stream_k, at) * amplitude(1e4);
      case Values::logits_minus_100:
        return -sign() * amplitude(-100) + draw(stream_k, at) / 8;
      case Values::logits_1e10:
        return sign() * amplitude(1e10);
      default:
        return draw(stream_k, at) * spread();
    }
  }

  double v(Place at) const {
    if (recipe_.values == Values::q_is_k_is_v && at.channel < p_.d) return k(at);
    if (recipe_.values == Values::constant_v || recipe_.values == Values::flat_constant)
      at.token = 0;
    return draw(stream_v, at) * (recipe_.values == Values::five_normal ? 5 : 1) *
           (recipe_.values == Values::small_normal ? 0.125 : 1);
  }

  double grad_o(const Place& at) const { return cotangent(stream_do, index_of(at)); }
  double grad_lse(std::uint64_t index) const { return cotangent(stream_dlse, index); }
  double sink(std::uint64_t head) const { return normal(seed_, stream_sinks, head); }

  /// At a place of the bias's own shape: 0 along an axis it is broadcast along.
  double bias(std::uint64_t index, Index batch, Index query, Index key) const {
    const Index third = (p_.n_k + 2) / 3;
    if (recipe_.bias == BiasValues::padded)
      return key < p_.n_k - third * (batch + 1) ? 0 : -std::numeric_limits<double>::infinity();
    if (recipe_.bias == BiasValues::lowest) return key < third ? lowest(p_.dtype) : 0;
    const double x = normal(seed_, stream_bias, index);
    if (recipe_.bias == BiasValues::minus_1e4) return x - 1e4;
    if (recipe_.bias == BiasValues::hidden &&
        (query == 1 || bits(seed_, stream_outlier, index) % 5 == 0))
      return -std::numeric_limits<double>::infinity();
    return x;
  }

 private:
  static std::uint64_t index_of(const Place& at) {
    // Room for 2^24 tokens, 2^12 heads and as many channels.
    return static_cast<std::uint64_t>((((at.batch << 24) + at.token) << 24) + (at.head << 12) +
                                      at.channel);
  }

  double draw(Stream stream, Place at) const {
    if (recipe_.values == Values::repeated) at.token %= 5;
    const double x = normal(seed_, stream, index_of(at));
    if (recipe_.values != Values::outlier ||
        bits(seed_, stream_outlier + stream, index_of(at)) % 128)
      return x;
    return x + 10 * normal(seed_, stream_outlier + 8 + stream, index_of(at));
  }

  /// +1 or −1, one draw a token and head.
  double coin(Stream stream, Place at) const {
    at.channel = 0;
    return bits(seed_, stream, index_of(at)) % 2 ? 1 : -1;
  }

  /// The key that query `at` copies.
  Place as_key(Place at) const {
    at.head /= p_.heads_q / p_.heads_kv;
    return at;
  }

  double sign() const { return scale_ < 0 ? -1 : 1; }

  /// a with |scale|·d·a² = |logit|, as far as the type can hold it.
  double amplitude(double logit) const {
    const double a = std::sqrt(std::abs(logit / scale_) / static_cast<double>(p_.d));
    return p_.dtype == FLASHBOOK_FP16 ? std::min(a, 65504.0) : a;
  }

  /// Standard deviation of Q's and K's elements.
  double spread() const {
    const double unit = std::abs(scale_) * std::sqrt(static_cast<double>(p_.d));  // of the logits
    switch (recipe_.values) {
      case Values::five_normal:
        return 5;
      case Values::small_normal:
        return 0.125;
      case Values::logits_std_1e2:
        return std::sqrt(1e2 / unit);
      case Values::logits_std_1e3:
        return std::sqrt(1e3 / unit);
      default:
        return 1;
    }
  }

  double cotangent(Stream stream, std::uint64_t index) const {
    switch (recipe_.cotangents) {
      case CotangentValues::ones:
        return 1;
      case CotangentValues::zero:
        return 0;
      case CotangentValues::normal:
        break;
    }
    return normal(seed_, stream, index);
  }

  const flashbook_problem& p_;
  Recipe recipe_;
  std::uint64_t seed_;
  double scale_;
};

/// Fills the tokens that matter; the others stay NaN.
template <class F>
void fill(Storage& tensor, const std::vector<char>& seen, F&& value) {
  const Shape& n = tensor.layout().sizes;
  for (Index index = 0; index < tensor.layout().size(); ++index) {
    const Place at = {index / n[3] / n[2] / n[1], index / n[3] / n[2] % n[1], index / n[3] % n[2],
                      index % n[3]};
    if (seen[static_cast<std::size_t>(at.batch * n[1] + at.token)]) tensor.set(index, value(at));
  }
}

/// Fills the elements of the bias that a visible pair reads.
void fill_bias(Storage& bias, const AttentionProblem& problem, const Source& source) {
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

}  // namespace

double uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return static_cast<double>(bits(seed, stream, index) >> 11) * 0x1p-53;
}

double normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  std::uint64_t sum = 0;  // of twelve uniforms, 16 bits each
  for (std::uint64_t word = 0; word < 3; ++word)
    for (std::uint64_t four = bits(seed, stream, 3 * index + word), n = 0; n < 4; ++n, four >>= 16)
      sum += four & 0xFFFF;
  return (static_cast<double>(sum) + 6) * 0x1p-16 - 6;  // + ½ each
}

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
  const Source source(spec, seed);
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
  const bool infinite = planted == Planted::inf_k || planted == Planted::inf_v;
  const double value =
      infinite ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  if (planted == Planted::nan_q) plant_in(q_, value);
  if (planted == Planted::nan_k || planted == Planted::inf_k) plant_in(k_, value);
  if (planted == Planted::nan_v || planted == Planted::inf_v) plant_in(v_, value);
  if (planted == Planted::nan_do) plant_in(grad_o_, value);
  if (planted == Planted::nan_bias && fields_.has_bias) plant_in(bias_, value);
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
