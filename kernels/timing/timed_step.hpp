#pragma once
/// @file
/// One step of a rung that is run repeatedly: its time on the device, and the resources of its kernels, for
/// `bench kernels` and for the test programs of the kernels.

#include <vector>

#include "engine/cuda_engine.hpp"

namespace ringcraft::kernels {

/// Host tensors of any number type: q, k, v, and for the backward pass dout.
struct StepInputs {
  Buffer q, k, v, dout;
};
/// Standard normal numbers, float32: zeros draw less power and would be faster. All have these extents.
StepInputs normal_inputs(const Extents& extents, std::uint64_t seed = 1);

/// Numbers of q per token, in all heads, in timed problems.
inline constexpr Index kModelWidth = 2048;
/// Its softmax_scale.
inline constexpr double kTimedScale = 0.1;
/// Its extents.
inline Extents timed_extents(Index tokens, Index head_dim) {
  return {1, kModelWidth / head_dim, tokens, head_dim};
}
/// Tokens that a rung is timed with. One that stores score matrices gets fewer: 32 heads of 4096 are 2 GB,
/// and P and dS twice that.
template <class Step>
Index tokens_for(const Rung<Step>& rung) {
  return rung.workspace == nullptr ? 8192 : 4096;
}
/// An engine's rungs with this one among them.
inline CudaRungs rungs_for(const ForwardRung& rung) { return {.forward = &rung}; }
/// The same.
inline CudaRungs rungs_for(const BackwardRung& rung) { return with_forward(rung); }

/// Floating-point operations of a pass: a visible pair counts 4 * head_dim forward and 10 * head_dim backward
/// in each head, however often a rung computes its scores.
double operations_of(Pass pass, Index heads, Index head_dim, Index pairs);

/// A shard of queries against one block of keys: all tensors on the device, and the engine.
class TimedStep {
 public:
  /// For the backward pass a forward step is run and finished. Inputs are converted to the rungs' number
  /// type.
  TimedStep(CudaRungs rungs, Pass pass, const StepInputs& inputs, KeyRanges ranges, double softmax_scale);

  /// Restores the initial accumulators. A merge is not idempotent: a step that runs twice without this adds
  /// its keys twice.
  void reset();
  /// Enqueues one run: the upload of the ranges, and the rung.
  void run();

  /// The engine that computes.
  const CudaEngine& engine() const { return engine_; }
  /// Forward: finishes the step that has run since reset(), which must follow. Backward: finishes the forward
  /// step.
  const Output& finish();
  /// Backward: the launches since reset().
  const Buffer& dq() const { return dq_; }
  const KvBlock& dkv() const { return dkv_; }  ///< the same

 private:
  Buffer on_device(const Buffer& host) const;

  CudaEngine engine_;
  Pass pass_;
  KeyRanges ranges_;
  double softmax_scale_;
  Buffer q_, dout_, delta_, dq_;
  KvBlock kv_, dkv_;
  RowState state_;
  Output output_;
};

/// Milliseconds of device time of a run, medians.
struct RunTime {
  double hot;      ///< the L2 cache holds what fits of the previous run, and of the accumulators
  double flushed;  ///< the L2 cache holds nothing of use
};
/// Times a step: runs to warm up for a tenth of a second, then ten runs of each kind, or as many as a second
/// has room for, three at least. The accumulators are reset before each, outside of the time.
RunTime timed(TimedStep& step);

/// Resources of one kernel of a step.
struct KernelNeeds {
  int registers;       ///< of a thread
  Index shared_bytes;  ///< of a thread block, static and dynamic
  Index local_bytes;   ///< of a thread: spilled registers, mostly
};
/// The kernels of a step in the order of their launches. Runs it once.
std::vector<KernelNeeds> kernels_of(TimedStep& step);

}  // namespace ringcraft::kernels
