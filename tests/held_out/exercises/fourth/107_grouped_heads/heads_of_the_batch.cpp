// Mistake: Two mistakes. grouped_forward reads the values of batch entry 0 for every batch entry instead of those of the entry itself (keys are right); and grouped_backward passes the delta of the head with the number of the KV head, h / group, instead of the delta of query head h.
// Lesson 107: from one head to whole tensors with grouped heads (see grouped.hpp). The functions of one head
// add to what is there; so a KV head's gradients are summed over its group by calling them again and again.
#include "ringcraft/attention/grouped.hpp"

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/matrix.hpp"

namespace ringcraft {

template <class T>
void grouped_forward(const Buffer& q, const KvBlock& kv, const KeyRanges& ranges, T softmax_scale,
                     RowState& state, TileSize tile) {
  const Index heads = q.extents().heads, group = heads / kv.k.extents().heads;
  const Index all = q.extents().batch * heads;
  for (Index n = 0; n < all; ++n) {
    const Index b = n / heads, h = n % heads;
    const Matrix<const T> keys = head_of<T>(kv.k, b, h / group);
    const Matrix<const T> values = head_of<T>(kv.v, 0, h / group);
    blockwise_forward<T>(
        head_of<T>(q, b, h), keys, values, ranges, softmax_scale,
        {head_of<T>(state.out, b, h), head_of<T>(state.max, b, h).data, head_of<T>(state.sum, b, h).data},
        tile);
  }
}

template <class T>
void grouped_backward(const Buffer& q, const KvBlock& kv, const Buffer& dout, const Buffer& lse,
                      const Buffer& delta, const KeyRanges& ranges, T softmax_scale, Buffer& dq, KvBlock& dkv,
                      TileSize tile) {
  const Index heads = q.extents().heads, group = heads / kv.k.extents().heads;
  const Index all = q.extents().batch * heads;
  for (Index n = 0; n < all; ++n) {
    const Index b = n / heads, h = n % heads, g = h / group;
    const std::span<const T> row_lse = head_of<T>(lse, b, h).data;
    const std::span<const T> row_delta = head_of<T>(delta, b, g).data;
    blockwise_backward<T>(head_of<T>(q, b, h), head_of<T>(kv.k, b, g), head_of<T>(kv.v, b, g),
                          head_of<T>(dout, b, h), row_lse, row_delta, ranges, softmax_scale,
                          head_of<T>(dq, b, h), head_of<T>(dkv.k, b, g), head_of<T>(dkv.v, b, g), tile);
  }
}

template void grouped_forward(const Buffer&, const KvBlock&, const KeyRanges&, float, RowState&, TileSize);
template void grouped_forward(const Buffer&, const KvBlock&, const KeyRanges&, double, RowState&, TileSize);
template void grouped_backward(const Buffer&, const KvBlock&, const Buffer&, const Buffer&, const Buffer&,
                               const KeyRanges&, float, Buffer&, KvBlock&, TileSize);
template void grouped_backward(const Buffer&, const KvBlock&, const Buffer&, const Buffer&, const Buffer&,
                               const KeyRanges&, double, Buffer&, KvBlock&, TileSize);

}  // namespace ringcraft
