// Mistake: Backward adds dv of query head h to KV head h % kv_heads instead of h / group; dk goes to the right one.
#include "ringcraft/attention/grouped.hpp"

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/matrix.hpp"

namespace ringcraft {

template <class T>
void grouped_forward(const Buffer& q, const KvBlock& kv, const KeyRanges& ranges, T softmax_scale,
                     RowState& state, TileSize tile) {
  const Extents e = q.extents();
  const Index kv_heads = kv.k.extents().heads, group = e.heads / kv_heads;
  for (Index batch = 0; batch < e.batch; batch++) {
    for (Index g = 0; g < kv_heads; g++) {
      const auto keys = head_of<T>(kv.k, batch, g);
      const auto values = head_of<T>(kv.v, batch, g);
      for (Index h = g * group; h < (g + 1) * group; h++) {
        Partial<T> partial;
        partial.out = head_of<T>(state.out, batch, h);
        partial.max = head_of<T>(state.max, batch, h).data;
        partial.sum = head_of<T>(state.sum, batch, h).data;
        blockwise_forward<T>(head_of<T>(q, batch, h), keys, values, ranges, softmax_scale, partial, tile);
      }
    }
  }
}

template <class T>
void grouped_backward(const Buffer& q, const KvBlock& kv, const Buffer& dout, const Buffer& lse,
                      const Buffer& delta, const KeyRanges& ranges, T softmax_scale, Buffer& dq, KvBlock& dkv,
                      TileSize tile) {
  const Extents e = q.extents();
  const Index kv_heads = kv.k.extents().heads, group = e.heads / kv_heads;
  for (Index batch = 0; batch < e.batch; batch++) {
    for (Index h = 0; h < e.heads; h++) {
      const Index g = h / group;
      blockwise_backward<T>(head_of<T>(q, batch, h), head_of<T>(kv.k, batch, g), head_of<T>(kv.v, batch, g),
                            head_of<T>(dout, batch, h), head_of<T>(lse, batch, h).data,
                            head_of<T>(delta, batch, h).data, ranges, softmax_scale,
                            head_of<T>(dq, batch, h), head_of<T>(dkv.k, batch, g),
                            head_of<T>(dkv.v, batch, h % kv_heads), tile);
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
