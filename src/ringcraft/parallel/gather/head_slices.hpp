#pragma once
/// @file
/// Slices of neighbouring heads of a rank's tensors. A single slice is the tensor itself and costs nothing.

#include <utility>

#include "ringcraft/engine/block_engine.hpp"

namespace ringcraft {

/// The side of a tensor: q, out, lse, dout and dq have query heads; k, v, dk and dv have KV heads.
enum class Side : std::uint8_t { kQuery, kKv };

/// Cuts the heads of a problem into slices of as many KV heads, with the query heads that share them.
class HeadSlices {
 public:
  /// Slices of `kv_heads` KV heads, which divides their number; 0: one slice.
  HeadSlices(const Shape& shape, int kv_heads)
      : width_(kv_heads == 0 ? shape.kv_heads : kv_heads),
        count_(static_cast<int>(shape.kv_heads / width_)),
        group_(shape.group()) {}

  /// Number of slices.
  int count() const { return count_; }
  /// Heads of a slice on this side.
  Index heads(Side side) const { return side == Side::kKv ? width_ : width_ * group_; }
  /// Extents of a slice of a tensor of these extents.
  Extents of(Extents e, Side side) const {
    e.heads = heads(side);
    return e;
  }

  /// The slice of a tensor: the tensor itself if it is the only one, else a copy in `place`.
  const Buffer& taken(BlockEngine& engine, const Buffer& whole, Side side, int slice, Role role,
                      Buffer& place) const {
    if (count_ == 1) return whole;
    place = engine.allocate(of(whole.extents(), side), role);
    const RowList rows(whole.extents().rows);
    engine.copy(place, whole, {slice * heads(side), 0, heads(side), rows, rows});
    return place;
  }
  /// Puts a slice into its place in `whole`; the only slice becomes it.
  void put(BlockEngine& engine, Buffer& whole, Buffer slice_of_it, Side side, int slice) const {
    if (count_ == 1) {
      whole = std::move(slice_of_it);
      return;
    }
    const RowList rows(whole.extents().rows);
    engine.copy(whole, slice_of_it, {0, slice * heads(side), heads(side), rows, rows});
  }

 private:
  Index width_;
  int count_;
  Index group_;
};

}  // namespace ringcraft
