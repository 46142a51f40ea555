// MM2: repeats K and V to the number of heads, so that every head has a copy of its own.
// Fails: kv-heads-once "each process may take 128 MB in this check"
// Hint: How many copies of a KV head does a group need?
#include <algorithm>
#include <utility>

#include "ringcraft/attention/grouped.hpp"
#include "ringcraft/core/matrix.hpp"

namespace ringcraft {
namespace {

// [batch, kv_heads, rows, width] becomes [batch, heads, rows, width].
template <class T>
Buffer repeated(const Buffer& kv, Index heads) {
  const Extents& e = kv.extents();
  Buffer all({e.batch, heads, e.rows, e.width}, kv.dtype());
  for (Index b = 0; b < e.batch; ++b)
    for (Index h = 0; h < heads; ++h)
      std::ranges::copy(head_of<T>(kv, b, h / (heads / e.heads)).data, head_of<T>(all, b, h).data.begin());
  return all;
}

}  // namespace

template <class T>
void grouped_forward(const Buffer& q, const KvBlock& kv, const KeyRanges& ranges, T softmax_scale,
                     RowState& state, TileSize tile) {
  const Buffer k = repeated<T>(kv.k, q.extents().heads), v = repeated<T>(kv.v, q.extents().heads);
  for (Index b = 0; b < q.extents().batch; ++b)
    for (Index h = 0; h < q.extents().heads; ++h) {
      const Partial<T> acc{head_of<T>(state.out, b, h), head_of<T>(state.max, b, h).data,
                           head_of<T>(state.sum, b, h).data};
      blockwise_forward<T>(head_of<T>(q, b, h), head_of<T>(std::as_const(k), b, h),
                           head_of<T>(std::as_const(v), b, h), ranges, softmax_scale, acc, tile);
    }
}

template <class T>
void grouped_backward(const Buffer& q, const KvBlock& kv, const Buffer& dout, const Buffer& lse,
                      const Buffer& delta, const KeyRanges& ranges, T softmax_scale, Buffer& dq, KvBlock& dkv,
                      TileSize tile) {
  const Index group = q.extents().heads / kv.k.extents().heads;
  for (Index b = 0; b < q.extents().batch; ++b)
    for (Index h = 0; h < q.extents().heads; ++h) {
      const Index g = h / group;
      blockwise_backward<T>(head_of<T>(q, b, h), head_of<T>(kv.k, b, g), head_of<T>(kv.v, b, g),
                            head_of<T>(dout, b, h), head_of<T>(lse, b, h).data, head_of<T>(delta, b, h).data,
                            ranges, softmax_scale, head_of<T>(dq, b, h), head_of<T>(dkv.k, b, g),
                            head_of<T>(dkv.v, b, g), tile);
    }
}

template void grouped_forward(const Buffer&, const KvBlock&, const KeyRanges&, float, RowState&, TileSize);
template void grouped_forward(const Buffer&, const KvBlock&, const KeyRanges&, double, RowState&, TileSize);
template void grouped_backward(const Buffer&, const KvBlock&, const Buffer&, const Buffer&, const Buffer&,
                               const KeyRanges&, float, Buffer&, KvBlock&, TileSize);
template void grouped_backward(const Buffer&, const KvBlock&, const Buffer&, const Buffer&, const Buffer&,
                               const KeyRanges&, double, Buffer&, KvBlock&, TileSize);

}  // namespace ringcraft
