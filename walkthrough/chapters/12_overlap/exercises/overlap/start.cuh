#pragma once

#include "walkthrough/chapters/12_overlap/orders.cuh"

namespace flashbook::FLASHBOOK_MACHINE::orders {

struct Answer {
  template <bool each_step>
  FLASHBOOK_DEVICE static void attend(Consumer<each_step>& c, int count) {
    for (int t = 0; t < count; ++t) {
      c.wait_for_K(t);
      c.start_S(t);
      c.template finish_S<0>(t);
      const bool follows = c.weigh();
      c.make_P(follows);
      c.start_O(t);
      c.finish_O(t);
    }
  }
};

}  // namespace flashbook::FLASHBOOK_MACHINE::orders
