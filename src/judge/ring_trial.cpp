// A ring of workers (see ring_trial.hpp).
#include "judge/ring_trial.hpp"

#include <cmath>

#include "verify/compare.hpp"

namespace ringcraft::judge {
namespace {

void require_extents(const verify::Case& c, int rank, const char* name, const Buffer& got,
                     const Extents& want) {
  const auto text = [](const Extents& e) {
    return std::string("[") + std::to_string(e.batch) + ", " + std::to_string(e.heads) + ", " +
           std::to_string(e.rows) + ", " + std::to_string(e.width) + "]";
  };
  if (got.extents() != want || got.dtype() != DType::kFloat64)
    wrong(c, std::string("rank ") + std::to_string(rank) + " returns " + name + " as " + text(got.extents()) +
                 " " + std::string(name_of(got.dtype())) + ", and it must be " + text(want) + " float64");
}

}  // namespace

void wrong(const verify::Case& c, const std::string& sentence) { throw Wrong(c.name + ": " + sentence); }

RingRun run_ring(Trial& trial, const verify::Case& c, Delivery delivery) {
  const verify::Inputs inputs = verify::make_inputs(c, DType::kFloat64);
  const Sharding sharding = c.problem.sharding();
  std::vector<Bytes> requests;
  for (int rank = 0; rank < c.problem.world_size; ++rank) {
    const KvBlock kv{scatter(inputs.k, sharding, rank), scatter(inputs.v, sharding, rank)};
    requests.push_back(RingForward::request(c.problem, scatter(inputs.q, sharding, rank), kv));
  }
  RingRun run;
  try {
    run.world = trial.call_world<RingForward>(requests, delivery);
    for (int rank = 0; rank < c.problem.world_size; ++rank)
      run.answers.push_back(Trial::read([&] {
        return RingForward::answer(run.world.replies[static_cast<std::size_t>(rank)], c.problem, Buffer(),
                                   KvBlock());
      }));
  } catch (const Misbehaviour& misbehaviour) {
    throw Misbehaviour(misbehaviour.kind(), c.name + ": " + misbehaviour.what());
  } catch (const Wrong& unreadable) {
    wrong(c, unreadable.what());
  }
  return run;
}

void require_right(const verify::Case& c, const RingRun& run) {
  const Problem& p = c.problem;
  const Shape& s = p.shape;
  const Sharding sharding = p.sharding();
  verify::Answer whole;
  whole.out = Buffer({s.batch, s.heads, s.seqlen, s.head_dim}, DType::kFloat64);
  whole.lse = Buffer({s.batch, s.heads, s.seqlen, 1}, DType::kFloat64);
  for (int rank = 0; rank < p.world_size; ++rank) {
    const Output& output = run.answers[static_cast<std::size_t>(rank)].result.output;
    require_extents(c, rank, "out", output.out, p.q_extents(rank));
    require_extents(c, rank, "lse", output.lse, p.row_extents(rank));
    gather(whole.out, output.out, sharding, rank);
    gather(whole.lse, output.lse, sharding, rank);
  }
  verify::Inputs inputs = verify::make_inputs(c, DType::kFloat64);
  inputs.dout = Buffer();
  const auto comparison = verify::compare_exact(whole, verify::oracle(p, inputs), verify::Expect::kForward);
  if (comparison.good) return;
  const bool nan = comparison.first && std::isnan(comparison.first->got);
  wrong(c, verify::described(comparison, sharding) +
               (nan ? "; a receive buffer that is read before its wait is full of NaN" : ""));
}

RingRun require_right_ring(Trial& trial, const verify::Case& c, Delivery delivery) {
  RingRun run = run_ring(trial, c, delivery);
  require_right(c, run);
  return run;
}

std::vector<Index> ring_bytes(const Problem& problem, int steps, int direction) {
  const int n = problem.world_size;
  std::vector<Index> bytes(static_cast<std::size_t>(n * n), 0);
  for (int rank = 0; rank < n; ++rank)
    for (int t = 0; t < steps; ++t) {
      const int to = (rank + direction + n) % n, block = ((rank - direction * t) % n + n) % n;
      bytes[static_cast<std::size_t>(rank * n + to)] += problem.kv_extents(block).elements() * 2 * 8;
    }
  return bytes;
}

}  // namespace ringcraft::judge
