#pragma once
// The CUDA kernels as stages of the ladder, run on the CPU by the host executor. Only in a build that has it.

#include <vector>

#include "verify/ladder.hpp"

namespace ringcraft::tool {

// In the order of the lessons, 201 to 206. The rings among them deal their tokens in this layout. The inputs
// are float32, and rounded to bfloat16 already if the stages on tensor cores are to compute on the same
// numbers. All answer in float32.
std::vector<verify::Stage> kernel_stages(Layout layout);

// The largest head_dim that all of them take.
Index largest_head_dim_of_kernels();

}  // namespace ringcraft::tool
