#pragma once
// Lessons 201 to 206 in the report of the ladder: the CUDA kernels, on the CPU, on the first tokens of the
// shared problem.

#include "ringcraft/problem/problem.hpp"
#include "verify/report.hpp"
#include "verify/tensors.hpp"

namespace ringcraft::tool {

// Tokens that the kernels get: a thousand of their threads share a core here.
inline constexpr Position kKernelTokens = 256;

// The first `tokens` tokens of a problem's first batch entry, and their inputs: float32, rounded to bfloat16,
// so that all kernels compute on the same numbers. Packed sequences are cut where the tokens end.
std::pair<Problem, verify::Inputs> first_tokens(const Problem& problem, const verify::Inputs& inputs,
                                                Position tokens);

// Climbs the kernels' stages and puts their rows behind those of the lessons before 201. Where kernels do not
// run (no executor in this build, a head_dim that they do not take) there is one row that was not tried, and
// says why.
void add_kernel_stages(verify::Report& report, const Problem& problem, const verify::Inputs& inputs);

}  // namespace ringcraft::tool
