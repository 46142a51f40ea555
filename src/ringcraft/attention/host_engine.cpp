// The block engine of a CPU rank (see host_engine.hpp), and its readable kernels: loops over heads around
// the kernels of one head.
#include "ringcraft/attention/host_engine.hpp"

#include <algorithm>

#include "ringcraft/attention/detail/block_kernels_detail.hpp"
#include "ringcraft/attention/detail/partial_memory.hpp"
#include "ringcraft/attention/grouped.hpp"
#include "ringcraft/attention/heads.hpp"

namespace ringcraft {
namespace {

template <class T>
class ReadableKernels final : public BlockKernels<T> {
 public:
  explicit ReadableKernels(TileSize tile) : tile_(tile) { tile_.validate(); }

  void forward(RowState& state, const Buffer& q, const KvBlock& block, const KeyRanges& ranges,
               double softmax_scale) override {
    const Extents &e = q.extents(), &kv = block.k.extents();
    PartialMemory<T> memory;
    for (Index row = 0; row < e.rows; row += tile_.rows) {
      const Index rows = std::min(tile_.rows, e.rows - row);
      const KeyRanges tile = ranges.slice(row, rows);
      if (tile.pairs() == 0) continue;
      for_each_head(e, kv.heads, [&](Index b, Index h, Index g) {
        const Partial<T> partial = memory.identity(rows, e.width);
        blockwise_forward<T>(head_of<T>(q, b, h).slice(row, rows), head_of<T>(block.k, b, g),
                             head_of<T>(block.v, b, g), tile, static_cast<T>(softmax_scale), partial, tile_);
        merge<T>(partial_of<T>(state, b, h).slice(row, rows), partial);
      });
    }
  }

  void backward(Buffer& dq, KvBlock& part, const Saved& saved, const KvBlock& block, const KeyRanges& ranges,
                double softmax_scale) override {
    grouped_backward<T>(saved.q, block, saved.dout, saved.lse, saved.delta, ranges,
                        static_cast<T>(softmax_scale), dq, part, tile_);
  }

 private:
  TileSize tile_;
};

}  // namespace

template <class T>
std::unique_ptr<BlockKernels<T>> readable_kernels(TileSize tile) {
  return std::make_unique<ReadableKernels<T>>(tile);
}

template <class T>
HostEngine<T>::HostEngine(TileSize tile) : kernels_(readable_kernels<T>(tile)) {}

template <class T>
HostEngine<T>::~HostEngine() = default;

template <class T>
RowState HostEngine<T>::do_begin(const Buffer& q) {
  const Extents& e = q.extents();
  const Extents rows{e.batch, e.heads, e.rows, 1};
  RowState state{allocate(e, Role::kAccumulator), allocate(rows, Role::kAccumulator),
                 allocate(rows, Role::kAccumulator)};
  for_each_head(e, e.heads, [&](Index b, Index h, Index) { set_identity(partial_of<T>(state, b, h)); });
  return state;
}

template <class T>
void HostEngine<T>::do_forward(RowState& state, const Buffer& q, const KvBlock& block,
                               const BlockRanges& ranges, double softmax_scale) {
  kernels_->forward(state, q, block, ranges.by_row(), softmax_scale);
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
                                const BlockRanges& ranges, double softmax_scale) {
  kernels_->backward(dq, part, saved, block, ranges.by_row(), softmax_scale);
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
void HostEngine<T>::do_set_zero(Buffer& buffer) {
  std::fill(buffer.values<T>().begin(), buffer.values<T>().end(), T(0));
}

template class HostEngine<float>;
template class HostEngine<double>;
template std::unique_ptr<BlockKernels<float>> readable_kernels(TileSize);
template std::unique_ptr<BlockKernels<double>> readable_kernels(TileSize);

}  // namespace ringcraft
