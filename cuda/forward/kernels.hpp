// The forward ladder, on both machines. Each kernel is the file of its name.
#pragma once

#include "cuda/rules/kernel.hpp"

namespace flashbook::emulated {
extern const ForwardKernel standard_forward, fa1_forward, one_pass_forward, tensor_core_forward;
}

namespace flashbook::gpu {
extern const ForwardKernel standard_forward, fa1_forward, one_pass_forward, tensor_core_forward;
}
