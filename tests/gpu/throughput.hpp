#pragma once
/// @file
/// How fast the forward kernels are. A measurement, not a promise: it fails only if the kernel does.

#include "runner.hpp"

namespace ringcraft::kernels {

/// Times the forward kernel on 8192 tokens, full and causal, head_dim 64 and 128 (2048 numbers per token).
/// Figures: median of 10 runs in ms, and TFLOP/s, where a visible pair counts 4 * head_dim operations per
/// head.
void time_kernels(Runner& runner);

}  // namespace ringcraft::kernels
