#pragma once
/// @file
/// The fast kernels over all heads of a KV block, on one or several threads: what HostEngine does with
/// Kernel::kFast. The numbers depend neither on timing nor on the number of threads: each is summed by one
/// task, or from shares whose number and order the problem alone decides.

#include <array>
#include <atomic>
#include <functional>
#include <vector>

#include "ringcraft/attention/detail/block_kernels_detail.hpp"
#include "ringcraft/attention/detail/partial_memory.hpp"
#include "ringcraft/attention/fast/fast_kernels_detail.hpp"
#include "ringcraft/engine/block_engine.hpp"

namespace ringcraft {

/// Computes blocks; the memory that this needs is kept from block to block.
template <class T>
class FastHeads final : public BlockKernels<T> {
 public:
  /// Runs on so many threads, at least 1, including the caller's, until `stop` is true (null: to the end).
  explicit FastHeads(int threads, const std::atomic<bool>* stop = nullptr);

  /// Adds a block to the state, as BlockEngine::forward does. The queue holds (head, query block), the
  /// longest blocks first.
  void forward(RowState& state, const Buffer& q, const KvBlock& block, const KeyRanges& ranges,
               double softmax_scale) override;

  /// Adds a block's gradients to dq and part, as BlockEngine::backward does. The queue holds (KV head, share
  /// of its keys).
  void backward(Buffer& dq, KvBlock& part, const Saved& saved, const KvBlock& block, const KeyRanges& ranges,
                double softmax_scale) override;

  /// The keys of a block are dealt to at most so many shares, each with a dq of its own: what a thread can do
  /// by itself.
  static constexpr Index kShares = 4;

 private:
  class Backward;  // one backward pass
  // A thread's scratch memory for the forward pass.
  struct Rows {
    FastForward<T> kernel;
    PartialMemory<T> partial;
  };
  // A query head that is being computed backward, and the shares of its dq, [rows, padded head_dim] each.
  struct Head {
    Index batch, head, kv_head;
    QueryPanels<T> queries;
    std::array<Scratch<T>, kShares> shares;

    Matrix<T> share(Index s);
  };

  // for_each_task on these threads; throws Error once `stop_` is true.
  void for_each(Index count, const std::function<void(Index task, int thread)>& body) const;

  int threads_;
  const std::atomic<bool>* stop_;
  std::vector<Rows> rows_;             // of each thread
  std::vector<KeyPanels<T>> panels_;   // of each KV head that is being computed forward
  std::vector<FastBackward<T>> keys_;  // of each thread
  std::vector<Head> heads_;            // that are being computed backward
};

}  // namespace ringcraft
