#pragma once
/// @file
/// Memory for the partial result of some rows of one head over one KV block, before it is merged into the
/// state.

#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/core/scratch.hpp"
#include "ringcraft/engine/block_engine.hpp"

namespace ringcraft {

/// One partial result at a time.
template <class T>
class PartialMemory {
 public:
  /// The identity for these extents; the one before is overwritten.
  Partial<T> identity(Index rows, Index head_dim) {
    out_.resize(static_cast<std::size_t>(rows * head_dim));
    max_.resize(static_cast<std::size_t>(rows));
    sum_.resize(static_cast<std::size_t>(rows));
    const Partial<T> partial{{out_, rows, head_dim}, max_, sum_};
    set_identity(partial);
    return partial;
  }

 private:
  Scratch<T> out_, max_, sum_;
};

/// One head of the state as the view that numerics work on.
template <class T>
Partial<T> partial_of(RowState& state, Index batch, Index head) {
  return {head_of<T>(state.out, batch, head), head_of<T>(state.max, batch, head).data,
          head_of<T>(state.sum, batch, head).data};
}

}  // namespace ringcraft
