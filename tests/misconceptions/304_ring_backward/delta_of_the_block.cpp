// RB8: delta is computed from the output of the current block, not from the final one.
// Fails: query-gradients "n=2 contiguous"
// Hint: delta uses the final O: where do you keep it?
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "ringcraft/core/matrix.hpp"
#include "ringcraft/ring/refuse.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft {

namespace {

// Attention over this block alone.
Output attend(const Buffer& q, const KvBlock& block, const KeyRanges& ranges, double scale) {
  Extents rows = q.extents();
  Output of_block{Buffer(rows, DType::kFloat64),
                  Buffer({rows.batch, rows.heads, rows.rows, 1}, DType::kFloat64)};
  const Index group = rows.heads / block.k.extents().heads;
  for (Index b = 0; b < rows.batch; ++b)
    for (Index h = 0; h < rows.heads; ++h) {
      const auto queries = head_of<double>(q, b, h), keys = head_of<double>(block.k, b, h / group),
                 values = head_of<double>(block.v, b, h / group);
      const auto out = head_of<double>(of_block.out, b, h), lse = head_of<double>(of_block.lse, b, h);
      for (Index i = 0; i < rows.rows; ++i) {
        const auto a = static_cast<std::size_t>(i);
        double m = -std::numeric_limits<double>::infinity(), l = 0;
        std::fill(out.row(i).begin(), out.row(i).end(), 0.0);
        std::vector<double> weights;
        for (Index j = ranges.begin[a]; j < ranges.end[a]; ++j) {
          double score = 0;
          for (Index c = 0; c < queries.cols; ++c) score += scale * queries(i, c) * keys(j, c);
          weights.push_back(score);
          m = std::max(m, score);
        }
        for (double& weight : weights) l += weight = std::exp(weight - m);
        for (std::size_t j = 0; j < weights.size(); ++j)
          for (Index c = 0; c < out.cols; ++c)
            out(i, c) += weights[j] / l * values(ranges.begin[a] + static_cast<Index>(j), c);
        lse(i, 0) = m + std::log(l);
      }
    }
  return of_block;
}

}  // namespace

RingGradients ring_backward(Communicator& comm, BlockEngine& engine, const Problem& problem,
                            Schedule schedule, const Buffer& q, const KvBlock& first, const Output& output,
                            const Buffer& dout) {
  refuse(problem, Method::kRing, schedule, Pass::kBackward, comm, engine);
  require_shard(problem, comm.rank(), engine, q, first, schedule, output, dout);
  const int n = comm.world_size(), rank = comm.rank(), exchanges = hops(problem);
  const int direction = schedule == Schedule::kForward ? 1 : -1;
  const int start = schedule == Schedule::kForward ? rank : rank - exchanges;
  const auto modulo = [n](int r) { return (r % n + n) % n; };
  const int next = modulo(rank + direction), previous = modulo(rank - direction);
  const Sharding sharding = problem.sharding();
  const auto source = [&](int step) { return modulo(start - direction * step); };

  const Buffer delta = engine.delta(output.out, dout);
  const Saved saved{q, output.out, output.lse, dout, delta};
  Buffer dq = engine.allocate(problem.q_extents(rank), Role::kAccumulator);
  engine.set_zero(dq);
  KvBlock kv[2];
  KvBlock part, sum, arriving;
  const KvBlock* current = &first;
  Pending gradients;
  for (int step = 0; step <= exchanges; ++step) {
    KvBlock& coming = kv[step % 2];
    Pending exchange;
    if (step < exchanges) {
      if (step < 2) coming = allocate_kv(engine, problem, Role::kElement);
      coming.set_rows(sharding.rows(source(step + 1)));
      exchange = comm.start({send_to(next, current->k), send_to(next, current->v),  //
                             recv_from(previous, coming.k), recv_from(previous, coming.v)});
    }
    if (part.k.extents() == Extents{}) part = allocate_kv(engine, problem, Role::kAccumulator);
    part.set_rows(sharding.rows(source(step)));
    const KeyRanges ranges = key_ranges(problem, rank, source(step));
    const Output of_block = attend(q, *current, ranges, problem.softmax_scale);
    const Buffer block_delta = engine.delta(of_block.out, dout);
    const Saved of_this{q, output.out, output.lse, dout, block_delta};
    engine.backward(dq, part, of_this, *current, ranges, problem.softmax_scale);
    gradients.wait();
    if (step > 0) {
      engine.add(arriving, part);
      std::swap(sum, arriving);
    } else {
      std::swap(sum, part);
    }
    exchange.wait();
    if (step == exchanges) break;
    current = &coming;
    if (arriving.k.extents() == Extents{}) arriving = allocate_kv(engine, problem, Role::kAccumulator);
    arriving.set_rows(sharding.rows(source(step + 1)));
    gradients = comm.start({send_to(next, sum.k), send_to(next, sum.v),  //
                            recv_from(previous, arriving.k), recv_from(previous, arriving.v)});
  }
  if (schedule == Schedule::kForward && exchanges > 0) {
    const int owner = modulo(rank - exchanges), holder = modulo(rank + exchanges);
    arriving.set_rows(sharding.rows(rank));
    comm.start({send_to(owner, sum.k), send_to(owner, sum.v), recv_from(holder, arriving.k),
                recv_from(holder, arriving.v)})
        .wait();
    std::swap(sum, arriving);
  }
  return {std::move(dq), std::move(sum)};
}

}  // namespace ringcraft
