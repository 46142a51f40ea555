#pragma once
/// @file
/// Code shared by the forward and the backward half of TwistedRing; internal to the harness.

#include "ringcraft/core/matrix.hpp"
#include "verify/diagnose/twisted/twisted_ring.hpp"

namespace ringcraft::verify {

/// The blocks in hand at one step.
struct TwistedRing::View {
  int keys, values, label;  // owners of k and of v, and the block for which the mask takes them
  bool crossed;             // k and v are exchanged
};

/// A query row and its place.
struct TwistedRing::Query {
  Index batch, head, row;
  Position position;
  int rank;     // the shard that holds it
  Index local;  // its row there
};

/// The score with which a masked key counts.
double masked_score(const Twist& twist, double score);

/// a . b, summed in any order.
double dot(std::span<const double> a, std::span<const double> b);

/// to += x v.
inline void add(std::vector<double>& to, double x, std::span<const double> v) {
  for (std::size_t c = 0; c < to.size(); ++c) to[c] += x * v[c];
}

/// The rows of a tensor, in the order of its memory.
inline std::vector<RowPlace> row_places(const Extents& e) {
  std::vector<RowPlace> places;
  for (Index batch = 0; batch < e.batch; ++batch)
    for (Index head = 0; head < e.heads; ++head)
      for (Index row = 0; row < e.rows; ++row) places.push_back({batch, head, row});
  return places;
}

/// A row of a tensor.
inline std::span<const double> row_of(const Buffer& buffer, Index batch, Index head, Index row) {
  return head_of<double>(buffer, batch, head).row(row);
}

}  // namespace ringcraft::verify
