// What an option makes of a score: soft-cap, bias, ALiBi, in this order; and sinks, of the sum.
// docs/contract.md, section 2.
#pragma once

#include "cuda/rules/work.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

/// The options of a problem as kernels take them. What is not there is empty.
template <class T>
struct Options {
  float softcap;  ///< 0: none
  bool has_bias, has_slopes, has_sinks;
  gmem<const T> bias;
  int64_t bias_strides[4];  ///< of batch, head, query and key, in elements; 0 where broadcast
  gmem<const T> slopes;
  int64_t slopes_of_member;  ///< from a member's to the next one's
  gmem<const T> sinks;

  FLASHBOOK_HOST_DEVICE bool change_scores() const { return softcap > 0 || has_bias || has_slopes; }
};

/// The same, of one head of a member or batch entry.
template <class T>
class HeadOptions {
 public:
  FLASHBOOK_DEVICE HeadOptions(const Options<T>& options, const Members& members, const Work& work,
                               float scale)
      : options_(options), scale_(scale), diagonal_(work.diagonal) {
    const int64_t* strides = options.bias_strides;
    bias_ = options.bias + (work.batch(members) * strides[0] + work.head * strides[1] +
                            work.q_token * strides[2] + work.k_token * strides[3]);
    if (options.has_slopes && !work.is_slack(members))
      slope_ = to_float(T(options.slopes(work.member * options.slopes_of_member + work.head)));
  }

  /// The score of a key that row i sees, of their product.
  FLASHBOOK_DEVICE float score(float product, int i, int j) const {
    float s = scale_ * product;
    if (options_.softcap > 0) s = options_.softcap * tanhf(s / options_.softcap);
    if (options_.has_bias) {
      const float bias =
          to_float(T(bias_(i * options_.bias_strides[2] + j * options_.bias_strides[3])));
      s = bias == -INFINITY ? bias : s + bias;
    }
    if (options_.has_slopes) s -= slope_ * fabsf(static_cast<float>(j - (i + diagonal_)));
    return s;
  }

 private:
  const Options<T>& options_;
  float scale_, slope_ = 0;
  int diagonal_;
  gmem<const T> bias_;
};

/// The sink of a head, -infinity where there is none: of slack there is none.
template <class T>
FLASHBOOK_DEVICE float sink_of(const Options<T>& options, const Members& members,
                               const Work& work) {
  return options.has_sinks && !work.is_slack(members) ? to_float(T(options.sinks(work.head)))
                                                      : -INFINITY;
}

}  // namespace flashbook::FLASHBOOK_MACHINE
