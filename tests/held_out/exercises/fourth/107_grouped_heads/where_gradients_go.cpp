// Mistake: In grouped_backward the gradients dk and dv of query head h are added to KV head h % kv_heads instead of to KV head h / group, the one that h reads; forward, and dq, are right.
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
  const Index kv_heads = kv.k.extents().heads, members = shape.heads / kv_heads;
  for (Index entry = 0; entry < shape.batch; ++entry)
    for (Index shared = 0; shared < kv_heads; ++shared) {
      const Matrix<const T> keys = head_of<T>(kv.k, entry, shared), values = head_of<T>(kv.v, entry, shared);
      for (Index member = 0; member < members; ++member) {
        const Index head = shared * members + member;
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
  const Index kv_heads = kv.k.extents().heads;
  const Index group = q.extents().heads / kv_heads;
  const auto one_head = [&](Index b, Index h) {
    const Matrix<const T> keys = head_of<T>(kv.k, b, h / group), values = head_of<T>(kv.v, b, h / group);
    const Index target = h % kv_heads;
    blockwise_backward<T>(head_of<T>(q, b, h), keys, values, head_of<T>(dout, b, h),
                          head_of<T>(lse, b, h).data, head_of<T>(delta, b, h).data, ranges, softmax_scale,
                          head_of<T>(dq, b, h), head_of<T>(dkv.k, b, target), head_of<T>(dkv.v, b, target),
                          tile);
  };
  for (Index b = 0; b < q.extents().batch; ++b)
    for (Index h = 0; h < q.extents().heads; ++h) one_head(b, h);
}

template void grouped_forward(const Buffer&, const KvBlock&, const KeyRanges&, float, RowState&, TileSize);
template void grouped_forward(const Buffer&, const KvBlock&, const KeyRanges&, double, RowState&, TileSize);
template void grouped_backward(const Buffer&, const KvBlock&, const Buffer&, const Buffer&, const Buffer&,
                               const KeyRanges&, float, Buffer&, KvBlock&, TileSize);
template void grouped_backward(const Buffer&, const KvBlock&, const Buffer&, const Buffer&, const Buffer&,
                               const KeyRanges&, double, Buffer&, KvBlock&, TileSize);

}  // namespace ringcraft
