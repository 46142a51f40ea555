#pragma once
/// @file
/// A call of a ring with one argument that a table makes wrong, and the check that every rank refuses it with
/// the same fragment of a sentence before it has sent anything.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ringcraft/comm/threads.hpp"
#include "ringcraft/parallel/cost_engine.hpp"
#include "support/errors.hpp"
#include "support/ring_arguments.hpp"

namespace ringcraft::testing {

/// An engine that says it computes on a device.
class DeviceEngine final : public CostEngine {
 public:
  using CostEngine::CostEngine;
  Space space() const override { return Space::kDevice; }
};

/// An engine that cannot do everything.
class NarrowEngine final : public CostEngine {
 public:
  using CostEngine::CostEngine;
  void refuse(const Problem& p, Pass pass) const override {
    if (p.shape.head_dim > 4)
      throw Error("head_dim", "at most 4", std::to_string(p.shape.head_dim), "use another engine");
    if (pass == Pass::kBackward) throw Error("this engine has no backward pass");
  }
};

inline constexpr int kRanks = 3;
inline const Shape kShape{.batch = 1, .heads = 4, .kv_heads = 2, .seqlen = 10, .head_dim = 4};

inline Problem problem_of(Shape shape = kShape, int n = kRanks) {
  return make_problem(shape, causal_mask(), Layout::kZigzag, n);
}

/// The arguments that a row of the table may change before the call.
struct Call {
  Problem problem = problem_of();
  std::unique_ptr<BlockEngine> engine;
  std::unique_ptr<ForwardArguments> forward;
  std::unique_ptr<BackwardArguments> backward;
};

using Change = std::function<void(Call&, ThreadCommunicator&)>;

/// Makes the call on all ranks and checks that each of them refuses it, before any traffic.
inline void check_all_refuse(const std::string& fragment, Pass pass, Schedule schedule,
                             const Change& change) {
  INFO("expected in the sentence: " << fragment);
  std::vector<Outcome> outcomes(kRanks);
  std::vector<Traffic> traffic(kRanks);
  run_ranks(kRanks,
            [&](ThreadCommunicator& comm) {
              const auto r = static_cast<std::size_t>(comm.rank());
              Call call;
              call.engine = std::make_unique<CostEngine>(comm, BlockCost{});
              call.forward = std::make_unique<ForwardArguments>(*call.engine, call.problem, comm.rank());
              call.backward =
                  std::make_unique<BackwardArguments>(*call.engine, call.problem, schedule, comm.rank());
              change(call, comm);
              outcomes[r] = outcome_of([&] {
                if (pass == Pass::kForward) {
                  ring_forward(comm, *call.engine, call.problem, call.forward->q, call.forward->kv);
                } else {
                  ring_backward(comm, *call.engine, call.problem, schedule, call.backward->q,
                                call.backward->first, call.backward->own, call.backward->output,
                                call.backward->dout);
                }
              });
              traffic[r] = comm.traffic();
            },
            {.carry = carry_nothing});
  for (std::size_t r = 0; r < outcomes.size(); ++r) {
    INFO("rank " << r << ": " << outcomes[r].sentence);
    CHECK(contains(outcomes[r].sentence, fragment));
    CHECK(outcomes[r].code == Code::kWrongCall);
    CHECK(traffic[r] == Traffic{});
  }
}

}  // namespace ringcraft::testing
