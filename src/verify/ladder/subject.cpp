// Subjects of this process (see subject.hpp).
#include "verify/ladder/subject.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/recording.hpp"
#include "verify/ladder/clocked_engine.hpp"
#include "verify/ladder/single_device_cost.hpp"

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
  Index most = 0, sum = 0;
  for (const Work& w : work) {
    most = std::max(most, w.pairs);
    sum += w.pairs;
  }
  return most == 0
             ? 0
             : 1 - static_cast<double>(sum) / static_cast<double>(work.size()) / static_cast<double>(most);
}

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// What a rank keeps between its two passes.
struct RankState {
  std::shared_ptr<MemoryMeter> meter = std::make_shared<MemoryMeter>();
  Buffer q;
  KvBlock kv;  // its own; after the forward pass, where the backward pass starts
  Output output;
  RingGradients gradients;
};

// The ring of one answer: its ranks, their state, and how each pass is run.
class RingRun {
 public:
  RingRun(const Problem& problem, const Inputs& inputs, const RingOptions& options)
      : problem_(problem),
        inputs_(inputs),
        options_(options),
        ranks_(static_cast<std::size_t>(problem.world_size)) {}

  PassCost forward() {
    return run(options_.seconds_per_pair,
               [&](Communicator& comm, BlockEngine& engine, RankState& rank, RankTrace* trace) {
                 rank.q = shard(inputs_.q, comm, engine);
                 rank.kv = {shard(inputs_.k, comm, engine), shard(inputs_.v, comm, engine)};
                 hold(trace, comm.rank(), rank.kv);
                 auto [output, last] = ring_forward(comm, engine, problem_, rank.q, rank.kv);
                 rank.output = std::move(output);
                 if (options_.schedule == Schedule::kReversed && last.k.extents() != Extents{})
                   rank.kv = std::move(last);
               });
  }

  PassCost backward() {
    const int n = problem_.world_size, back = options_.schedule == Schedule::kReversed ? hops(problem_) : 0;
    return run(2.5 * options_.seconds_per_pair,
               [&](Communicator& comm, BlockEngine& engine, RankState& rank, RankTrace* trace) {
                 const Buffer dout = shard(inputs_.dout, comm, engine);
                 hold(trace, (comm.rank() - back + n) % n, rank.kv);
                 rank.gradients = ring_backward(comm, engine, problem_, options_.schedule, rank.q, rank.kv,
                                                rank.output, dout);
               });
  }

  Answer gathered() const {
    Answer whole;
    collect(whole.out, [](const RankState& r) -> const Buffer& { return r.output.out; });
    collect(whole.lse, [](const RankState& r) -> const Buffer& { return r.output.lse; });
    if (!inputs_.has_backward()) return whole;
    collect(whole.dq, [](const RankState& r) -> const Buffer& { return r.gradients.dq; });
    collect(whole.dk, [](const RankState& r) -> const Buffer& { return r.gradients.dkv.k; });
    collect(whole.dv, [](const RankState& r) -> const Buffer& { return r.gradients.dkv.v; });
    return whole;
  }

 private:
  Buffer shard(const Buffer& whole, const Communicator& comm, const BlockEngine& engine) const {
    Buffer part = scatter(whole, problem_.sharding(), comm.rank());
    return options_.place == nullptr ? std::move(part) : options_.place->taken(part, engine);
  }

  // One pass on all ranks. The meters live on: what the forward pass left is held in the backward pass.
  template <class Body>
  PassCost run(double seconds_per_pair, Body body) {
    PassCost cost;
    cost.work.resize(ranks_.size());
    if (options_.trace) cost.trace.emplace(problem_.world_size);
    const auto start = std::chrono::steady_clock::now();
    const auto on_rank = [&](Communicator& comm, BlockEngine& engine) {
      const auto r = static_cast<std::size_t>(comm.rank());
      RankTrace* trace = cost.trace ? &cost.trace->rank(comm.rank()) : nullptr;
      const Recording recording(trace, comm, engine);
      body(comm, engine, ranks_[r], trace);
      cost.work[r] = engine.work();
    };
    const auto run_rank = [&](ThreadCommunicator& host) {
      const MeterScope scope(ranks_[static_cast<std::size_t>(host.rank())].meter);
      if (options_.place != nullptr) return options_.place->on_rank(host, on_rank);
      ClockedEngine engine(make_host_engine(inputs_.q.dtype(), options_.engine), host, seconds_per_pair);
      on_rank(host, engine);
    };
    RanksReport report = run_ranks(problem_.world_size, run_rank, options_.board);
    cost.seconds = seconds_since(start);
    cost.traffic = std::move(report.traffic);
    cost.clock = std::move(report.clock);
    for (const RankState& rank : ranks_) cost.peak_bytes.push_back(rank.meter->peak());
    return cost;
  }

  template <class Part>
  void collect(Buffer& whole, Part part) const {
    Extents extents = part(ranks_[0]).extents();
    extents.rows = problem_.shape.seqlen;
    whole = Buffer(extents, inputs_.q.dtype());
    for (int r = 0; r < problem_.world_size; ++r) {
      const Buffer& rows = part(ranks_[static_cast<std::size_t>(r)]);
      if (options_.place == nullptr)
        gather(whole, rows, problem_.sharding(), r);
      else
        gather(whole, options_.place->on_host(rows), problem_.sharding(), r);
    }
  }

  const Problem& problem_;
  const Inputs& inputs_;
  const RingOptions& options_;
  std::vector<RankState> ranks_;
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

class RingSubject final : public Subject {
 public:
  explicit RingSubject(RingOptions options) : options_(options) {}

  std::string name() const override {
    const bool fast = options_.engine.kernel == Kernel::kFast;
    return "ring " + std::string(options_.schedule == Schedule::kForward ? "forward" : "reversed") + " " +
           (fast ? "fast" : text_of(options_.engine.tile));
  }
  Answer answer(const Problem& problem, const Inputs& inputs) override {
    return run_ring(problem, inputs, options_);
  }

 private:
  RingOptions options_;
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
  return {std::move(output.out), std::move(output.lse), std::move(gradients.dq), std::move(gradients.dkv.k),
          std::move(gradients.dkv.v)};
}

Answer run_ring(const Problem& problem, const Inputs& inputs, const RingOptions& options,
                Measurement* measurement) {
  validate(problem);
  require_inputs(problem, inputs);
  RingRun ring(problem, inputs, options);
  Measurement cost;
  cost.forward = ring.forward();
  if (inputs.has_backward()) cost.backward = ring.backward();
  if (measurement != nullptr) *measurement = std::move(cost);
  return ring.gathered();
}

std::unique_ptr<Subject> single_device_subject(Algorithm algorithm, TileSize tile) {
  return std::make_unique<SingleDeviceSubject>(algorithm, tile);
}

std::unique_ptr<Subject> ring_subject(RingOptions options) { return std::make_unique<RingSubject>(options); }

}  // namespace ringcraft::verify
