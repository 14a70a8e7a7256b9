// The backward ladder, on both machines. Each kernel is the file of its name.
#pragma once

#include "cuda/rules/kernel.hpp"

namespace flashbook::emulated {
extern const BackwardKernel standard_backward, three_kernel_backward;
}

namespace flashbook::gpu {
extern const BackwardKernel standard_backward, three_kernel_backward;
}
