// Attention of whole tensors on one device.
#include "ringcraft/attention/single_device.hpp"

#include "ringcraft/attention/dense.hpp"
#include "ringcraft/attention/grouped.hpp"
#include "ringcraft/attention/heads.hpp"
#include "ringcraft/attention/host_engine.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

template <class T>
Output forward(Algorithm algorithm, const Buffer& q, const KvBlock& kv, const KeyRanges& ranges,
               double softmax_scale, TileSize tile) {
  HostEngine<T> engine;
  RowState state = engine.begin(q);
  const T scale = static_cast<T>(softmax_scale);
  switch (algorithm) {
    case Algorithm::kDense:
      for_each_head(q.extents(), kv.k.extents().heads, [&](Index b, Index h, Index g) {
        dense_forward<T>(head_of<T>(q, b, h), head_of<T>(kv.k, b, g), head_of<T>(kv.v, b, g), ranges, scale,
                         head_of<T>(state.out, b, h), head_of<T>(state.max, b, h).data);
      });
      return {std::move(state.out), std::move(state.max)};  // final already
    case Algorithm::kBlockwise:
      grouped_forward<T>(q, kv, ranges, scale, state, tile);
      break;
    case Algorithm::kFast:
      engine.forward(state, q, kv, ranges, softmax_scale);
      break;
  }
  return engine.finish(std::move(state));
}

template <class T>
Gradients backward(Algorithm algorithm, const Buffer& q, const KvBlock& kv, const Output& output,
                   const Buffer& dout, const KeyRanges& ranges, double softmax_scale, TileSize tile) {
  HostEngine<T> engine(
      {.kernel = algorithm == Algorithm::kFast ? Kernel::kFast : Kernel::kReadable, .tile = tile});
  const Buffer delta = engine.delta(output.out, dout);
  Gradients g{engine.allocate(q.extents(), Role::kAccumulator),
              {engine.allocate(kv.k.extents(), Role::kAccumulator),
               engine.allocate(kv.v.extents(), Role::kAccumulator)}};
  engine.set_zero(g.dq);
  if (algorithm != Algorithm::kDense) {
    engine.backward(g.dq, g.dkv, {q, output.out, output.lse, dout, delta}, kv, ranges, softmax_scale);
    return g;
  }
  engine.set_zero(g.dkv.k);
  engine.set_zero(g.dkv.v);
  for_each_head(q.extents(), kv.k.extents().heads, [&](Index b, Index h, Index kv_head) {
    dense_backward<T>(head_of<T>(q, b, h), head_of<T>(kv.k, b, kv_head), head_of<T>(kv.v, b, kv_head),
                      head_of<T>(dout, b, h), head_of<T>(output.lse, b, h).data,
                      head_of<T>(std::as_const(delta), b, h).data, ranges, static_cast<T>(softmax_scale),
                      head_of<T>(g.dq, b, h), head_of<T>(g.dkv.k, b, kv_head),
                      head_of<T>(g.dkv.v, b, kv_head));
  });
  return g;
}

void require_computable(const Buffer& q) {
  if (is_half(q.dtype()))
    throw Error("attention", "float32 or float64", std::string(name_of(q.dtype())),
                "convert the inputs to float32 first");
}

}  // namespace

Output attention_forward(Algorithm algorithm, const Buffer& q, const KvBlock& kv, const KeyRanges& ranges,
                         double softmax_scale, TileSize tile) {
  require_computable(q);
  return q.dtype() == DType::kFloat32 ? forward<float>(algorithm, q, kv, ranges, softmax_scale, tile)
                                      : forward<double>(algorithm, q, kv, ranges, softmax_scale, tile);
}

Gradients attention_backward(Algorithm algorithm, const Buffer& q, const KvBlock& kv, const Output& output,
                             const Buffer& dout, const KeyRanges& ranges, double softmax_scale,
                             TileSize tile) {
  require_computable(q);
  return q.dtype() == DType::kFloat32
             ? backward<float>(algorithm, q, kv, output, dout, ranges, softmax_scale, tile)
             : backward<double>(algorithm, q, kv, output, dout, ranges, softmax_scale, tile);
}

}  // namespace ringcraft
