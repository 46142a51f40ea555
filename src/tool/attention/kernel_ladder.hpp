#pragma once
// Lessons 201 to 206 in the report of the ladder: the CUDA kernels, on a GPU, or on the CPU on the first
// tokens of the shared problem.

#include "ringcraft/problem/problem.hpp"
#include "tool/attention/ladder_report.hpp"
#include "tool/commands/options.hpp"
#include "verify/ladder/kernel_stages.hpp"
#include "verify/oracle/tensors.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::tool {

// Tokens that the kernels get on the CPU: a thousand of their threads share a core there.
inline constexpr Position kKernelTokens = 256;

// The first `tokens` tokens of a problem's first batch entry, and their inputs: float32, rounded to bfloat16,
// so that all kernels compute on the same numbers. Packed sequences are cut where the tokens end.
std::pair<Problem, verify::Inputs> first_tokens(const Problem& problem, const verify::Inputs& inputs,
                                                Position tokens);

// The device that the kernels run on.
struct KernelPlace {
  verify::KernelStages kernels;  // without a device: this build runs none here
  bool gpu = false;
};

// kCuda: on a GPU, kCudaHost: on the CPU, kThreads: on a GPU if there is one. The rings among their stages
// deal their tokens in this layout. Throws Error (kMissing) for kCuda without a GPU.
KernelPlace kernel_place(Backend backend, Layout layout);

// The same stages as far as the last one that runs this lesson's file.
KernelPlace up_to(int lesson, KernelPlace place);

// Climbs the kernels' stages and appends their rows to those of the lessons before 201. Where kernels do not
// run (no executor in this build, a head_dim that they do not take) there is one row that was not tried, and
// says why.
void add_kernel_stages(verify::Report& report, KernelPlace place, const Problem& problem,
                       const verify::Inputs& inputs, const Climber& climber = {});

}  // namespace ringcraft::tool
