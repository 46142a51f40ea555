// Runs both passes of a method on fibers, each on a switchboard of its own.
#include "ringcraft/parallel/simulate.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "ringcraft/comm/fibers/fibers.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/parallel/cost_engine.hpp"
#include "ringcraft/parallel/recording.hpp"
#include "ringcraft/parallel/run.hpp"

namespace ringcraft {
namespace {

class Simulator {
 public:
  Simulator(const Method& method, const Problem& problem, const Machine& machine,
            const SimulateOptions& options)
      : problem_(problem), machine_(machine), options_(options) {
    for (int rank = 0; rank < problem.world_size; ++rank)
      ranks_.push_back({{method, problem, options.method}, std::make_shared<MemoryMeter>()});
  }

  SimulatedPass forward(Trace* trace) {
    return run(trace, [&](RankRun& run, RankPlace& place) {
      const int rank = place.comm().rank();
      const auto element = [&](const Extents& extents) {
        return place.engine().allocate(extents, Role::kElement);
      };
      Buffer q = element(problem_.q_extents(rank));
      KvBlock kv{element(problem_.kv_extents(rank)), element(problem_.kv_extents(rank))};
      run.forward(place, std::move(q), std::move(kv), options_.last);
    });
  }

  SimulatedPass backward(Trace* trace) {
    return run(trace, [&](RankRun& run, RankPlace& place) {
      run.backward(place, place.engine().allocate(problem_.q_extents(place.comm().rank()), Role::kElement));
    });
  }

 private:
  struct Rank {
    RankRun run;
    std::shared_ptr<MemoryMeter> meter;  // of both passes: buffers left by the first count in the second
  };

  SimulatedPass run(Trace* trace, const std::function<void(RankRun&, RankPlace&)>& body) {
    SimulatedPass pass;
    pass.computing.resize(ranks_.size());
    pass.pairs.resize(ranks_.size());
    RanksReport report = run_fibers(
        problem_.world_size,
        [&](ThreadCommunicator& comm) {
          const auto r = static_cast<std::size_t>(comm.rank());
          const MeterScope scope(ranks_[r].meter);
          const auto cost = [&](Pass which) { return machine_.block(problem_.shape, which, comm.rank()); };
          CostEngine engine(comm, {machine_.dtype(Role::kElement), machine_.dtype(Role::kAccumulator)},
                            cost(Pass::kForward), cost(Pass::kBackward),
                            problem_.shape.batch * problem_.shape.heads);
          engine.count_in(options_.done);
          engine.stop_at(options_.stop);
          HostPlace place(comm, engine, part_of(trace, comm.rank()));
          body(ranks_[r].run, place);
          pass.computing[r] = engine.seconds();
          pass.pairs[r] = engine.work().pairs;
        },
        {.link_of = [this](int from, int to) { return machine_.link(from, to); }, .carry = carry_nothing});
    pass.traffic = std::move(report.traffic);
    pass.clock = std::move(report.clock);
    for (const Rank& rank : ranks_) pass.peak_bytes.push_back(rank.meter->peak());
    return pass;
  }

  const Problem& problem_;
  const Machine& machine_;
  const SimulateOptions& options_;
  std::vector<Rank> ranks_;
};

// Appends the events of a pass that begins at this virtual time. Wall time means nothing here: it becomes the
// same.
void append(Trace& whole, const Trace& pass, double begin) {
  for (int rank = 0; rank < whole.world_size(); ++rank) {
    const std::size_t before = whole.rank(rank).events().size();
    for (TraceEvent event : pass.rank(rank).events()) {
      for (TraceTime* time : {&event.begin, &event.end}) time->wall = time->virtual_ += begin;
      event.waits_for += before;
      whole.rank(rank).append(std::move(event));
    }
  }
}

// Speeds that are numbers can give times that are none.
SimulatedPass in_time(SimulatedPass pass) {
  constexpr double kMost = 1e15;  // seconds
  if (!(pass.seconds() < kMost))
    throw Error("machine", "speeds that take less than 1e15 seconds", "slower ones",
                "see docs/pages/simulation.md for an example");
  return pass;
}

}  // namespace

double SimulatedPass::seconds() const { return *std::ranges::max_element(clock); }

int SimulatedPass::slowest() const {
  return static_cast<int>(std::ranges::max_element(computing) - computing.begin());
}

double SimulatedPass::exposed() const {
  const double all = seconds() * static_cast<double>(computing.size());
  return all == 0 ? 0 : std::max(0.0, 1 - std::accumulate(computing.begin(), computing.end(), 0.0) / all);
}

Simulation simulate(const Method& method, const Problem& problem, const Machine& machine,
                    const SimulateOptions& options) {
  validate(problem);
  validate(machine, problem.world_size);
  Simulation result;
  if (options.trace) result.trace.emplace(problem.world_size, *options.trace);
  const auto recorded = [&](double begin, const std::function<SimulatedPass(Trace*)>& run) {
    if (!options.trace) return in_time(run(nullptr));
    Trace trace(problem.world_size, *options.trace);
    SimulatedPass pass = in_time(run(&trace));
    append(*result.trace, trace, begin);
    return pass;
  };
  Simulator simulator(method, problem, machine, options);
  result.forward = recorded(0, [&](Trace* trace) { return simulator.forward(trace); });
  if (options.last == Pass::kBackward)
    result.backward =
        recorded(result.forward.seconds(), [&](Trace* trace) { return simulator.backward(trace); });
  return result;
}

}  // namespace ringcraft
