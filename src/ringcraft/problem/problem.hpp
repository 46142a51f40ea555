#pragma once
/// @file
/// Problem: shapes, mask and layout of an attention problem, and how its tokens are dealt to ranks. Every
/// rank builds the same Problem from what it knows, so questions such as "how many hops?" (reach.hpp) need no
/// message.

#include <optional>
#include <string>
#include <tuple>

#include "ringcraft/problem/block_ranges.hpp"
#include "ringcraft/problem/layout.hpp"
#include "ringcraft/problem/mask.hpp"

namespace ringcraft {

/// Extents of self-attention over the whole sequence. q, out, dq, dout are [batch, heads, seqlen, head_dim];
/// k, v, dk, dv are [batch, kv_heads, seqlen, head_dim]; kv_heads divides heads, and the query heads [g *
/// group, (g + 1) * group) share KV head g (grouped-query attention).
struct Shape {
  Index batch = 1;      ///< independent sequences side by side
  Index heads = 1;      ///< query heads
  Index kv_heads = 1;   ///< heads of k and v
  Position seqlen = 0;  ///< tokens of the whole sequence
  Index head_dim = 0;   ///< numbers of one token in one head

  /// Query heads per KV head.
  Index group() const { return heads / kv_heads; }

  static auto fields(auto& self) {
    return std::tie(self.batch, self.heads, self.kv_heads, self.seqlen, self.head_dim);
  }
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// One attention problem on world_size ranks. Made by make_problem, which checks it.
struct Problem {
  Shape shape;                          ///< extents of the whole tensors
  Mask mask;                            ///< which keys a query sees
  Layout layout = Layout::kContiguous;  ///< which rank owns which token
  int world_size = 1;                   ///< number of ranks
  double softmax_scale = 1.0;           ///< factor of the dot products
  bool per_sequence = false;            ///< deals each packed sequence by itself instead of all as one
  int joined = 1;                       ///< shards of neighbours that a rank holds together (layout.hpp)

  /// The layout: which rank owns which token.
  Sharding sharding() const {
    return {layout, shape.seqlen, world_size, per_sequence ? mask.cu_seqlens : std::vector<Position>{},
            joined};
  }
  /// Extents of a query-side tensor of this rank (q, out, dq, dout); for the KV side use kv_extents.
  Extents q_extents(int rank) const {
    return {shape.batch, shape.heads, sharding().rows(rank), shape.head_dim};
  }
  /// Extents of a KV-side tensor of this rank (k, v, dk, dv).
  Extents kv_extents(int rank) const {
    return {shape.batch, shape.kv_heads, sharding().rows(rank), shape.head_dim};
  }
  /// Extents of one number per query row (lse, delta, max, sum).
  Extents row_extents(int rank) const { return {shape.batch, shape.heads, sharding().rows(rank), 1}; }

  static auto fields(auto& self) {
    return std::tie(self.shape, self.mask, self.layout, self.world_size, self.softmax_scale,
                    self.per_sequence, self.joined);
  }
};

/// Builds and checks a Problem. Without a softmax_scale it is 1 / sqrt(head_dim).
/// Throws Error for extents below 1, heads that kv_heads does not divide, negative mask limits, cu_seqlens
/// that do not rise from 0 to seqlen, a world size below 1, a scale that is not finite, and sizes beyond the
/// address space. (per_sequence is set afterwards, and checked by validate.)
Problem make_problem(Shape shape, Mask mask, Layout layout, int world_size,
                     std::optional<double> softmax_scale = {});

/// Checks a Problem that was put together by hand; make_problem calls it. Throws Error as described there.
void validate(const Problem& problem);

/// The keys of the KV block of `source` that the queries of `rank` see. The problem must outlive the result,
/// unless it is turned into KeyRanges.
BlockRanges key_ranges(const Problem& problem, int rank, int source);

}  // namespace ringcraft
