// Mistake: in grouped_forward query head h takes K from KV head h / group but V from KV head h % kv_heads; with several query heads per KV head out is computed with the wrong values (m and l are right). grouped_backward is right.
// Lesson 107: from one head to whole tensors with grouped heads (see grouped.hpp). The functions of one head
// add to what is there; so a KV head's gradients are summed over its group by calling them again and again.
#include "ringcraft/attention/grouped.hpp"

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/matrix.hpp"

namespace ringcraft {

template <class T>
void grouped_forward(const Buffer& q, const KvBlock& kv, const KeyRanges& ranges, T softmax_scale,
                     RowState& state, TileSize tile) {
  const Index heads = q.extents().heads, kv_heads = kv.k.extents().heads;
  const Index group = heads / kv_heads;
  for (Index n = 0; n < q.extents().batch * heads; ++n) {
    const Index b = n / heads, h = n % heads;
    const Matrix<const T> queries = head_of<T>(q, b, h);
    const Matrix<const T> keys = head_of<T>(kv.k, b, h / group);
    const Matrix<const T> values = head_of<T>(kv.v, b, h % kv_heads);
    Partial<T> running;
    running.out = head_of<T>(state.out, b, h);
    running.max = head_of<T>(state.max, b, h).data;
    running.sum = head_of<T>(state.sum, b, h).data;
    blockwise_forward<T>(queries, keys, values, ranges, softmax_scale, running, tile);
  }
}

template <class T>
void grouped_backward(const Buffer& q, const KvBlock& kv, const Buffer& dout, const Buffer& lse,
                      const Buffer& delta, const KeyRanges& ranges, T softmax_scale, Buffer& dq, KvBlock& dkv,
                      TileSize tile) {
  const Extents& e = q.extents();
  const Index kv_heads = kv.k.extents().heads, group = e.heads / kv_heads;
  for (Index b = 0; b < e.batch; ++b)
    for (Index g = 0; g < kv_heads; ++g)
      for (Index member = 0; member < group; ++member) {
        const Index h = g * group + member;
        blockwise_backward<T>(head_of<T>(q, b, h), head_of<T>(kv.k, b, g), head_of<T>(kv.v, b, g),
                              head_of<T>(dout, b, h), head_of<T>(lse, b, h).data,
                              head_of<T>(delta, b, h).data, ranges, softmax_scale, head_of<T>(dq, b, h),
                              head_of<T>(dkv.k, b, g), head_of<T>(dkv.v, b, g), tile);
      }
}

template void grouped_forward(const Buffer&, const KvBlock&, const KeyRanges&, float, RowState&, TileSize);
template void grouped_forward(const Buffer&, const KvBlock&, const KeyRanges&, double, RowState&, TileSize);
template void grouped_backward(const Buffer&, const KvBlock&, const Buffer&, const Buffer&, const Buffer&,
                               const KeyRanges&, float, Buffer&, KvBlock&, TileSize);
template void grouped_backward(const Buffer&, const KvBlock&, const Buffer&, const Buffer&, const Buffer&,
                               const KeyRanges&, double, Buffer&, KvBlock&, TileSize);

}  // namespace ringcraft
