// Mistake: Backward reads lse of query head h at the number of its KV head, h / group, instead of at h.
// Also: Forward computes only the first kv_heads query heads of a batch entry instead of all of its query heads.
// Lesson 107: from one head to whole tensors with grouped heads (see grouped.hpp). The functions of one head
// add to what is there; so a KV head's gradients are summed over its group by calling them again and again.
#include "ringcraft/attention/grouped.hpp"

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/matrix.hpp"

namespace ringcraft {
namespace {

Index kv_head_of(const Buffer& q, const KvBlock& kv, Index h) {
  return h / (q.extents().heads / kv.k.extents().heads);
}

}  // namespace

template <class T>
void grouped_forward(const Buffer& q, const KvBlock& kv, const KeyRanges& ranges, T softmax_scale,
                     RowState& state, TileSize tile) {
  for (Index b = 0; b < q.extents().batch; ++b) {
    for (Index h = 0; h < kv.k.extents().heads; ++h) {
      const Index g = kv_head_of(q, kv, h);
      blockwise_forward<T>(
          head_of<T>(q, b, h), head_of<T>(kv.k, b, g), head_of<T>(kv.v, b, g), ranges, softmax_scale,
          {head_of<T>(state.out, b, h), head_of<T>(state.max, b, h).data, head_of<T>(state.sum, b, h).data},
          tile);
    }
  }
}

template <class T>
void grouped_backward(const Buffer& q, const KvBlock& kv, const Buffer& dout, const Buffer& lse,
                      const Buffer& delta, const KeyRanges& ranges, T softmax_scale, Buffer& dq, KvBlock& dkv,
                      TileSize tile) {
  for (Index b = 0; b < q.extents().batch; ++b) {
    for (Index h = 0; h < q.extents().heads; ++h) {
      const Index g = kv_head_of(q, kv, h);
      const std::span<const T> row_lse = head_of<T>(lse, b, g).data;
      const std::span<const T> row_delta_ = head_of<T>(delta, b, h).data;
      blockwise_backward<T>(head_of<T>(q, b, h), head_of<T>(kv.k, b, g), head_of<T>(kv.v, b, g),
                            head_of<T>(dout, b, h), row_lse, row_delta_, ranges, softmax_scale,
                            head_of<T>(dq, b, h), head_of<T>(dkv.k, b, g), head_of<T>(dkv.v, b, g), tile);
    }
  }
}

template void grouped_forward(const Buffer&, const KvBlock&, const KeyRanges&, float, RowState&, TileSize);
template void grouped_forward(const Buffer&, const KvBlock&, const KeyRanges&, double, RowState&, TileSize);
template void grouped_backward(const Buffer&, const KvBlock&, const Buffer&, const Buffer&, const Buffer&,
                               const KeyRanges&, float, Buffer&, KvBlock&, TileSize);
template void grouped_backward(const Buffer&, const KvBlock&, const Buffer&, const Buffer&, const Buffer&,
                               const KeyRanges&, double, Buffer&, KvBlock&, TileSize);

}  // namespace ringcraft
