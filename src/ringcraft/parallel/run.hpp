#pragma once
/// @file
/// One run of a method, as every rank makes it: take the shards, forward, backward, and put the results
/// together on rank 0. run_method does all of it. A RankRun does it in parts, for those who measure or repeat
/// a pass; between two of them the rank may move to another place of the same memory.

#include "ringcraft/parallel/method.hpp"

namespace ringcraft {

/// The whole tensors that a run deals out, on the host; the shapes are those of the problem. Without dout (a
/// default Buffer) there is no backward pass.
struct WholeInputs {
  const Buffer& q;     ///< [batch, heads, seqlen, head_dim]
  const Buffer& k;     ///< [batch, kv_heads, seqlen, head_dim]
  const Buffer& v;     ///< as k
  const Buffer& dout;  ///< as q, or empty

  /// The pass that the run ends with.
  Pass last_pass() const { return dout.extents() == Extents{} ? Pass::kForward : Pass::kBackward; }
};

/// Results of a run on rank 0, whole and on the host; on the other ranks, and without a backward pass in the
/// gradients, the buffers are empty.
struct WholeResult {
  Output output;        ///< out and lse
  Gradients gradients;  ///< dq, dk, dv
};

/// One rank's part of a run.
class RankRun {
 public:
  /// The method and the problem outlive this.
  RankRun(const Method& method, const Problem& problem, MethodOptions options = {})
      : method_(&method), problem_(&problem), options_(options) {}

  /// Takes the rank's shards of q, k and v, and runs the forward pass. Throws Error on every rank alike for
  /// what the method refuses.
  void forward(RankPlace& place, const WholeInputs& whole);
  /// The same from the rank's own shards, in the engine's memory; `last_pass` is that of the run. Throws
  /// Error for shards that are not the rank's.
  void forward(RankPlace& place, Buffer q, KvBlock kv, Pass last_pass);
  /// Takes the rank's shard of dout and runs the backward pass, after the forward pass. Throws Error before
  /// it, and for another shard.
  void backward(RankPlace& place, const WholeInputs& whole);
  /// The same from the rank's own shard.
  void backward(RankPlace& place, const Buffer& dout);
  /// Ends the run: the results of all ranks, on rank 0. Throws Error before the forward pass.
  WholeResult gathered(RankPlace& place);

 private:
  void run_forward(RankPlace& place, Buffer q, KvBlock kv);
  void require_forward(const char* what) const;

  const Method* method_;
  const Problem* problem_;
  MethodOptions options_;
  Forward forward_;
  Gradients gradients_;
};

/// A whole run: every rank calls this.
WholeResult run_method(const Method& method, RankPlace& place, const Problem& problem,
                       const MethodOptions& options, const WholeInputs& whole);

}  // namespace ringcraft
