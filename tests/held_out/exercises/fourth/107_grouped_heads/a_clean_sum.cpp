// Mistake: grouped_backward sets dk and dv of each KV head to zero before it adds the shares of the group, instead of adding to what they held; dq is added to, as it should, and forward is right.
// Lesson 107: from one head to whole tensors with grouped heads (see grouped.hpp). The functions of one head
// add to what is there; so a KV head's gradients are summed over its group by calling them again and again.
#include "ringcraft/attention/grouped.hpp"

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/matrix.hpp"

namespace ringcraft {

template <class T>
void grouped_forward(const Buffer& q, const KvBlock& kv, const KeyRanges& ranges, T softmax_scale,
                     RowState& state, TileSize tile) {
  const Extents& shape = q.extents();
  const Index kv_heads = kv.k.extents().heads, group = shape.heads / kv_heads;
  for (Index entry = 0; entry < shape.batch; ++entry)
    for (Index shared = 0; shared < kv_heads; ++shared) {
      const Matrix<const T> keys = head_of<T>(kv.k, entry, shared), values = head_of<T>(kv.v, entry, shared);
      for (Index i = 0; i < group; ++i) {
        const Index head = shared * group + i;
        const Partial<T> partial{head_of<T>(state.out, entry, head), head_of<T>(state.max, entry, head).data,
                                 head_of<T>(state.sum, entry, head).data};
        blockwise_forward<T>(head_of<T>(q, entry, head), keys, values, ranges, softmax_scale, partial, tile);
      }
    }
}

template <class T>
void grouped_backward(const Buffer& q, const KvBlock& kv, const Buffer& dout, const Buffer& lse,
                      const Buffer& delta, const KeyRanges& ranges, T softmax_scale, Buffer& dq, KvBlock& dkv,
                      TileSize tile) {
  const Index kv_heads = kv.k.extents().heads, group = q.extents().heads / kv_heads;
  for (Index b = 0; b < q.extents().batch; ++b)
    for (Index g = 0; g < kv_heads; ++g) {
      const Matrix<T> dk = head_of<T>(dkv.k, b, g), dv = head_of<T>(dkv.v, b, g);
      for (T& x : dk.data) x = 0;
      for (T& x : dv.data) x = 0;
      for (Index h = g * group; h < (g + 1) * group; ++h)
        blockwise_backward<T>(head_of<T>(q, b, h), head_of<T>(kv.k, b, g), head_of<T>(kv.v, b, g),
                              head_of<T>(dout, b, h), head_of<T>(lse, b, h).data,
                              head_of<T>(delta, b, h).data, ranges, softmax_scale, head_of<T>(dq, b, h), dk,
                              dv, tile);
    }
}

template void grouped_forward(const Buffer&, const KvBlock&, const KeyRanges&, float, RowState&, TileSize);
template void grouped_forward(const Buffer&, const KvBlock&, const KeyRanges&, double, RowState&, TileSize);
template void grouped_backward(const Buffer&, const KvBlock&, const Buffer&, const Buffer&, const Buffer&,
                               const KeyRanges&, float, Buffer&, KvBlock&, TileSize);
template void grouped_backward(const Buffer&, const KvBlock&, const Buffer&, const Buffer&, const Buffer&,
                               const KeyRanges&, double, Buffer&, KvBlock&, TileSize);

}  // namespace ringcraft
