#pragma once
/// @file
/// MeshAttention: the attention half of a Transformer layer, z = x + dropout(attention(norm(x))), over a mesh
/// of ranks. Tensor parallelism deals the heads, context parallelism the tokens, data parallelism the
/// sequences: a rank computes its heads of its tokens, a ring over its context group attends, and a sum over
/// its tensor group puts the heads together. In double, one sequence per rank; an example of groups at work
/// (lesson 505), not the layer of a model.

#include <tuple>
#include <vector>

#include "ringcraft/comm/group.hpp"
#include "ringcraft/core/matrix.hpp"
#include "ringcraft/engine/block_engine.hpp"
#include "ringcraft/parallel/mesh/mesh.hpp"

namespace ringcraft {

/// The weights of the layer, or of some of its heads, or their gradients. The rows of a head are neighbours.
struct AttentionWeights {
  std::vector<double> norm;  ///< [hidden]: the gains of the RMS norm; whole on every rank
  std::vector<double> q;     ///< [heads * head_dim, hidden]
  std::vector<double> k;     ///< [kv_heads * head_dim, hidden]
  std::vector<double> v;     ///< as k
  std::vector<double> out;   ///< [heads * head_dim, hidden]: what a head adds to the hidden numbers

  /// All tensors that belong to heads.
  static auto of_heads(auto& self) { return std::tie(self.q, self.k, self.v, self.out); }
};

/// The weights of one of `ranks` tensor-parallel ranks: its run of heads, and the norm. `ranks` divides the
/// heads of all tensors.
AttentionWeights share_of_heads(const AttentionWeights& whole, int ranks, int member);

/// The tokens that a rank holds outside of attention, and so the exchange at its border with the tensor
/// group.
enum class TensorBorder : std::uint8_t {
  kAllReduce,         ///< all tokens of its context rank, as its whole tensor group: all-reduces
  kSequenceParallel,  ///< a run of these tokens: all-gathers and reduce-scatters, which send as many bytes
};

/// Dropout of the layer: the factor of one number, 0 or 4/3 (one in four is dropped). It follows from the
/// place of the number, never from the rank that computes it.
double dropout_factor(int sequence, Position position, Index column);

/// Gradients of the layer on a rank.
struct LayerGradients {
  AttentionWeights weights;  ///< of the rank's share, summed over the rank's tokens
  std::vector<double> x;     ///< [rows, hidden]
};

/// One rank's layer.
class MeshAttention {
 public:
  /// `problem` is that of one whole sequence and all heads, with as many ranks as the context axis; `share`
  /// are this rank's weights. References must outlive it. Throws Error on every rank for a mesh of another
  /// world, an engine that is not on the host and in double, more than one sequence, heads that the tensor
  /// axis does not divide, another number of ranks, and for kSequenceParallel if a shard's tokens are not a
  /// multiple of the tensor axis; and on a rank whose weights are not those of its heads.
  MeshAttention(Communicator& world, BlockEngine& engine, const Mesh& mesh, const Problem& problem,
                const AttentionWeights& share, TensorBorder border);

  /// Tokens of x, z and their gradients on this rank, in the order in which it holds them.
  const std::vector<Position>& positions() const { return positions_; }
  /// z [rows, hidden], from x [rows, hidden] of this sequence of the batch. Throws Error for any other length
  /// of x, and for a sequence below 0.
  std::vector<double> forward(const std::vector<double>& x, int sequence);
  /// The gradients of sum(z * dz), after forward. Throws Error before it, and for any other length of dz.
  LayerGradients backward(const std::vector<double>& dz);
  /// Sums gradients of the weights over the ranks that hold the same weights and have seen other tokens: the
  /// context and data group; for the norm of kSequenceParallel the tensor group as well. Throws Error for
  /// lengths that are not those of the weights.
  void sum_over_ranks(AttentionWeights& gradients);

 private:
  void refuse_weights(const char* of, const AttentionWeights& weights) const;
  void refuse_rows(const char* name, const std::vector<double>& rows) const;
  std::vector<double> normalized() const;
  std::vector<double> norm_backward(const std::vector<double>& dnormed, std::vector<double>& dgains) const;
  std::vector<double> gathered(std::vector<double> rows);   // the rows of the tensor group
  std::vector<double> summed(std::vector<double> partial);  // over the tensor group: this rank's rows
  std::vector<double> dropped(std::vector<double> rows) const;
  Buffer projected(const std::vector<double>& weights, Index heads, const std::vector<double>& rows);

  Communicator& world_;
  BlockEngine& engine_;
  Mesh mesh_;
  Group tensor_, context_;
  Problem problem_;  // of this rank's heads
  const AttentionWeights& share_;
  TensorBorder border_;
  std::vector<Position> positions_;
  Index hidden_, shard_rows_;

  // Results of forward that backward reads: x; its norm, of the tensor group's rows; the ring's tensors.
  std::vector<double> x_, normed_;
  int sequence_ = 0;
  Buffer q_;
  KvBlock kv_;
  Output output_;
};

}  // namespace ringcraft
