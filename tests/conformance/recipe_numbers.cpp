#include "tests/conformance/recipe_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu_reference/element_types.hpp"
#include "tests/conformance/random_numbers.hpp"

namespace flashbook::conformance {
namespace {

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

/// The lowest finite number of a type.
double lowest(std::int32_t dtype) {
  return with_element_type(static_cast<DType>(dtype), [](auto element) {
    return static_cast<double>(std::numeric_limits<decltype(element)>::lowest());
  });
}

std::uint64_t index_of(const Place& at) {
  // Room for 2^24 tokens, 2^12 heads and as many channels.
  return static_cast<std::uint64_t>((((at.batch << 24) + at.token) << 24) + (at.head << 12) +
                                    at.channel);
}

}  // namespace

RecipeNumbers::RecipeNumbers(const ProblemSpec& spec, std::uint64_t seed)
    : p_(spec.problem.fields()),
      recipe_(spec.recipe),
      seed_(seed),
      scale_(p_.scale != 0 ? p_.scale : 1 / std::sqrt(static_cast<double>(p_.d))) {}

double RecipeNumbers::q(const Place& at) const {
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
    case Values::rising:
    case Values::falling:
    case Values::huge_key:
    case Values::huge_half:
    case Values::rising_large_v:
      return amplitude(step());
    default:
      return x * spread();
  }
}

double RecipeNumbers::k(const Place& at) const {
  switch (recipe_.values) {
    case Values::logits_1e4:
      return sign() * coin(stream_k, at) * amplitude(1e4);
    case Values::logits_minus_100:
      return -sign() * amplitude(-100) + draw(stream_k, at) / 8;
    case Values::logits_1e10:
      return sign() * amplitude(1e10);
    case Values::rising:
    case Values::falling:
    case Values::huge_key:
    case Values::huge_half:
    case Values::rising_large_v:
      return sign() * amplitude(step()) * share(at.token) + draw(stream_k, at) / 8;
    default:
      return draw(stream_k, at) * spread();
  }
}

double RecipeNumbers::v(Place at) const {
  if (recipe_.values == Values::q_is_k_is_v && at.channel < p_.d) return k(at);
  if (recipe_.values == Values::constant_v || recipe_.values == Values::flat_constant) at.token = 0;
  const double x = draw(stream_v, at);
  switch (recipe_.values) {
    case Values::five_normal:
      return 5 * x;
    case Values::small_normal:
      return x / 8;
    case Values::rising_large_v:
      return (p_.dtype == FLASHBOOK_FP16 ? 0x1p9 : 0x1p30) * x;
    default:
      return x;
  }
}

double RecipeNumbers::grad_o(const Place& at) const {
  return cotangent(stream_do, index_of(at));
}
double RecipeNumbers::grad_lse(std::uint64_t index) const {
  return cotangent(stream_dlse, index);
}
double RecipeNumbers::sink(std::uint64_t head) const {
  return normal(seed_, stream_sinks, head);
}

double RecipeNumbers::bias(std::uint64_t index, Index batch, Index query, Index key) const {
  const Index third = (p_.n_k + 2) / 3;
  if (recipe_.bias == BiasValues::padded)
    return key < p_.n_k - third * (batch + 1) ? 0 : -std::numeric_limits<double>::infinity();
  if (recipe_.bias == BiasValues::lowest) return key < third ? lowest(p_.dtype) : 0;
  const double x = normal(seed_, stream_bias, index);
  if (recipe_.bias == BiasValues::minus_1e4) return x - 1e4;
  if (recipe_.bias == BiasValues::hidden &&
      (query == 1 || random_bits(seed_, stream_outlier, index) % 5 == 0))
    return -std::numeric_limits<double>::infinity();
  return x;
}

double RecipeNumbers::draw(std::uint64_t stream, Place at) const {
  if (recipe_.values == Values::repeated) at.token %= 5;
  const double x = normal(seed_, stream, index_of(at));
  if (recipe_.values != Values::outlier ||
      random_bits(seed_, stream_outlier + stream, index_of(at)) % 128)
    return x;
  return x + 10 * normal(seed_, stream_outlier + 8 + stream, index_of(at));
}

/// +1 or −1, one draw a token and head.
double RecipeNumbers::coin(std::uint64_t stream, Place at) const {
  at.channel = 0;
  return random_bits(seed_, stream, index_of(at)) % 2 ? 1 : -1;
}

/// The key that query `at` copies.
Place RecipeNumbers::as_key(Place at) const {
  at.head /= p_.heads_q / p_.heads_kv;
  return at;
}

/// a with |scale|·d·a² = |logit|, as far as the type can hold it.
double RecipeNumbers::amplitude(double logit) const {
  const double a = std::sqrt(std::abs(logit / scale_) / static_cast<double>(p_.d));
  return p_.dtype == FLASHBOOK_FP16 ? std::min(a, 65504.0) : a;
}

/// By how much the keys' logits differ in recipes that let them.
double RecipeNumbers::step() const {
  return recipe_.values == Values::huge_key ? 200 : recipe_.values == Values::huge_half ? 60 : 100;
}

/// The part of the step that a key's logits have.
double RecipeNumbers::share(Index key) const {
  const double down =
      static_cast<double>(key) / static_cast<double>(std::max<Index>(p_.n_k - 1, 1));
  switch (recipe_.values) {
    case Values::huge_key:
      return key == p_.n_k / 5 ? 1 : 0;
    case Values::huge_half:
      return 2 * key < p_.n_k ? 1 : 0;
    case Values::falling:
      return 1 - down;
    default:
      return down;
  }
}

/// Standard deviation of Q's and K's elements.
double RecipeNumbers::spread() const {
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

double RecipeNumbers::cotangent(std::uint64_t stream, std::uint64_t index) const {
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

}  // namespace flashbook::conformance
