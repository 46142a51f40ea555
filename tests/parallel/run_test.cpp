// One run: its parts can be repeated and moved to other places, and its result is whole on rank 0 alone.
#include "ringcraft/parallel/run.hpp"

#include <vector>

#include "ringcraft/attention/host_engine.hpp"
#include "ringcraft/comm/threads.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/errors.hpp"
#include "support/tensors.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

Problem some_problem(int n) {
  return make_problem({.batch = 2, .heads = 4, .kv_heads = 2, .seqlen = 4 * n + 1, .head_dim = 3},
                      causal_mask(), Layout::kZigzag, n);
}

void check_identical(const WholeResult& a, const WholeResult& b) {
  CHECK(identical(a.output.out, b.output.out));
  CHECK(identical(a.output.lse, b.output.lse));
  CHECK(identical(a.gradients.dq, b.gradients.dq));
  CHECK(identical(a.gradients.dkv.k, b.gradients.dkv.k));
  CHECK(identical(a.gradients.dkv.v, b.gradients.dkv.v));
}

// Runs body(rank's place) on n ranks, each with an engine of its own.
template <class Body>
void at_places(int n, Body body) {
  run_ranks(n, [&](ThreadCommunicator& comm) {
    HostEngine<double> engine;
    HostPlace place(comm, engine);
    body(place);
  });
}

}  // namespace

TEST_CASE("a run in parts, with passes repeated at other places, is the run") {
  Random random(171);
  for (const Method* const method : {&kRing, &kAllGather})
    for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed})
      for (const int n : {1, 2, 3, 5}) {
        CAPTURE(method->name, n);
        const Problem problem = some_problem(n);
        const Tensors tensors = random_tensors(problem.shape, DType::kFloat64, random);
        const WholeInputs whole{tensors.q, tensors.kv.k, tensors.kv.v, tensors.dout};
        WholeResult at_once, in_parts;
        at_places(n, [&](RankPlace& place) {
          WholeResult result = run_method(*method, place, problem, {.schedule = schedule}, whole);
          if (place.comm().rank() == 0) at_once = std::move(result);
        });
        std::vector<RankRun> runs;
        for (int rank = 0; rank < n; ++rank) runs.push_back({*method, problem, {.schedule = schedule}});
        const auto own = [&](RankPlace& place) -> RankRun& {
          return runs[static_cast<std::size_t>(place.comm().rank())];
        };
        for (int pass = 0; pass < 2; ++pass)
          at_places(n, [&](RankPlace& place) { own(place).forward(place, whole); });
        for (int pass = 0; pass < 2; ++pass)
          at_places(n, [&](RankPlace& place) { own(place).backward(place, whole); });
        at_places(n, [&](RankPlace& place) {
          WholeResult result = own(place).gathered(place);
          if (place.comm().rank() == 0) in_parts = std::move(result);
        });
        check_identical(in_parts, at_once);
      }
}

TEST_CASE("the result is whole on rank 0, in the order of the sequence, and nothing is left elsewhere") {
  Random random(172);
  const Problem problem = some_problem(3);
  const Tensors tensors = random_tensors(problem.shape, DType::kFloat64, random);
  std::vector<WholeResult> results(3);
  at_places(3, [&](RankPlace& place) {
    const Buffer no_dout;
    results[static_cast<std::size_t>(place.comm().rank())] =
        run_method(kRing, place, problem, {}, {tensors.q, tensors.kv.k, tensors.kv.v, no_dout});
  });
  CHECK(results[0].output.out.extents() == tensors.q.extents());
  CHECK(results[0].output.lse.extents() == Extents{2, 4, 13, 1});
  CHECK(results[0].gradients.dq.empty());
  for (const std::size_t rank : {1, 2}) CHECK(results[rank].output.out.empty());

  // Shards that name their rank and row come together where the layout says.
  const Sharding sharding = problem.sharding();
  Buffer whole;
  at_places(3, [&](RankPlace& place) {
    const int rank = place.comm().rank();
    Buffer shard({1, 1, sharding.rows(rank), 1}, DType::kFloat64);
    for (std::size_t row = 0; row < shard.values<double>().size(); ++row)
      shard.values<double>()[row] = 100.0 * rank + static_cast<double>(row);
    Buffer together = gather_to_first(place, std::move(shard), sharding);
    if (rank == 0) whole = std::move(together);
  });
  for (Position p = 0; p < sharding.seqlen; ++p)
    CHECK(whole.values<double>()[static_cast<std::size_t>(p)] ==
          100.0 * sharding.owner_of(p) + static_cast<double>(sharding.local_from_global(p)));
}

TEST_CASE("a run out of order, or with the tensors of another rank, is refused") {
  Random random(173);
  const Problem problem = some_problem(2);
  const Tensors whole = random_tensors(problem.shape, DType::kFloat64, random);
  for (const Method* const method : kMethods)
    at_places(2, [&](RankPlace& place) {
      const MethodOptions options{.ulysses = method == &kHybrid ? 2 : 0};
      const auto refused = [&](const auto& action, const char* sentence) {
        const Outcome outcome = outcome_of(action);
        if (!contains(outcome.sentence, sentence) || outcome.code != Code::kWrongCall)
          throw Error(outcome.sentence + " does not have " + sentence);
      };
      RankRun run(*method, problem, options);
      const int rank = place.comm().rank();
      Tensors own = shard_of(whole, problem, rank), other = shard_of(whole, problem, 1 - rank);
      const Tensors again = shard_of(whole, problem, rank);
      refused([&] { run.backward(place, own.dout); },
              "backward pass: expected a run whose forward pass is done");
      refused([&] { run.gathered(place); }, "results of a run: expected a run whose forward pass is done");
      refused([&] { run.forward(place, std::move(other.q), std::move(own.kv), Pass::kBackward); },
              "q: expected [");
      own = shard_of(whole, problem, rank);
      refused([&] { run.forward(place, std::move(own.q), std::move(other.kv), Pass::kBackward); },
              "k: expected [");
      own = shard_of(whole, problem, rank);
      run.forward(place, std::move(own.q), std::move(own.kv), Pass::kBackward);
      refused([&] { run.backward(place, other.dout); }, "dout: expected [");
      refused([&] { run.backward(place, Buffer()); }, "dout: expected [");
      run.backward(place, again.dout);
    });
  // A method without a backward pass, of which none was announced.
  const Method half{"half", 0, nullptr, kAllGather.forward, nullptr, kAllGather.theory};
  at_places(1, [&](RankPlace& place) {
    const Problem alone = some_problem(1);
    const Tensors own = random_tensors(alone.shape, DType::kFloat64, random);
    RankRun run(half, alone);
    const Buffer none;
    run.forward(place, {own.q, own.kv.k, own.kv.v, none});
    check_refused([&] { run.backward(place, own.dout); },
                  "backward pass: expected a method that has one, got half");
  });
}
