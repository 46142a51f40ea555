// Mistake: Forward keeps m and l of every batch entry in those of batch entry 0; out is the right one.
// Also: Backward reads dout of the first query head of the group for every head of the group.
// Lesson 107: from one head to whole tensors with grouped heads (see grouped.hpp). The functions of one head
// add to what is there; so a KV head's gradients are summed over its group by calling them again and again.
#include "ringcraft/attention/grouped.hpp"

#include "ringcraft/core/matrix.hpp"

namespace ringcraft {

template <class T>
void grouped_forward(const Buffer& q, const KvBlock& kv, const KeyRanges& ranges, T softmax_scale,
                     RowState& state, TileSize tile) {
  const Extents& e = q.extents();
  const Index kv_heads = kv.k.extents().heads, group = e.heads / kv_heads;
  for (Index b = 0; b < e.batch; ++b) {
    for (Index g = 0; g < kv_heads; ++g) {
      const Matrix<const T> keys = head_of<T>(kv.k, b, g), values = head_of<T>(kv.v, b, g);
      for (Index h = g * group; h < (g + 1) * group; ++h) {
        Partial<T> acc;
        acc.out = head_of<T>(state.out, b, h);
        acc.max = head_of<T>(state.max, 0, h).data;
        acc.sum = head_of<T>(state.sum, 0, h).data;
        blockwise_forward<T>(head_of<T>(q, b, h), keys, values, ranges, softmax_scale, acc, tile);
      }
    }
  }
}

template <class T>
void grouped_backward(const Buffer& q, const KvBlock& kv, const Buffer& dout, const Buffer& lse,
                      const Buffer& delta, const KeyRanges& ranges, T softmax_scale, Buffer& dq, KvBlock& dkv,
                      TileSize tile) {
  const Extents& e = q.extents();
  const Index kv_heads = kv.k.extents().heads, group = e.heads / kv_heads;
  for (Index b = 0; b < e.batch; ++b) {
    for (Index g = 0; g < kv_heads; ++g) {
      const Matrix<const T> keys = head_of<T>(kv.k, b, g), values = head_of<T>(kv.v, b, g);
      const Matrix<T> dk = head_of<T>(dkv.k, b, g), dv = head_of<T>(dkv.v, b, g);
      const Index first = g * group;
      for (Index member = 0; member < group; ++member) {
        const Index h = first + member;
        blockwise_backward<T>(head_of<T>(q, b, h), keys, values, head_of<T>(dout, b, first),
                              head_of<T>(lse, b, h).data, head_of<T>(delta, b, h).data, ranges, softmax_scale,
                              head_of<T>(dq, b, h), dk, dv, tile);
      }
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
