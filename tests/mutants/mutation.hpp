#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>

/// What the rewritten sources call: every site is an operation that can do one thing wrong. It does
/// so when its number is in the environment, FLASHBOOK_MUTANT; without one all operations are
/// right. Included before everything else, by the compiler's option -include.
///
/// A site of a template may not be a site for every type (− of two strings). Which sites were
/// compiled, and which a run came by, a program writes to the file that FLASHBOOK_SITES names.
namespace flashbook::mutation {

inline constexpr int most = 1 << 16;

inline int number_asked_for() {
  const char* asked = std::getenv("FLASHBOOK_MUTANT");
  return asked ? std::atoi(asked) : -1;
}

inline bool is_compiled[most], is_reached[most];

inline void write_sites() {
  std::FILE* file = std::fopen(std::getenv("FLASHBOOK_SITES"), "a");
  for (int n = 0; n < most; ++n)
    if (is_compiled[n]) std::fprintf(file, "%d %d\n", n, static_cast<int>(is_reached[n]));
  std::fclose(file);
}

inline const int active = [] {
  if (std::getenv("FLASHBOOK_SITES")) std::atexit(write_sites);
  return number_asked_for();
}();

template <int n>
struct Site {
  static inline const bool noted = is_compiled[n] = true;
};

/// Whether mutant n is the one asked for.
template <int n>
constexpr bool is() {
  if (std::is_constant_evaluated()) return false;
  static_cast<void>(Site<n>::noted);
  is_reached[n] = true;
  return active == n;
}

/// Results of Eigen's operators refer to their operands: they are evaluated before those go.
template <class T>
constexpr auto value(T&& result) {
  if constexpr (requires { result.eval(); })
    return result.eval();
  else
    return std::forward<T>(result);
}

// Mutant n is the second operator in place of the first; n + 1, where there is one, says the third.
#define FLASHBOOK_MUTATION(NAME, RIGHT, WRONG)            \
  template <int n, class A, class B>                      \
  constexpr auto NAME(const A& a, const B& b) {           \
    using Result = decltype(value(a RIGHT b));            \
    if constexpr (requires { Result(value(a WRONG b)); }) \
      if (is<n>()) return Result(value(a WRONG b));       \
    return Result(value(a RIGHT b));                      \
  }
FLASHBOOK_MUTATION(plus, +, -)
FLASHBOOK_MUTATION(minus, -, +)
FLASHBOOK_MUTATION(quotient, /, *)
FLASHBOOK_MUTATION(remainder, %, /)
FLASHBOOK_MUTATION(equal, ==, !=)
FLASHBOOK_MUTATION(unequal, !=, ==)
#undef FLASHBOOK_MUTATION

template <class T>
inline constexpr bool is_inexact = std::is_floating_point_v<T>;

/// A product: of two numbers a quotient, or 1 % more where it is no integer.
template <int n, class A, class B>
constexpr auto times(const A& a, const B& b) {
  using Result = decltype(value(a * b));
  if constexpr (requires { Result(value(a / b)); })
    if (is<n>()) return Result(value(a / b));
  if constexpr (requires { (a * b).eval(); }) {
    using Scalar = typename Result::Scalar;
    if constexpr (is_inexact<Scalar>)
      if (is<n + 1>()) return Result(value(a * b) * Scalar(1.01));
  } else if constexpr (is_inexact<Result>) {
    if (is<n + 1>()) return Result(a * b * Result(1.01));
  }
  return Result(value(a * b));
}

// A comparison: the neighbouring one, and its opposite.
#define FLASHBOOK_MUTATION(NAME, RIGHT, NEIGHBOUR, OPPOSITE) \
  template <int n, class A, class B>                         \
  constexpr auto NAME(const A& a, const B& b) {              \
    using Result = decltype(value(a RIGHT b));               \
    if (is<n>()) return Result(value(a NEIGHBOUR b));        \
    if (is<n + 1>()) return Result(value(a OPPOSITE b));     \
    return Result(value(a RIGHT b));                         \
  }
FLASHBOOK_MUTATION(less, <, <=, >=)
FLASHBOOK_MUTATION(greater, >, >=, <=)
FLASHBOOK_MUTATION(at_most, <=, <, >)
FLASHBOOK_MUTATION(at_least, >=, >, <)
#undef FLASHBOOK_MUTATION

// Both and either: the other of the two, the left condition alone, the right one alone.
template <int n, class A, class B>
constexpr bool both(const A& a, const B& b) {
  if (is<n>()) return a || b();
  if (is<n + 1>()) return static_cast<bool>(a);
  if (is<n + 2>()) return b();
  return a && b();
}
template <int n, class A, class B>
constexpr bool either(const A& a, const B& b) {
  if (is<n>()) return a && b();
  if (is<n + 1>()) return static_cast<bool>(a);
  if (is<n + 2>()) return b();
  return a || b();
}

/// The condition of an `if`, of `?` or of a loop: never, always.
template <int n, bool may_be_true, class A>
constexpr bool condition(const A& a) {
  if (is<n>()) return false;
  if constexpr (may_be_true)
    if (is<n + 1>()) return true;
  return static_cast<bool>(a);
}

template <int n, class A>
constexpr auto opposite(const A& a) {
  using Result = decltype(value(!a));
  if (is<n>()) return Result(!!a);
  return Result(value(!a));
}
template <int n, class A>
constexpr auto negated(const A& a) {
  using Result = decltype(value(-a));
  if (is<n>()) return Result(a);
  return Result(value(-a));
}

/// A literal: one more and, above 0, one less; × 1.01 (0: 1) if it is no integer; the other bool.
template <int n, bool has_less, class T>
constexpr T literal(T x) {
  if constexpr (std::is_same_v<T, bool>) {
    if (is<n>()) return !x;
  } else if constexpr (is_inexact<T>) {
    if (is<n>()) return x == 0 ? T(1) : x * T(1.01);
  } else {
    if (is<n>()) return static_cast<T>(x + 1);
    if constexpr (has_less)
      if (is<n + 1>()) return static_cast<T>(x - 1);
  }
  return x;
}

// Compound assignments: with the opposite operator.
#define FLASHBOOK_MUTATION(NAME, RIGHT, WRONG)                           \
  template <int n, class A, class B>                                     \
  constexpr void NAME(A&& a, const B& b) {                               \
    if constexpr (requires { a WRONG b; }) {                             \
      if (is<n>()) return static_cast<void>(std::forward<A>(a) WRONG b); \
    }                                                                    \
    std::forward<A>(a) RIGHT b;                                          \
  }
FLASHBOOK_MUTATION(add_to, +=, -=)
FLASHBOOK_MUTATION(subtract_from, -=, +=)
FLASHBOOK_MUTATION(multiply, *=, /=)
FLASHBOOK_MUTATION(divide, /=, *=)
#undef FLASHBOOK_MUTATION

template <int n, class T>
constexpr T least(const T& a, const T& b) {
  return is<n>() ? std::max(a, b) : std::min(a, b);
}
template <int n, class T>
constexpr T greatest(const T& a, const T& b) {
  return is<n>() ? std::min(a, b) : std::max(a, b);
}

/// An argument whose neighbour has the same type: the neighbour.
template <int n, class A, class B>
constexpr decltype(auto) argument(A&& a, B&& b) {
  using T = std::remove_cvref_t<A>;
  if constexpr (std::is_same_v<A, B>) {
    return is<n>() ? static_cast<A&&>(b) : static_cast<A&&>(a);
  } else if constexpr (std::is_same_v<T, std::remove_cvref_t<B>> && std::is_arithmetic_v<T>) {
    return T(is<n>() ? b : a);
  } else {
    return static_cast<A&&>(a);
  }
}

}  // namespace flashbook::mutation
