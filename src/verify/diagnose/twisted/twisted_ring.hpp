#pragma once
/// @file
/// Computes the result of a wrong implementation: sharded attention in double, row by row, with one Twist. A
/// diagnosis compares these numbers with a claim. Only requested rows are computed, each in O(seqlen), so
/// that a hundred mistakes can be tried on a long sequence.

#include <map>
#include <vector>

#include "verify/diagnose/twisted/arrangement.hpp"
#include "verify/diagnose/twisted/scan.hpp"
#include "verify/diagnose/twisted/twist.hpp"
#include "verify/diagnose/twisted/twisted_merge.hpp"
#include "verify/oracle/oracle.hpp"

namespace ringcraft::verify {

/// One row of a tensor. For k and v `head` is a key head.
struct RowPlace {
  Index batch = 0, head = 0, row = 0;

  friend bool operator==(const RowPlace&, const RowPlace&) = default;
};

/// Rows of dk and dv.
struct KvRows {
  std::vector<double> dk, dv;  ///< [head_dim]
};

/// Attention of one problem in one arrangement. The inputs are float64 and must outlive it; so must `saved`,
/// the out and lse that backward starts from (those of the claim, or right ones).
class TwistedRing {
 public:
  /// `exponent_range` is that of exp in the claim's number type.
  TwistedRing(const BlockProblem& problem, const Inputs& inputs, const Answer& saved, Arrangement arrangement,
              ExponentRange exponent_range = {});

  const Arrangement& arrangement() const { return arrangement_; }
  /// out and lse of a row; only after the first `steps` steps, if that is not negative.
  Merged forward(const Twist& twist, const RowPlace& row, int steps = -1) const;
  /// A row of dq.
  std::vector<double> dq(const Twist& twist, const RowPlace& row) const;
  /// A row of dk and dv.
  KvRows dkv(const Twist& twist, const RowPlace& row) const;
  /// The partial results of the blocks that a row meets, in order, each with its owner.
  std::vector<BlockPartial> partials(const Twist& twist, const RowPlace& row) const;
  /// Whether some row of this rank sees a key of this block.
  bool has_pairs(int rank, int block) const;
  /// Whether this rank computes with this block.
  bool takes(const Twist& twist, int rank, int block) const;
  /// Whether the mistake is possible in this arrangement: mistakes of ranks need ranks.
  bool can_be(const Twist& twist) const;
  /// Whether the rows of this twist need the softmax of single blocks in backward, which costs more.
  static bool slow(const Twist& twist);

 private:
  struct View;   // the blocks in hand at one step
  struct Query;  // a query row with its index in its shard

  struct BlockSums {  // the softmax of one row over the visible keys of one block
    double max, lse;  // -inf if no key is visible
    double delta;     // dout . out of that block, divided by its own sum
  };
  struct PairTerms {
    double p = 0, ds = 0;  // weight; P (dP - delta)
  };

  const std::vector<std::vector<int>>& held(WalkTwist walk) const;
  bool after_empty(int rank, int block) const;
  View view(const Twist& twist, int rank, int step) const;
  int steps(const Twist& twist) const;
  Query query(Index batch, Index head, Index row) const;
  RowPlace source(RowTwist rows, const RowPlace& row, const Extents& extents) const;
  Mask mask_of(const Twist& twist) const;
  bool sees(const Twist& twist, const Mask& mask, const Query& query, int label, Index b) const;
  Index kv_head(const Twist& twist, Index head) const;
  Index kv_batch(const Twist& twist, Index batch) const;
  double scale(const Twist& twist) const;
  Index dealt(DealTwist deal, int block, Index row) const;
  Index key_row(const Twist& twist, int block, Index row) const {
    return dealt(twist.only_k != DealTwist::kRight ? twist.only_k : twist.keys, block, row);
  }
  Index value_row(const Twist& twist, int block, Index row) const {
    return dealt(twist.only_v != DealTwist::kRight ? twist.only_v : twist.keys, block, row);
  }
  BlockPartial partial(const Twist& twist, const Mask& mask, const Query& query, const View& view,
                       bool last) const;
  void add_tail(const Twist& twist, const Mask& mask, const Query& query, BlockPartial& partial) const;
  Index first_dropped(const Twist& twist) const;
  bool is_lost(TailTwist tail, int rank, int block, Index key) const;
  bool is_visited(const Mask& mask, Index row, int block) const;
  std::vector<std::vector<ScanKey>> scan_parts(const Twist& twist, const RowPlace& row) const;
  Merged scan(const Twist& twist, const RowPlace& row) const;
  const BlockSums& sums(const Query& query, int block) const;
  double maximum(const Query& query) const;
  double weight_shift(const Twist& twist, const Query& query, int block) const;
  struct Early {  // the running state after some steps
    double delta, lse;
  };
  const Early& early(const Query& query, int steps) const;
  int steps_before_last(const Query& query) const;
  int block_at(const Query& query, int step) const;
  double delta(const Twist& twist, const Query& query, int block) const;
  PairTerms terms(const Twist& twist, const Query& query, int block, Index key, double dout_v,
                  bool seen = true) const;
  Index dout_row(const Twist& twist, const Query& query) const;
  std::vector<std::pair<int, int>> journey(const Twist& twist, int owner) const;
  void add_part(const Twist& twist, const Mask& mask, const RowPlace& row, int block, int rank,
                KvRows& to) const;
  void add_turned(const Twist& twist, const Mask& mask, const RowPlace& row, KvRows& to) const;

  const BlockProblem problem_;
  const Inputs& in_;
  const Answer& saved_;
  Arrangement arrangement_;
  ExponentRange range_;
  mutable std::map<std::pair<Index, int>, BlockSums> sums_;           // (query row of all, block)
  mutable std::map<std::pair<Index, int>, Early> early_;              // (query row of all, steps)
  mutable std::map<std::pair<int, int>, bool> pairs_;                 // has_pairs
  mutable std::map<WalkTwist, std::vector<std::vector<int>>> held_;   // of each step and rank
  mutable std::map<Index, std::vector<std::vector<ScanKey>>> scans_;  // query row of all: its keys
  mutable std::vector<std::vector<ScanKey>> other_scan_;              // the last one with other keys
};

}  // namespace ringcraft::verify
