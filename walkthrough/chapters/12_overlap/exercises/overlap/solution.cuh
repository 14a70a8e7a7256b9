#pragma once

#include "walkthrough/chapters/12_overlap/orders.cuh"

namespace flashbook::FLASHBOOK_MACHINE::orders {

struct Answer {
  template <bool each_step>
  FLASHBOOK_DEVICE static void attend(Consumer<each_step>& c, int count) {
    c.wait_for_K(0);
    c.start_S(0);
    c.template finish_S<0>(0);
    c.weigh();
    c.make_P();
    for (int t = 1; t < count; ++t) {
      c.wait_for_K(t);
      c.start_S(t);
      c.start_O(t - 1);
      c.template finish_S<1>(t);
      const bool follows = c.weigh();
      c.finish_O(t - 1);
      c.make_P(follows);
    }
    c.start_O(count - 1);
    c.finish_O(count - 1);
  }
};

}  // namespace flashbook::FLASHBOOK_MACHINE::orders
