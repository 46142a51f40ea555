// Computes attention one query row at a time, with a safe softmax, an online softmax, or two halves of the
// keys that are merged.
#include "verify/ladder/rowwise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/attention/heads.hpp"
#include "ringcraft/attention/merge.hpp"
#include "ringcraft/attention/products.hpp"
#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/scratch.hpp"
#include "verify/ladder/single_device_cost.hpp"

namespace ringcraft::verify {
namespace {

// One query head, the KV head that serves it, and the keys that each row sees.
template <class T>
struct Head {
  Matrix<const T> q, k, v;
  const KeyRanges& ranges;
  T softmax_scale;

  // The scores of row i against the keys [first, last), [1, last - first], in `memory`.
  Matrix<T> scores(Index i, Index first, Index last, std::span<T> memory) const {
    const Matrix<T> row{memory.first(static_cast<std::size_t>(last - first)), 1, last - first};
    multiply_transposed<T>(q.slice(i, 1), k.slice(first, last - first), softmax_scale, row);
    return row;
  }
};

// Expects out and lse as they are for no key.
template <class T>
void softmax_rows(RowSoftmax softmax, const Head<T>& h, std::span<T> memory, Matrix<T> out,
                  std::span<T> lse) {
  for (Index i = 0; i < h.q.rows; ++i) {
    const Index first = h.ranges.begin[static_cast<std::size_t>(i)],
                last = h.ranges.end[static_cast<std::size_t>(i)];
    if (first == last) continue;
    const Matrix<T> row = h.scores(i, first, last, memory);
    const auto highest = std::max_element(row.data.begin(), row.data.end());
    const T max = *highest;
    softmax == RowSoftmax::kSafe ? safe_softmax<T>(row.data, row.data)
                                 : online_softmax<T>(row.data, row.data);
    lse[static_cast<std::size_t>(i)] = max - std::log(*highest);  // the weight of the highest score is 1 / l
    multiply_add<T>(row, h.v.slice(first, last - first), T(1), out.slice(i, 1));
  }
}

// The partial result (O, m, l) of all rows over the keys [key0, key1). Expects `partial` to be the identity.
template <class T>
void partial_rows(const Head<T>& h, Index key0, Index key1, std::span<T> memory, Partial<T> partial) {
  for (Index i = 0; i < h.q.rows; ++i) {
    const auto a = static_cast<std::size_t>(i);
    const Index first = std::clamp<Index>(h.ranges.begin[a], key0, key1),
                last = std::clamp<Index>(h.ranges.end[a], key0, key1);
    if (first == last) continue;
    const Matrix<T> row = h.scores(i, first, last, memory);
    const SoftmaxState<T> state = online_scan<T>(row.data);
    partial.max[a] = state.max;
    partial.sum[a] = state.sum;
    exponentials<T>(row.data, state.max);
    multiply_add<T>(row, h.v.slice(first, last - first), T(1), partial.out.slice(i, 1));
  }
}

template <class T>
void merged_halves(const Head<T>& h, std::span<T> memory, Matrix<T> out, std::span<T> lse) {
  const Index half = h.k.rows / 2;
  const Extents rows{1, 1, h.q.rows, 1};
  Buffer sum(rows, dtype_of<T>()), other_out({1, 1, h.q.rows, out.cols}, dtype_of<T>()),
      other_max(rows, dtype_of<T>()), other_sum(rows, dtype_of<T>());
  const Partial<T> state{out, lse, sum.values<T>()};
  const Partial<T> other{head_of<T>(other_out, 0, 0), other_max.values<T>(), other_sum.values<T>()};
  set_identity(state);
  set_identity(other);
  partial_rows(h, 0, half, memory, state);
  partial_rows(h, half, h.k.rows, memory, other);
  merge<T>(state, other);
  finish(state);
}

template <class T>
Output compute(RowSoftmax softmax, const Problem& problem, const Buffer& q, const KvBlock& kv,
               const KeyRanges& ranges) {
  const Extents& e = q.extents();
  Output output{Buffer(e, dtype_of<T>()), Buffer({e.batch, e.heads, e.rows, 1}, dtype_of<T>())};
  std::fill(output.out.values<T>().begin(), output.out.values<T>().end(), T(0));
  std::fill(output.lse.values<T>().begin(), output.lse.values<T>().end(),
            -std::numeric_limits<T>::infinity());
  Scratch<T> memory(static_cast<std::size_t>(e.rows));  // one row of scores
  for_each_head(e, kv.k.extents().heads, [&](Index b, Index head, Index g) {
    const Head<T> h{head_of<T>(q, b, head), head_of<T>(kv.k, b, g), head_of<T>(kv.v, b, g), ranges,
                    static_cast<T>(problem.softmax_scale)};
    const Matrix<T> out = head_of<T>(output.out, b, head);
    const std::span<T> lse = head_of<T>(output.lse, b, head).data;
    softmax == RowSoftmax::kMerged ? merged_halves<T>(h, memory, out, lse)
                                   : softmax_rows<T>(softmax, h, memory, out, lse);
  });
  return output;
}

}  // namespace

Answer run_rowwise(RowSoftmax softmax, const Problem& problem, const Inputs& inputs,
                   Measurement* measurement) {
  validate(problem);
  require_inputs(problem, inputs);
  if (is_half(inputs.q.dtype()))
    throw Error("attention", "float32 or float64", std::string(name_of(inputs.q.dtype())),
                "convert the inputs to float32 first");
  const KeyRanges ranges = key_ranges(problem.mask, problem.shape.seqlen);
  Measurement cost;
  Output output;
  measure(cost.forward, std::make_shared<MemoryMeter>(), ranges.pairs(), [&] {
    const Buffer q = inputs.q.clone();
    const KvBlock kv{inputs.k.clone(), inputs.v.clone()};
    output = inputs.q.dtype() == DType::kFloat32 ? compute<float>(softmax, problem, q, kv, ranges)
                                                 : compute<double>(softmax, problem, q, kv, ranges);
  });
  if (measurement != nullptr) *measurement = std::move(cost);
  return {std::move(output.out), std::move(output.lse), Buffer(), Buffer(), Buffer()};
}

}  // namespace ringcraft::verify
