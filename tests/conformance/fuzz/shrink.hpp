#pragma once

#include <functional>

#include "tests/conformance/fuzz/draft.hpp"

namespace flashbook::conformance {

/// The smallest problem found for which `still_fails` holds, from one for which it does: sizes are
/// cut down, members and options left out, layouts and data made plain, each step kept if it still
/// fails, until none does. No size, member or option that could be left out remains.
Draft shrink(Draft failing, const std::function<bool(const Draft&)>& still_fails);

}  // namespace flashbook::conformance
