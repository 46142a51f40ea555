// Builds the contestants of bench and runs their rounds.
#include "tool/bench/bench_runs.hpp"

#include <chrono>
#include <ctime>
#include <memory>

#include "ringcraft/attention/host_engine.hpp"
#include "ringcraft/attention/products.hpp"
#include "ringcraft/comm/threads.hpp"
#include "ringcraft/core/random.hpp"
#include "ringcraft/parallel/run.hpp"
#include "tool/bench/bench_peak.hpp"

namespace ringcraft::tool {
namespace {

constexpr int kRanks = 4;

// Inputs of one head, and the results of a forward pass: shared by the contestants of a head_dim and
// mask.
struct Inputs {
  Problem problem;
  KeyRanges ranges;
  Buffer q, dout;
  KvBlock kv;
  Output output;

  Inputs(Index tokens, Index head_dim, const Mask& mask)
      : problem(make_problem({.batch = 1, .heads = 1, .kv_heads = 1, .seqlen = tokens, .head_dim = head_dim},
                             mask, Layout::kContiguous, 1)),
        ranges(key_ranges(problem, 0, 0)) {
    Random random(1);
    const auto normal = [&] { return random_normal(problem.q_extents(0), DType::kFloat32, random); };
    q = normal();
    kv = {normal(), normal()};
    dout = normal();
    HostEngine<float> engine;
    output = forward(engine);
  }

  Output forward(BlockEngine& engine) const {
    RowState state = engine.begin(q);
    engine.forward(state, q, kv, ranges, problem.softmax_scale);
    return engine.finish(std::move(state));
  }

  void backward(BlockEngine& engine) const {
    const Buffer delta = engine.delta(output.out, dout);
    Buffer dq = engine.allocate(q.extents(), Role::kAccumulator);
    engine.set_zero(dq);
    KvBlock part{engine.allocate(kv.k.extents(), Role::kAccumulator),
                 engine.allocate(kv.v.extents(), Role::kAccumulator)};
    engine.backward(dq, part, {q, output.out, output.lse, dout, delta}, kv, ranges, problem.softmax_scale);
  }

  void run(Pass pass, BlockEngine& engine) const {
    if (pass == Pass::kForward)
      forward(engine);
    else
      backward(engine);
  }

  // Two products of rows x keys x head_dim forward, five backward, of visible pairs only.
  double flop(Pass pass) const {
    return (pass == Pass::kForward ? 4.0 : 10.0) *
           static_cast<double>(ranges.pairs() * problem.shape.head_dim);
  }
};

// A ring of thread ranks over the same inputs; the backward pass starts from the results of the forward pass.
class Ring {
 public:
  explicit Ring(std::shared_ptr<const Inputs> inputs)
      : inputs_(std::move(inputs)), problem_(inputs_->problem) {
    problem_.world_size = kRanks;
    for (int r = 0; r < kRanks; ++r)
      ranks_.push_back({std::make_unique<HostEngine<float>>(), {kRing, problem_}});
    run(Pass::kForward);
  }

  void run(Pass pass) {
    const WholeInputs whole{inputs_->q, inputs_->kv.k, inputs_->kv.v, inputs_->dout};
    run_ranks(kRanks, [&](ThreadCommunicator& comm) {
      Rank& rank = ranks_[static_cast<std::size_t>(comm.rank())];
      HostPlace place(comm, *rank.engine);
      if (pass == Pass::kForward)
        rank.run.forward(place, whole);
      else
        rank.run.backward(place, whole);
    });
  }

 private:
  struct Rank {
    std::unique_ptr<HostEngine<float>> engine;  // keeps its memory from pass to pass
    RankRun run;
  };

  std::shared_ptr<const Inputs> inputs_;
  Problem problem_;
  std::vector<Rank> ranks_;
};

template <class Body>
Seconds timed(Body body) {
  const auto processor = [] {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  };
  const auto wall = std::chrono::steady_clock::now();
  const double start = processor();
  body();
  return {processor() - start,
          std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count()};
}

// c += a b of 1024 x 1024 numbers each, by Eigen.
Contestant eigen_product() {
  constexpr Index kSide = 1024;
  Random random(2);
  const auto square = [&] {
    return std::make_shared<Buffer>(random_normal({1, 1, kSide, kSide}, DType::kFloat32, random));
  };
  return {kEigen, 2.0 * kSide * kSide * kSide, [a = square(), b = square(), c = square()] {
            return timed([&] {
              multiply_add<float>(head_of<float>(std::as_const(*a), 0, 0),
                                  head_of<float>(std::as_const(*b), 0, 0), 1, head_of<float>(*c, 0, 0));
            });
          }};
}

// The contestants of one head_dim and mask.
void add_attention(std::vector<Contestant>& all, const BenchSettings& settings, Index head_dim, bool causal,
                   Torch* torch) {
  const auto inputs =
      std::make_shared<const Inputs>(settings.tokens, head_dim, causal ? causal_mask() : full_mask());
  const auto ring = causal ? nullptr : std::make_shared<Ring>(inputs);
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    const auto add = [&](Who who, std::function<Seconds()> run) {
      all.push_back({name_of(who, pass, head_dim, causal), inputs->flop(pass), std::move(run)});
    };
    const auto add_engine = [&](Who who, const HostOptions& options) {
      const auto engine = std::make_shared<HostEngine<float>>(options);  // keeps its memory, as a rank's does
      add(who, [=] { return timed([&] { inputs->run(pass, *engine); }); });
    };
    add_engine(Who::kReadable, {.kernel = Kernel::kReadable});
    add_engine(Who::kFast, {});
    const auto add_torch = [&](Who who, int threads) {  // a head for each thread
      all.push_back(
          {name_of(who, pass, head_dim, causal), threads * inputs->flop(pass), [=, tokens = settings.tokens] {
             return torch->run({pass, threads, tokens, head_dim, causal, threads});
           }});
    };
    if (torch != nullptr) add_torch(Who::kTorch, 1);
    if (settings.threads > 1) {
      add_engine(Who::kThreads, {.threads = settings.threads});
      if (torch != nullptr) add_torch(Who::kTorchThreads, settings.threads);
    }
    if (ring) add(Who::kRing, [=] { return timed([&] { ring->run(pass); }); });
  }
}

}  // namespace

std::string name_of(Who who, Pass pass, Index head_dim, bool causal) {
  const bool forward = pass == Pass::kForward;
  const std::string names[] = {forward ? "105" : "106", "108",     "108 on threads",
                               "108 on a ring of 4",    "PyTorch", "PyTorch on threads"};
  return names[static_cast<std::size_t>(who)] + (forward ? " forward" : " backward") + ", head_dim " +
         std::to_string(head_dim) + (causal ? ", causal" : ", full");
}

std::vector<Contestant> contestants(const BenchSettings& settings, Torch* torch) {
  std::vector<Contestant> all{{kPeak, peak_flop(), [] { return timed(run_peak); }}, eigen_product()};
  for (const Index head_dim : kHeadDims)
    for (const bool causal : {false, true}) add_attention(all, settings, head_dim, causal, torch);
  return all;
}

std::vector<Timing> run_rounds(const std::vector<Contestant>& contestants, int rounds,
                               const std::function<void(std::size_t, const std::string&)>& progress) {
  std::vector<Timing> timings;
  for (const Contestant& contestant : contestants) timings.push_back({contestant.name, contestant.flop, {}});
  std::size_t done = 0;
  for (int round = 0; round <= rounds; ++round)
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      progress(done++, contestants[i].name);
      const Seconds seconds = contestants[i].run();
      if (round > 0) timings[i].rounds.push_back(seconds);  // round 0 warms up
    }
  return timings;
}

}  // namespace ringcraft::tool
