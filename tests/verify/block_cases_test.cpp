// One shard of queries against one foreign KV block, rows without any key included: the host engine, forward
// and backward, by the exact rule.
#include <cstdio>

#include "ringcraft/attention/host_engine.hpp"
#include "support.hpp"
#include "support/catch.hpp"
#include "verify/oracle/compare.hpp"
#include "verify/oracle/plain_dense.hpp"

namespace ringcraft::verify {
namespace {

Answer computed_by(BlockEngine& engine, const BlockCase& c, const Inputs& in) {
  const BlockProblem& p = c.problem;
  const KvBlock kv{in.k.clone(), in.v.clone()};
  RowState state = engine.begin(in.q);
  engine.forward(state, in.q, kv, c.ranges, p.softmax_scale);
  Output output = engine.finish(std::move(state));
  const Buffer delta = engine.delta(output.out, in.dout);
  Buffer dq = engine.allocate(p.q_extents(), Role::kAccumulator);
  engine.set_zero(dq);
  KvBlock part{engine.allocate(p.kv_extents(), Role::kAccumulator),
               engine.allocate(p.kv_extents(), Role::kAccumulator)};
  engine.backward(dq, part, {in.q, output.out, output.lse, in.dout, delta}, kv, c.ranges, p.softmax_scale);
  return {std::move(output.out), std::move(output.lse), std::move(dq), std::move(part.k), std::move(part.v)};
}

TEST_CASE("the host engine is exact on single blocks", "[table]") {
  const std::vector<BlockCase> cases = block_case_table(chosen_set());
  double worst = 0;
  Index rows = 0;
  for (const BlockCase& c : cases) {
    const Inputs inputs = make_inputs(c, DType::kFloat64);
    const Oracle want = oracle(c.problem, inputs);
    for (const HostOptions& options :
         {HostOptions{}, HostOptions{.threads = 2}, HostOptions{.kernel = Kernel::kReadable},
          HostOptions{.kernel = Kernel::kReadable, .tile = {3, 5}}}) {
      HostEngine<double> engine(options);
      const Comparison result = compare_exact(computed_by(engine, c, inputs), want);
      INFO(c.name << ": "
                  << described(result,
                               {Layout::kContiguous, static_cast<Position>(c.problem.queries.size()), 1}));
      CHECK(result.good);
      worst = std::max(worst, result.worst);
    }
    const Comparison plain = compare_exact(plain_dense<double>(c.problem, inputs), want);
    INFO(c.name);
    CHECK(plain.good);
    rows += static_cast<Index>(c.problem.queries.size());
  }
  std::printf("single blocks, %s table: %zu cases, %lld query rows, largest error / scale %.2e\n",
              name_of(chosen_set()).c_str(), cases.size(), static_cast<long long>(rows), worst);
  CHECK(cases.size() > 50);
}

}  // namespace
}  // namespace ringcraft::verify
