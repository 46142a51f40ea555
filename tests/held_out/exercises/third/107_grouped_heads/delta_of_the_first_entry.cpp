// Mistake: grouped_backward reads delta (not lse) of batch entry 0 for every batch entry, head_of(delta, 0, h) instead of head_of(delta, b, h): dq and dk are wrong in all batch entries but the first, dv and grouped_forward are right.
// Lesson 107: from one head to whole tensors with grouped heads (see grouped.hpp). The functions of one head
// add to what is there; so a KV head's gradients are summed over its group by calling them again and again.
#include "ringcraft/attention/grouped.hpp"

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/matrix.hpp"

namespace ringcraft {

template <class T>
void grouped_forward(const Buffer& q, const KvBlock& kv, const KeyRanges& ranges, T softmax_scale,
                     RowState& state, TileSize tile) {
  const Extents& e = q.extents();
  const Index kv_heads = kv.k.extents().heads, group = e.heads / kv_heads;
  for (Index b = 0; b < e.batch; ++b)
    for (Index g = 0; g < kv_heads; ++g) {
      const Matrix<const T> keys = head_of<T>(kv.k, b, g), values = head_of<T>(kv.v, b, g);
      for (Index h = g * group; h < (g + 1) * group; ++h) {
        const Partial<T> rows{head_of<T>(state.out, b, h), head_of<T>(state.max, b, h).data,
                              head_of<T>(state.sum, b, h).data};
        blockwise_forward<T>(head_of<T>(q, b, h), keys, values, ranges, softmax_scale, rows, tile);
      }
    }
}

template <class T>
void grouped_backward(const Buffer& q, const KvBlock& kv, const Buffer& dout, const Buffer& lse,
                      const Buffer& delta, const KeyRanges& ranges, T softmax_scale, Buffer& dq, KvBlock& dkv,
                      TileSize tile) {
  const Index batch = q.extents().batch, heads = q.extents().heads, kv_heads = kv.k.extents().heads;
  for (Index h = 0; h < heads; ++h) {
    const Index shared = h * kv_heads / heads;
    const std::span<const T> row_delta = head_of<T>(delta, 0, h).data;
    for (Index b = 0; b < batch; ++b) {
      const std::span<const T> row_lse = head_of<T>(lse, b, h).data;
      blockwise_backward<T>(head_of<T>(q, b, h), head_of<T>(kv.k, b, shared), head_of<T>(kv.v, b, shared),
                            head_of<T>(dout, b, h), row_lse, row_delta, ranges, softmax_scale,
                            head_of<T>(dq, b, h), head_of<T>(dkv.k, b, shared),
                            head_of<T>(dkv.v, b, shared), tile);
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
