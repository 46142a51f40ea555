// Rows of scores that lie on N ranks (see rows_over_ranks.hpp).
#include "verify/ladder/rows_over_ranks.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "ringcraft/attention/heads.hpp"
#include "ringcraft/attention/products.hpp"
#include "ringcraft/comm/collectives.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/scratch.hpp"
#include "ringcraft/ring/distributed_softmax.hpp"

namespace ringcraft::verify {
namespace {

// One rank: all queries, its own keys, and what each query sees of them.
template <class T>
class Rank {
 public:
  Rank(Communicator& comm, const Buffer& q, const KvBlock& kv, const KeyRanges& ranges, double softmax_scale)
      : comm_(comm), q_(q), kv_(kv), ranges_(ranges), softmax_scale_(static_cast<T>(softmax_scale)) {
    const Extents& e = q.extents();
    const auto rows = static_cast<std::size_t>(std::min(kRowsAtOnce, e.rows));
    scores_.resize(rows * static_cast<std::size_t>(kv.k.extents().rows));
    shares_.resize(rows * static_cast<std::size_t>(e.width * comm.world_size()));
  }

  Output attend() {
    const Extents& e = q_.extents();
    Output output{Buffer(e, dtype_of<T>()), Buffer({e.batch, e.heads, e.rows, 1}, dtype_of<T>())};
    for_each_head(e, kv_.k.extents().heads, [&](Index b, Index h, Index g) {
      const auto q = head_of<T>(q_, b, h), k = head_of<T>(kv_.k, b, g), v = head_of<T>(kv_.v, b, g);
      for (Index row = 0; row < e.rows; row += kRowsAtOnce) {
        const Index count = std::min(kRowsAtOnce, e.rows - row);
        rows(q.slice(row, count), k, v, ranges_.slice(row, count),
             head_of<T>(output.out, b, h).slice(row, count),
             head_of<T>(output.lse, b, h).slice(row, count).data);
      }
    });
    return output;
  }

 private:
  // Some rows of one head, on all ranks at once.
  void rows(Matrix<const T> q, Matrix<const T> k, Matrix<const T> v, const KeyRanges& ranges, Matrix<T> out,
            std::span<T> lse) {
    // Neither end of the visible range ever moves left: these keys hold those of every row.
    const Index first = ranges.begin.front(), keys = ranges.end.back() - first;
    const Matrix<T> scores{std::span(scores_).first(static_cast<std::size_t>(q.rows * keys)), q.rows, keys};
    if (keys > 0) multiply_transposed<T>(q, k.slice(first, keys), softmax_scale_, scores);
    for (Index i = 0; i < q.rows; ++i) hide(scores.row(i), ranges, i, first);

    const auto states = distributed_softmax<T>(comm_, scores, scores);
    std::ranges::fill(out.data, T(0));
    if (keys > 0) multiply_add<T>(scores, v.slice(first, keys), T(1), out);
    add_shares(out);
    for (std::size_t i = 0; i < states.size(); ++i)
      lse[i] = states[i].sum == T(0) ? states[i].max : states[i].max + std::log(states[i].sum);
  }

  // A key that row i does not see scores -inf.
  static void hide(std::span<T> scores, const KeyRanges& ranges, Index i, Index first) {
    const auto row = static_cast<std::size_t>(i);
    const auto from = scores.begin() + (ranges.begin[row] - first),
               to = scores.begin() + (ranges.end[row] - first);
    std::fill(scores.begin(), from, -std::numeric_limits<T>::infinity());
    std::fill(to, scores.end(), -std::numeric_limits<T>::infinity());
  }

  // out becomes the sum over ranks, added in their order.
  void add_shares(Matrix<T> out) {
    const std::size_t size = out.data.size();
    const std::span<T> shares = std::span(shares_).first(size * static_cast<std::size_t>(comm_.world_size()));
    all_gather(comm_, std::as_bytes(out.data), std::as_writable_bytes(shares));
    std::ranges::fill(out.data, T(0));
    for (std::size_t at = 0; at < shares.size(); ++at) out.data[at % size] += shares[at];
  }

  Communicator& comm_;
  const Buffer& q_;
  const KvBlock& kv_;
  const KeyRanges& ranges_;
  T softmax_scale_;
  Scratch<T> scores_, shares_;
};

}  // namespace

Answer run_rows_over_ranks(const Problem& problem, const Inputs& inputs, Measurement* measurement) {
  validate(problem);
  require_inputs(problem, inputs);
  if (is_half(inputs.q.dtype()))
    throw Error("attention", "float32 or float64", std::string(name_of(inputs.q.dtype())),
                "convert the inputs to float32 first");
  const auto ranks = static_cast<std::size_t>(problem.world_size);
  const Sharding sharding = problem.sharding(), whole{Layout::kContiguous, problem.shape.seqlen, 1};
  std::vector<Output> outputs(ranks);
  PassCost cost;
  cost.work.resize(ranks);
  const auto start = std::chrono::steady_clock::now();
  RanksReport report = run_ranks(problem.world_size, [&](ThreadCommunicator& comm) {
    const auto r = static_cast<std::size_t>(comm.rank());
    const Buffer q = inputs.q.clone();
    const KvBlock kv{scatter(inputs.k, sharding, comm.rank()), scatter(inputs.v, sharding, comm.rank())};
    const KeyRanges ranges =
        key_ranges(problem.mask, problem.shape.seqlen, whole.positions(0), sharding.positions(comm.rank()));
    cost.work[r] = {ranges.pairs(), ranges.pairs() > 0 ? 1 : 0};
    outputs[r] = inputs.q.dtype() == DType::kFloat32
                     ? Rank<float>(comm, q, kv, ranges, problem.softmax_scale).attend()
                     : Rank<double>(comm, q, kv, ranges, problem.softmax_scale).attend();
  });
  cost.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  cost.traffic = std::move(report.traffic);
  cost.clock = std::move(report.clock);
  cost.peak_bytes = std::move(report.peak_bytes);
  if (measurement != nullptr) *measurement = {std::move(cost), {}};
  return {std::move(outputs[0].out), std::move(outputs[0].lse), Buffer(), Buffer(), Buffer()};
}

}  // namespace ringcraft::verify
