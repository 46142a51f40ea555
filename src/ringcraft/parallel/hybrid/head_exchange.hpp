#pragma once
/// @file
/// HeadExchange: the all-to-all of Ulysses. It moves tensors between two ways of dealing them to neighbours:
/// all heads of the own rows, or some heads of the rows of all.

#include <vector>

#include "ringcraft/comm/communicator.hpp"
#include "ringcraft/engine/block_engine.hpp"
#include "ringcraft/parallel/hybrid/dealt_heads.hpp"

namespace ringcraft {

/// One rank's end of it. In phase t of `degree` - 1 it sends to the neighbour t places on and receives from
/// the one t places back, so that no link is shared and two parcels are held at the most.
class HeadExchange {
 public:
  /// `row` are the neighbours (a Group), `rank` is this rank's number in the problem. All arguments outlive
  /// it.
  HeadExchange(Communicator& row, BlockEngine& engine, const Problem& problem, int rank);

  /// [batch, heads, own rows, width] to [batch, heads / degree, rows of all, width]: q, out, lse, dout.
  Buffer queries_by_heads(const Buffer& by_rows, Role role);
  /// And back, out and lse together (lse may be empty).
  Output queries_by_rows(const Output& by_heads);
  /// The same for keys and values together.
  KvBlock kv_by_heads(const KvBlock& by_rows);
  /// dk and dv back. The shares of neighbours that computed with the same KV head are added, in the order of
  /// the phases.
  KvBlock gradients_by_rows(const KvBlock& by_heads);

 private:
  // Rows of a neighbour, and where they stand in the shard that all hold together.
  struct Rows {
    RowList apart, together;
  };
  // A tensor, or several of the same heads and rows, that move together.
  using Tensors = std::vector<const Buffer*>;
  using Run = HeadRange DealtHeads::*;

  int world() const { return row_.world_size(); }
  std::vector<Buffer> to_heads(const Tensors& by_rows, Run run, Role role);
  template <class Unpack>
  void to_rows(const Tensors& by_heads, Run run, Role role, Unpack unpack);

  Communicator& row_;
  BlockEngine& engine_;
  const Problem& problem_;
  std::vector<DealtHeads> heads_;  // by neighbour
  std::vector<Rows> rows_;         // by neighbour
  Index all_rows_ = 0;
};

}  // namespace ringcraft
