// Mistake: grouped_backward sums dk and dv of a KV head in scratch memory that is set to zero once per batch entry instead of once per KV head: KV head g also gets the dk and dv of all KV heads before it in the same batch entry. dq and grouped_forward are right.
// Lesson 107: from one head to whole tensors with grouped heads (see grouped.hpp). The functions of one head
// add to what is there; so a KV head's gradients are summed over its group by calling them again and again.
#include "ringcraft/attention/grouped.hpp"

#include <algorithm>

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
  const Extents& own = q.extents();
  const Extents& shared = kv.k.extents();
  const Index group = own.heads / shared.heads;
  Buffer scratch({1, 2, shared.rows, shared.width}, dtype_of<T>());
  const Matrix<T> dk_sum = head_of<T>(scratch, 0, 0), dv_sum = head_of<T>(scratch, 0, 1);
  const auto add = [](Matrix<T> to, Matrix<const T> from) {
    for (std::size_t n = 0; n < to.data.size(); ++n) to.data[n] += from.data[n];
  };
  for (Index b = 0; b < own.batch; ++b) {
    std::fill(dk_sum.data.begin(), dk_sum.data.end(), T(0));
    std::fill(dv_sum.data.begin(), dv_sum.data.end(), T(0));
    for (Index g = 0; g < shared.heads; ++g) {
      for (Index h = g * group; h < (g + 1) * group; ++h)
        blockwise_backward<T>(head_of<T>(q, b, h), head_of<T>(kv.k, b, g), head_of<T>(kv.v, b, g),
                              head_of<T>(dout, b, h), head_of<T>(lse, b, h).data,
                              head_of<T>(delta, b, h).data, ranges, softmax_scale, head_of<T>(dq, b, h),
                              dk_sum, dv_sum, tile);
      add(head_of<T>(dkv.k, b, g), dk_sum);
      add(head_of<T>(dkv.v, b, g), dv_sum);
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
