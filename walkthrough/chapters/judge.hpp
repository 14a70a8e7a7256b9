// What the judges of the exercises have in common.
#pragma once

#include <algorithm>
#include <cmath>
#include <iostream>
#include <sstream>
#include <string>

namespace flashbook::book {

/// Compares what an answer gives with what it should give, and says in numbers where they differ.
class Judge {
 public:
  /// `got` must be `expected`; `what` names it, as in "ℓ of the merge of (1, 2) and (3, 4)".
  template <class Value>
  void equal(const std::string& what, const Value& got, const Value& expected) {
    std::ostringstream text;
    text << what << " is " << got << ", and should be " << expected;
    require(got == expected, text.str());
  }

  /// The same, to within `tolerance` of the expected number's size, or of 1 if that is larger.
  void close(const std::string& what, double got, double expected, double tolerance) {
    std::string seen = text_of(got, 6), wanted = text_of(expected, 6);
    if (seen == wanted) {
      seen = text_of(got, 17);
      wanted = text_of(expected, 17);
    }
    const bool same = got == expected;  // infinities
    const double size = std::max(1., std::abs(expected));
    require(same || std::abs(got - expected) <= tolerance * size,
            what + " is " + seen + ", and should be " + wanted);
  }

  /// `complaint` is printed if it does not hold; of one that repeats itself, the first.
  void require(bool holds, const std::string& complaint) {
    ++checks_;
    if (holds) return;
    ++failed_;
    if (shown_ == most_shown || complaint == latest_) return;
    ++shown_;
    latest_ = complaint;
    std::cout << "  " << complaint << "\n";
  }

  /// main's return value.
  int verdict() const {
    if (failed_ > shown_) std::cout << "  … and " << failed_ - shown_ << " more\n";
    std::cout << "  " << checks_ - failed_ << " of " << checks_ << " checks pass\n";
    return failed_ == 0 && checks_ > 0 ? 0 : 1;
  }

 private:
  /// A NaN has no sign that means anything, and infinity is written as in the chapters.
  static std::string text_of(double x, int digits) {
    if (std::isnan(x)) return "NaN";
    if (std::isinf(x)) return x < 0 ? "−∞" : "∞";
    std::ostringstream text;
    text.precision(digits);
    text << x;
    return text.str();
  }

  static constexpr int most_shown = 5;
  int checks_ = 0, failed_ = 0, shown_ = 0;
  std::string latest_;  ///< shown
};

}  // namespace flashbook::book
