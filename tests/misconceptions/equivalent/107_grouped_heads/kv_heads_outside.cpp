// Equivalent: a loop over KV heads, and inside it the heads of the group.
#include "ringcraft/attention/grouped.hpp"
#include "ringcraft/core/matrix.hpp"

namespace ringcraft {
namespace {

// Calls body(batch, head, kv_head), group after group.
template <class Body>
void each_head(const Extents& q, const Extents& kv, Body body) {
  const Index group = q.heads / kv.heads;
  for (Index b = 0; b < q.batch; ++b)
    for (Index g = 0; g < kv.heads; ++g)
      for (Index r = 0; r < group; ++r) body(b, g * group + r, g);
}

}  // namespace

template <class T>
void grouped_forward(const Buffer& q, const KvBlock& kv, const KeyRanges& ranges, T softmax_scale,
                     RowState& state, TileSize tile) {
  each_head(q.extents(), kv.k.extents(), [&](Index b, Index h, Index g) {
    const Partial<T> acc{head_of<T>(state.out, b, h), head_of<T>(state.max, b, h).data,
                         head_of<T>(state.sum, b, h).data};
    blockwise_forward<T>(head_of<T>(q, b, h), head_of<T>(kv.k, b, g), head_of<T>(kv.v, b, g), ranges,
                         softmax_scale, acc, tile);
  });
}

template <class T>
void grouped_backward(const Buffer& q, const KvBlock& kv, const Buffer& dout, const Buffer& lse,
                      const Buffer& delta, const KeyRanges& ranges, T softmax_scale, Buffer& dq, KvBlock& dkv,
                      TileSize tile) {
  each_head(q.extents(), kv.k.extents(), [&](Index b, Index h, Index g) {
    blockwise_backward<T>(head_of<T>(q, b, h), head_of<T>(kv.k, b, g), head_of<T>(kv.v, b, g),
                          head_of<T>(dout, b, h), head_of<T>(lse, b, h).data, head_of<T>(delta, b, h).data,
                          ranges, softmax_scale, head_of<T>(dq, b, h), head_of<T>(dkv.k, b, g),
                          head_of<T>(dkv.v, b, g), tile);
  });
}

template void grouped_forward(const Buffer&, const KvBlock&, const KeyRanges&, float, RowState&, TileSize);
template void grouped_forward(const Buffer&, const KvBlock&, const KeyRanges&, double, RowState&, TileSize);
template void grouped_backward(const Buffer&, const KvBlock&, const Buffer&, const Buffer&, const Buffer&,
                               const KeyRanges&, float, Buffer&, KvBlock&, TileSize);
template void grouped_backward(const Buffer&, const KvBlock&, const Buffer&, const Buffer&, const Buffer&,
                               const KeyRanges&, double, Buffer&, KvBlock&, TileSize);

}  // namespace ringcraft
