// Wrong rings that were written by hand, with the library's engine, and not by the simulator that a diagnosis
// compares with. Ranks run in lock-step; a hop rotates the list of what they hold.
#include <algorithm>

#include "ringcraft/attention/host_engine.hpp"
#include "support/catch.hpp"
#include "verify/diagnose/diagnose.hpp"
#include "verify/support.hpp"

namespace ringcraft::verify {
namespace {

// The mistake of a ring; the first value is right.
enum class Fault {
  kNone,
  kOneStepShort,
  kOwnTwice,
  kWrongLabel,
  kValuesStay,
  kStaleKeys,
  kStay,
  kOpposite,
  kNotHome,
  kDqOverwritten,
  kNoMask
};

struct LockStep {
  const Problem& p;
  const Inputs& in;
  Fault fault;
  int n = p.world_size;
  std::unique_ptr<BlockEngine> engine = make_host_engine(DType::kFloat64, {});

  Buffer shard(const Buffer& whole, int rank) const { return scatter(whole, p.sharding(), rank); }
  KvBlock block(int rank) const { return {shard(in.k, rank), shard(in.v, rank)}; }
  // The rank whose block rank r assumes to hold at step t.
  int label(int rank, int step) const {
    return fault == Fault::kWrongLabel ? (rank + step) % n : (rank + n - step % n) % n;
  }
  KeyRanges ranges(int rank, int source, bool backward) const {
    Problem asked = p;
    if (backward && fault == Fault::kNoMask) asked.mask = full_mask();
    return key_ranges(asked, rank, source);
  }

  void forward(Answer& to) {
    const int steps = fault == Fault::kOneStepShort ? n - 1 : fault == Fault::kOwnTwice ? n + 1 : n;
    for (int rank = 0; rank < n; ++rank) {
      const Buffer q = shard(in.q, rank);
      RowState state = engine->begin(q);
      for (int t = 0; t < steps; ++t) {
        KvBlock held = block((rank + n - t % n) % n);
        if (fault == Fault::kValuesStay) held.v = shard(in.v, rank);
        engine->forward(state, q, held, ranges(rank, label(rank, t), false), p.softmax_scale);
      }
      const Output output = engine->finish(std::move(state));
      gather(to.out, output.out, p.sharding(), rank);
      gather(to.lse, output.lse, p.sharding(), rank);
    }
  }

  // Gradients of the right out and lse in `to`.
  void backward(Answer& to) {
    std::vector<KvBlock> sums;
    std::vector<Buffer> dq;
    for (int rank = 0; rank < n; ++rank) {
      sums.push_back({engine->allocate(p.kv_extents(rank), Role::kAccumulator),
                      engine->allocate(p.kv_extents(rank), Role::kAccumulator)});
      dq.push_back(engine->allocate(p.q_extents(rank), Role::kAccumulator));
      engine->set_zero(sums.back().k), engine->set_zero(sums.back().v), engine->set_zero(dq.back());
    }
    for (int t = 0; t < n; ++t) {
      for (int rank = 0; rank < n; ++rank)
        step(to, rank, t, sums[static_cast<std::size_t>(rank)], dq[static_cast<std::size_t>(rank)]);
      const bool last = t + 1 == n;
      if (fault == Fault::kStay || (last && fault == Fault::kNotHome)) continue;
      // One hop: the contents of rank r move to rank r + 1, or to r - 1.
      std::rotate(sums.begin(), fault == Fault::kOpposite ? sums.begin() + 1 : sums.end() - 1, sums.end());
    }
    for (int rank = 0; rank < n; ++rank) {
      gather(to.dq, dq[static_cast<std::size_t>(rank)], p.sharding(), rank);
      gather(to.dk, sums[static_cast<std::size_t>(rank)].k, p.sharding(), rank);
      gather(to.dv, sums[static_cast<std::size_t>(rank)].v, p.sharding(), rank);
    }
  }

  void step(const Answer& right, int rank, int t, KvBlock& sum, Buffer& dq) {
    const Buffer q = shard(in.q, rank), dout = shard(in.dout, rank), out = shard(right.out, rank),
                 lse = shard(right.lse, rank);
    const Buffer delta = engine->delta(out, dout);
    const int source = (rank + n - t) % n;
    KvBlock part{engine->allocate(p.kv_extents(source), Role::kAccumulator),
                 engine->allocate(p.kv_extents(source), Role::kAccumulator)};
    if (fault == Fault::kDqOverwritten) engine->set_zero(dq);
    const KvBlock held = block(fault == Fault::kStaleKeys ? rank : source);
    engine->backward(dq, part, {q, out, lse, dout, delta}, held, ranges(rank, source, true), p.softmax_scale);
    engine->add(sum, part);
  }
};

std::string found(Fault fault, Layout layout, int ranks, Mask mask, bool backward) {
  const Case c =
      make_case(make_problem({1, 4, 2, 6 * ranks, 5}, std::move(mask), layout, ranks), Data::kNormal, 4);
  const Inputs inputs = make_inputs(c, DType::kFloat64);
  const Oracle right = oracle(c.problem, inputs);
  Answer claim = clone(right.value);
  LockStep ring{c.problem, inputs, fault};
  if (backward)
    ring.backward(claim);
  else
    ring.forward(claim);
  const Comparison comparison = compare_exact(claim, right);
  if (comparison.good) return "right";
  const std::vector<Cause> causes = diagnose(c.problem, inputs, claim, right, comparison).causes();
  return causes.empty() ? "nothing" : causes[0].id;
}

}  // namespace

TEST_CASE("forward and backward may be wrong in ways of their own") {
  const Case c =
      make_case(make_problem({1, 4, 2, 24, 5}, causal_mask(), Layout::kContiguous, 4), Data::kNormal, 4);
  const Inputs inputs = make_inputs(c, DType::kFloat64);
  const Oracle right = oracle(c.problem, inputs);
  // Forward without a mask, and gradients of that forward: those of a problem without one.
  Problem other = c.problem;
  other.mask = full_mask();
  Answer claim = clone(oracle(other, inputs).value);
  const auto judged = [&] { return diagnose(c.problem, inputs, claim, right, compare_exact(claim, right)); };
  CHECK(judged().forward.at(0).id == "CM0");
  CHECK(judged().backward.empty());
  CHECK(judged().remarks.size() == 1);
  LockStep ring{other, inputs, Fault::kNotHome};
  ring.backward(claim);
  CHECK(judged().forward.at(0).id == "CM0");
  CHECK(judged().backward.at(0).id == "RB2");
}

TEST_CASE("rings in lock-step with the library's engine are right where nothing is done wrongly") {
  for (const Layout layout : kLayouts) {
    CHECK(found(Fault::kNone, layout, 3, causal_mask(), false) == "right");
    CHECK(found(Fault::kNone, layout, 3, causal_mask(), true) == "right");
  }
}

TEST_CASE("wrong forward rings of another hand are recognised, first of all causes") {
  for (const int ranks : {3, 4})
    for (const Layout layout : {Layout::kContiguous, Layout::kZigzag, Layout::kStriped}) {
      INFO(name_of(layout) << " on " << ranks);
      CHECK(found(Fault::kOneStepShort, layout, ranks, causal_mask(), false) == "RF1");
      CHECK(found(Fault::kOwnTwice, layout, ranks, causal_mask(), false) == "RF2");
      CHECK(found(Fault::kWrongLabel, layout, ranks, causal_mask(), false) == "RF4");
      CHECK(found(Fault::kValuesStay, layout, ranks, full_mask(), false) == "RX8");
    }
}

TEST_CASE("wrong backward rings of another hand are recognised, first of all causes") {
  for (const int ranks : {3, 4})
    for (const Layout layout : {Layout::kContiguous, Layout::kZigzag, Layout::kStriped}) {
      INFO(name_of(layout) << " on " << ranks);
      CHECK(found(Fault::kStaleKeys, layout, ranks, causal_mask(), true) == "RB-stale");
      CHECK(found(Fault::kStay, layout, ranks, causal_mask(), true) == "RB1");
      CHECK(found(Fault::kOpposite, layout, ranks, causal_mask(), true) == "RB3");
      CHECK(found(Fault::kNotHome, layout, ranks, causal_mask(), true) == "RB2");
      CHECK(found(Fault::kDqOverwritten, layout, ranks, full_mask(), true) == "RB10");
      CHECK(found(Fault::kNoMask, layout, ranks, causal_mask(), true) == "RB9");
    }
}

}  // namespace ringcraft::verify
