// The block engine of a CPU rank (see host_engine.hpp): loops over heads around the kernels of one head.
#include "ringcraft/attention/host_engine.hpp"

#include <algorithm>

#include "ringcraft/attention/heads.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/scratch.hpp"

namespace ringcraft {
namespace {

// One head of the state as the view that numerics work on.
template <class T>
Partial<T> partial_of(RowState& state, Index batch, Index head) {
  return {head_of<T>(state.out, batch, head), head_of<T>(state.max, batch, head).data,
          head_of<T>(state.sum, batch, head).data};
}

// Memory for the partial result of one row tile.
template <class T>
class PartialMemory {
 public:
  PartialMemory(Index rows, Index head_dim)
      : head_dim_(head_dim),
        out_(static_cast<std::size_t>(rows * head_dim)),
        max_(static_cast<std::size_t>(rows)),
        sum_(static_cast<std::size_t>(rows)) {}

  // The identity for this many rows.
  Partial<T> identity(Index rows) {
    const Partial<T> all{{out_, static_cast<Index>(max_.size()), head_dim_}, max_, sum_};
    const Partial<T> part = all.slice(0, rows);
    set_identity(part);
    return part;
  }

 private:
  Index head_dim_;
  Scratch<T> out_, max_, sum_;
};

}  // namespace

template <class T>
RowState HostEngine<T>::begin(const Buffer& q) {
  const Extents& e = q.extents();
  const Extents rows{e.batch, e.heads, e.rows, 1};
  RowState state{allocate(e, Role::kAccumulator), allocate(rows, Role::kAccumulator),
                 allocate(rows, Role::kAccumulator)};
  for_each_head(e, e.heads, [&](Index b, Index h, Index) { set_identity(partial_of<T>(state, b, h)); });
  return state;
}

template <class T>
void HostEngine<T>::do_forward(RowState& state, const Buffer& q, const KvBlock& block,
                               const KeyRanges& ranges, double softmax_scale) {
  const Extents &e = q.extents(), &kv = block.k.extents();
  PartialMemory<T> memory(std::min(tile_.rows, e.rows), e.width);
  for (Index row = 0; row < e.rows; row += tile_.rows) {
    const Index rows = std::min(tile_.rows, e.rows - row);
    const KeyRanges tile = ranges.slice(row, rows);
    if (tile.pairs() == 0) continue;
    for_each_head(e, kv.heads, [&](Index b, Index h, Index g) {
      const Partial<T> partial = memory.identity(rows);
      blockwise_forward<T>(head_of<T>(q, b, h).slice(row, rows), head_of<T>(block.k, b, g),
                           head_of<T>(block.v, b, g), tile, static_cast<T>(softmax_scale), partial, tile_);
      merge<T>(partial_of<T>(state, b, h).slice(row, rows), partial);
    });
  }
}

template <class T>
Output HostEngine<T>::finish(RowState&& state) {
  const Extents e = state.out.extents();
  for_each_head(e, e.heads, [&](Index b, Index h, Index) { ringcraft::finish(partial_of<T>(state, b, h)); });
  state.sum = Buffer();
  return {std::move(state.out), std::move(state.max)};
}

template <class T>
Buffer HostEngine<T>::delta(const Buffer& out, const Buffer& dout) {
  const Extents& e = out.extents();
  Buffer delta = allocate({e.batch, e.heads, e.rows, 1}, Role::kAccumulator);
  for_each_head(e, e.heads, [&](Index b, Index h, Index) {
    row_delta<T>(head_of<T>(out, b, h), head_of<T>(dout, b, h), head_of<T>(delta, b, h).data);
  });
  return delta;
}

template <class T>
void HostEngine<T>::do_backward(Buffer& dq, KvBlock& part, const Saved& saved, const KvBlock& block,
                                const KeyRanges& ranges, double softmax_scale) {
  for_each_head(saved.q.extents(), block.k.extents().heads, [&](Index b, Index h, Index g) {
    blockwise_backward<T>(head_of<T>(saved.q, b, h), head_of<T>(block.k, b, g), head_of<T>(block.v, b, g),
                          head_of<T>(saved.dout, b, h), head_of<T>(saved.lse, b, h).data,
                          head_of<T>(saved.delta, b, h).data, ranges, static_cast<T>(softmax_scale),
                          head_of<T>(dq, b, h), head_of<T>(part.k, b, g), head_of<T>(part.v, b, g), tile_);
  });
}

template <class T>
void HostEngine<T>::do_add(KvBlock& into, const KvBlock& from) {
  const auto add = [](Buffer& sum, const Buffer& term) {
    std::transform(sum.values<T>().begin(), sum.values<T>().end(), term.values<T>().begin(),
                   sum.values<T>().begin(), [](T a, T b) { return a + b; });
  };
  add(into.k, from.k);
  add(into.v, from.v);
}

template <class T>
void HostEngine<T>::set_zero(Buffer& buffer) {
  std::fill(buffer.values<T>().begin(), buffer.values<T>().end(), T(0));
}

template class HostEngine<float>;
template class HostEngine<double>;

std::unique_ptr<BlockEngine> make_host_engine(DType type) {
  if (type == DType::kFloat32) return std::make_unique<HostEngine<float>>();
  if (type == DType::kFloat64) return std::make_unique<HostEngine<double>>();
  throw Error("engine", "float32 or float64", std::string(name_of(type)), "bfloat16 is computed in float32");
}

}  // namespace ringcraft
