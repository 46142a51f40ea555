#pragma once
/// @file
/// BlockEngine: the interface of everything that computes. A ring hands an engine one shard of queries and
/// one KV block at a time; the engine owns the number type, the memory space and, on a GPU, the stream. The
/// ring itself is therefore one function for every type and device. Engines: HostEngine<float|double>
/// (attention/host_engine.hpp) and CudaEngine (kernels/engine/cuda_engine.hpp).

#include <atomic>
#include <tuple>

#include "ringcraft/core/buffer.hpp"
#include "ringcraft/engine/row_list.hpp"
#include "ringcraft/problem/problem.hpp"

namespace ringcraft {

class RankTrace;

/// One shard's keys and values, [batch, kv_heads, rows, head_dim] each. In backward the same struct carries
/// their gradients dk and dv.
struct KvBlock {
  Buffer k;  ///< keys, or dk
  Buffer v;  ///< values, or dv

  /// Fits both to a shard of this many rows.
  void set_rows(Index rows) {
    k.set_rows(rows);
    v.set_rows(rows);
  }
  static auto fields(auto& self) { return std::tie(self.k, self.v); }
};

/// The running state of online softmax for a shard: unnormalised output O [batch, heads, rows, head_dim], row
/// maximum m and row sum l [batch, heads, rows, 1]. Its identity is (0, -inf, 0).
struct RowState {
  Buffer out;  ///< O, unnormalised
  Buffer max;  ///< m
  Buffer sum;  ///< l

  static auto fields(auto& self) { return std::tie(self.out, self.max, self.sum); }
};

/// The result of attention for a shard: out [batch, heads, rows, head_dim] and lse [batch, heads, rows, 1],
/// the natural logarithm of the softmax denominator. A row without a visible key has out = 0 and lse = -inf.
struct Output {
  Buffer out;  ///< [batch, heads, rows, head_dim]
  Buffer lse;  ///< [batch, heads, rows, 1]

  static auto fields(auto& self) { return std::tie(self.out, self.lse); }
};

/// Results of the backward pass: the gradients of sum(out * dout).
struct Gradients {
  Buffer dq;    ///< [batch, heads, rows, head_dim]
  KvBlock dkv;  ///< dk and dv [batch, kv_heads, rows, head_dim], summed over the query heads of each group

  static auto fields(auto& self) { return std::tie(self.dq, self.dkv); }
};

/// Inputs of the backward pass of one shard, all of them unchanged: q, out, lse, dout and delta = rowsum(dout
/// * out).
struct Saved {
  const Buffer& q;      ///< [batch, heads, rows, head_dim]
  const Buffer& out;    ///< as q
  const Buffer& lse;    ///< [batch, heads, rows, 1]
  const Buffer& dout;   ///< as q
  const Buffer& delta;  ///< as lse
};

/// The purpose of a buffer; an engine chooses the number type from it.
enum class Role : std::uint8_t {
  kElement,      ///< q, k, v and travelling KV data
  kAccumulator,  ///< state and gradients
};

/// The requested half of training.
enum class Pass : std::uint8_t { kForward, kBackward };

/// Matrix products in which a visible pair takes part: scores and output forward; scores, dout v and the
/// three gradients backward.
inline constexpr Index products_per_pair(Pass pass) { return pass == Pass::kForward ? 2 : 5; }

/// Rows of one tensor that go to rows of another one of the same width and type, in every batch entry alike.
/// How methods move heads from rank to rank.
struct RowCopy {
  Index from_head;           ///< the first head that is read,
  Index to_head;             ///< and where it goes
  Index heads;               ///< so many neighbours
  const RowList& from_rows;  ///< of these rows,
  const RowList& to_rows;    ///< and where they go, one for each
};

/// Work that an engine has done so far; the base of work balance and of virtual time.
struct Work {
  Index pairs = 0;   ///< visible (query, key) pairs over all blocks, counted once per block, not per head
  Index blocks = 0;  ///< blocks with at least one visible pair
};

/// Computes blocks of attention. Calls of one engine come from one thread.
class BlockEngine {
 public:
  virtual ~BlockEngine() = default;

  /// Where this engine's buffers live; it must be the communicator's space.
  virtual Space space() const = 0;
  /// The number type of this role.
  virtual DType dtype(Role role) const = 0;
  /// Throws Error if this engine cannot do this pass for this problem (head_dim too large, say). Decided from
  /// the problem alone, so that every rank throws before the first message.
  virtual void refuse(const Problem& problem, Pass pass) const = 0;
  /// A new buffer of this role's type in this engine's space.
  virtual Buffer allocate(Extents extents, Role role) = 0;

  /// The state that has seen no key: (0, -inf, 0) for every row of q.
  RowState begin(const Buffer& q);
  /// Adds this KV block to the state: state = merge(state, partial of the block). A block without a visible
  /// pair costs nothing.
  void forward(RowState& state, const Buffer& q, const KvBlock& block, const BlockRanges& ranges,
               double softmax_scale);
  /// The same with ranges at hand.
  void forward(RowState& state, const Buffer& q, const KvBlock& block, const KeyRanges& ranges,
               double softmax_scale) {
    forward(state, q, block, BlockRanges(ranges), softmax_scale);
  }
  /// Ends the forward pass in place: O / l becomes out, m + log l becomes lse.
  virtual Output finish(RowState&& state) = 0;

  /// delta = rowsum(dout * out) [batch, heads, rows, 1].
  virtual Buffer delta(const Buffer& out, const Buffer& dout) = 0;
  /// The gradients of one block: dq += its share, part = the block's dk and dv (all zero without a visible
  /// pair).
  void backward(Buffer& dq, KvBlock& part, const Saved& saved, const KvBlock& block,
                const BlockRanges& ranges, double softmax_scale);
  /// The same with ranges at hand.
  void backward(Buffer& dq, KvBlock& part, const Saved& saved, const KvBlock& block, const KeyRanges& ranges,
                double softmax_scale) {
    backward(dq, part, saved, block, BlockRanges(ranges), softmax_scale);
  }
  /// into += from.
  void add(KvBlock& into, const KvBlock& from);
  /// Copies rows from one buffer to another; all else in `to` stays. Throws Error unless both have the same
  /// batch, width and type, and the heads.
  void copy(Buffer& to, const Buffer& from, const RowCopy& rows);
  /// Sets every element to zero.
  void set_zero(Buffer& buffer);

  /// Adds one block to the work: those of forward and backward are, this is for code that computes one
  /// without the engine. Returns whether it has a visible pair.
  bool count(const BlockRanges& ranges);
  /// The same with ranges at hand.
  bool count(const KeyRanges& ranges) { return count(BlockRanges(ranges)); }
  /// The work done so far.
  const Work& work() const { return work_; }
  /// Records every begin, forward, backward, add, copy and set_zero from here on (comm/trace.hpp); null: no
  /// longer. The trace must live that long.
  void record(RankTrace* trace) { trace_ = trace; }
  /// Adds the work of every forward and backward from here on to `done` once it has returned, for a bar that
  /// shows progress: visible pairs times products_per_pair (null: no longer). It must live that long.
  void count_in(std::atomic<Index>* done) { done_ = done; }

 private:
  virtual RowState do_begin(const Buffer& q) = 0;
  virtual void do_set_zero(Buffer& buffer) = 0;
  virtual void do_forward(RowState& state, const Buffer& q, const KvBlock& block, const BlockRanges& ranges,
                          double softmax_scale) = 0;
  virtual void do_backward(Buffer& dq, KvBlock& part, const Saved& saved, const KvBlock& block,
                           const BlockRanges& ranges, double softmax_scale) = 0;
  virtual void do_add(KvBlock& into, const KvBlock& from) = 0;
  /// On the host; an engine of another memory space overrides it. The arguments fit.
  virtual void do_copy(Buffer& to, const Buffer& from, const RowCopy& rows);

  void done(const BlockRanges& ranges, Pass pass);

  Work work_;
  RankTrace* trace_ = nullptr;
  std::atomic<Index>* done_ = nullptr;
};

}  // namespace ringcraft
