#pragma once
/// @file
/// The two index maps of an all-to-all between rows and heads (Ulysses). Neighbours, `degree` of them, first
/// hold all heads of their own rows; afterwards each holds some heads of the rows of all.

#include <tuple>
#include <vector>

#include "ringcraft/problem/problem.hpp"

namespace ringcraft {

/// Neighbouring heads: `count` of them from `first` on.
struct HeadRange {
  Index first = 0;  ///< the first head
  Index count = 0;  ///< so many

  static auto fields(auto& self) { return std::tie(self.first, self.count); }
  friend bool operator==(const HeadRange&, const HeadRange&) = default;
};

/// The heads that one rank of the neighbours computes.
struct DealtHeads {
  HeadRange query;  ///< of q, out, lse and their gradients
  HeadRange kv;     ///< of k and v: those that these query heads share

  static auto fields(auto& self) { return std::tie(self.query, self.kv); }
  friend bool operator==(const DealtHeads&, const DealtHeads&) = default;
};

/// The heads of neighbour `member`, 0 to degree - 1: the query heads are cut into `degree` runs of the same
/// length, and the KV heads follow them. With fewer KV heads than neighbours several of them get the same
/// one (it is replicated). `degree` divides heads, and either divides kv_heads or is a multiple of them.
/// (Lesson 502.)
DealtHeads dealt_heads(const Shape& shape, int degree, int member);

/// [rows(rank)]: where each row of `rank` stands in the shard that its neighbours hold together, in the order
/// of the sequence. The neighbours of rank r are the ranks of the same r / degree. (Lesson 502.)
std::vector<Index> joined_rows(const Sharding& sharding, int degree, int rank);

}  // namespace ringcraft
