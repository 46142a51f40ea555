// Implements the subjects of this process: attention on one device, and a method on thread ranks, which runs
// each pass under its own switchboard. Measures time, memory and traffic.
#include "verify/ladder/subject.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/parallel/recording.hpp"
#include "ringcraft/ring/refuse.hpp"
#include "verify/ladder/clocked_engine.hpp"
#include "verify/ladder/single_device_cost.hpp"
#include "verify/ladder/whole.hpp"

namespace ringcraft::verify {

Index PassCost::bytes_sent() const {
  Index most = 0;
  for (const Traffic& t : traffic) most = std::max(most, t.bytes_sent);
  return most;
}

Index PassCost::peak() const {
  return peak_bytes.empty() ? 0 : *std::max_element(peak_bytes.begin(), peak_bytes.end());
}

double PassCost::longest() const { return clock.empty() ? 0 : *std::max_element(clock.begin(), clock.end()); }

double PassCost::imbalance() const {
  std::vector<Index> pairs;
  for (const Work& w : work) pairs.push_back(w.pairs);
  return ringcraft::imbalance(pairs);
}

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A run on thread ranks: one switchboard per pass, so that both passes begin at virtual time 0.
class ThreadRun {
 public:
  ThreadRun(const Problem& problem, const Inputs& inputs, const RanksOptions& options)
      : problem_(problem), inputs_(inputs), options_(options) {
    for (int rank = 0; rank < problem.world_size; ++rank)
      ranks_.push_back({{*options.method, problem, options.options}, std::make_shared<MemoryMeter>()});
  }

  PassCost forward() {
    return measured(options_.seconds_per_pair,
                    [&](RankRun& run, RankPlace& place) { run.forward(place, whole(inputs_)); });
  }
  PassCost backward() {
    return measured(2.5 * options_.seconds_per_pair,
                    [&](RankRun& run, RankPlace& place) { run.backward(place, whole(inputs_)); });
  }
  Answer gathered() {
    Answer answer;
    on_ranks(0, nullptr, [&](Rank& rank, RankPlace& place) {
      WholeResult result = rank.run.gathered(place);
      if (place.comm().rank() == 0) answer = answer_of(std::move(result));
    });
    return answer;
  }

 private:
  struct Rank {
    RankRun run;
    std::shared_ptr<MemoryMeter> meter;  // of both passes: buffers left by the first count in the second
  };

  template <class Pass>
  PassCost measured(double seconds_per_pair, Pass pass) {
    PassCost cost;
    cost.work.resize(ranks_.size());
    if (options_.trace) cost.trace.emplace(problem_.world_size);
    const auto start = std::chrono::steady_clock::now();
    const auto on_rank = [&](Rank& rank, RankPlace& place) {
      pass(rank.run, place);
      cost.work[static_cast<std::size_t>(place.comm().rank())] = place.engine().work();
    };
    RanksReport report = on_ranks(seconds_per_pair, cost.trace ? &*cost.trace : nullptr, on_rank);
    cost.seconds = seconds_since(start);
    cost.traffic = std::move(report.traffic);
    cost.clock = std::move(report.clock);
    for (const Rank& rank : ranks_) cost.peak_bytes.push_back(rank.meter->peak());
    return cost;
  }

  template <class Body>
  RanksReport on_ranks(double seconds_per_pair, Trace* trace, Body body) {
    const auto run_rank = [&](ThreadCommunicator& host) {
      Rank& rank = ranks_[static_cast<std::size_t>(host.rank())];
      const MeterScope scope(rank.meter);
      RankTrace* const own = part_of(trace, host.rank());
      const auto at = [&](RankPlace& place) { body(rank, place); };
      if (options_.at_place) return options_.at_place(host, own, at);
      ClockedEngine engine(make_host_engine(inputs_.q.dtype(), options_.engine), host, seconds_per_pair,
                           problem_.shape.batch * problem_.shape.heads);
      HostPlace place(host, engine, own);
      at(place);
    };
    return options_.start(problem_.world_size, run_rank, options_.board);
  }

  const Problem& problem_;
  const Inputs& inputs_;
  const RanksOptions& options_;
  std::vector<Rank> ranks_;
};

// "256x256"
std::string text_of(TileSize tile) { return std::to_string(tile.rows) + "x" + std::to_string(tile.keys); }

class SingleDeviceSubject final : public Subject {
 public:
  SingleDeviceSubject(Algorithm algorithm, TileSize tile) : algorithm_(algorithm), tile_(tile) {}

  std::string name() const override {
    switch (algorithm_) {
      case Algorithm::kDense:
        return "dense";
      case Algorithm::kBlockwise:
        return "blockwise " + text_of(tile_);
      case Algorithm::kFast:
        return "fast";
    }
    return "?";
  }
  Answer answer(const Problem& problem, const Inputs& inputs) override {
    return run_single_device(algorithm_, problem, inputs, tile_);
  }

 private:
  Algorithm algorithm_;
  TileSize tile_;
};

class RanksSubject final : public Subject {
 public:
  explicit RanksSubject(RanksOptions options) : options_(std::move(options)) {}

  std::string name() const override {
    const bool fast = options_.engine.kernel == Kernel::kFast;
    return std::string(options_.method->name) + " " + std::string(name_of(options_.options.schedule)) + " " +
           (fast ? "fast" : text_of(options_.engine.tile));
  }
  Answer answer(const Problem& problem, const Inputs& inputs) override {
    return run_over_ranks(problem, inputs, options_);
  }

 private:
  RanksOptions options_;
};

}  // namespace

Answer run_single_device(Algorithm algorithm, const Problem& problem, const Inputs& inputs, TileSize tile,
                         Measurement* measurement) {
  validate(problem);
  require_inputs(problem, inputs);
  const KeyRanges ranges = key_ranges(problem.mask, problem.shape.seqlen);
  const auto meter = std::make_shared<MemoryMeter>();
  Measurement cost;
  Buffer q, dout;
  KvBlock kv;
  Output output;
  measure(cost.forward, meter, ranges.pairs(), [&] {
    q = inputs.q.clone();
    kv = {inputs.k.clone(), inputs.v.clone()};
    output = attention_forward(algorithm, q, kv, ranges, problem.softmax_scale, tile);
  });
  Gradients gradients;
  if (inputs.has_backward())
    measure(cost.backward, meter, ranges.pairs(), [&] {
      dout = inputs.dout.clone();
      gradients = attention_backward(algorithm, q, kv, output, dout, ranges, problem.softmax_scale, tile);
    });
  if (measurement != nullptr) *measurement = std::move(cost);
  return answer_of({std::move(output), std::move(gradients)});
}

Answer run_over_ranks(const Problem& problem, const Inputs& inputs, const RanksOptions& options,
                      Measurement* measurement) {
  validate(problem);
  require_inputs(problem, inputs);
  ThreadRun run(problem, inputs, options);
  Measurement cost;
  cost.forward = run.forward();
  if (inputs.has_backward()) cost.backward = run.backward();
  if (measurement != nullptr) *measurement = std::move(cost);
  return run.gathered();
}

std::unique_ptr<Subject> single_device_subject(Algorithm algorithm, TileSize tile) {
  return std::make_unique<SingleDeviceSubject>(algorithm, tile);
}

std::unique_ptr<Subject> ranks_subject(RanksOptions options) {
  return std::make_unique<RanksSubject>(std::move(options));
}

}  // namespace ringcraft::verify
