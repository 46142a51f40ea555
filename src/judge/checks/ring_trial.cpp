// Runs the ring passes on one worker per rank, and compares values and bytes with the oracle and the theory.
#include "judge/checks/ring_trial.hpp"

#include <cmath>

#include "judge/outcome/comparison.hpp"
#include "judge/wire/exercises.hpp"
#include "verify/oracle/compare.hpp"

namespace ringcraft::judge {
namespace {

void require_extents(const verify::Case& c, int rank, const char* name, const Buffer& got,
                     const Extents& want) {
  if (got.extents() != want || got.dtype() != DType::kFloat64)
    throw Wrong(sign::kValues, "extents", "{}: rank {} returns {} as {} {}, and it must be {} float64",
                c.name, rank, Name{name}, Name{described(got.extents())},
                Name{std::string(name_of(got.dtype()))}, described(want));
}

KvBlock kv_of(const verify::Inputs& inputs, const Sharding& sharding, int rank) {
  return {scatter(inputs.k, sharding, rank), scatter(inputs.v, sharding, rank)};
}

// The first wrong element in a sentence; for a NaN with a remark on its source.
void require_good(const verify::Case& c, const verify::Inputs& inputs, const verify::Answer& got,
                  const verify::Comparison& comparison, const char* where_nan_is, bool reversed = false) {
  if (comparison.good) return;
  verify::Arrangement place = verify::ring_arrangement(c.problem);
  place.reversed = reversed;
  const bool nan = comparison.first && std::isnan(comparison.first->got);
  throw wrong_values(verify::error_maps(comparison, c.problem.sharding()), "{}: {}{}", c.name,
                     verify::described(comparison, c.problem.sharding()), nan ? where_nan_is : "")
      .knowing(facts_of(comparison))
      .exhibiting(
          exhibit_of(verify::AttentionExhibit{verify::whole(c.problem), std::move(place), c.problem,
                                              verify::clone(inputs), verify::clone(got), comparison}));
}

int modulo(int r, int n) { return (r % n + n) % n; }

}  // namespace

Index block_bytes(const Problem& problem, int rank) {
  return problem.kv_extents(modulo(rank, problem.world_size)).elements() * 2 * 8;
}

RingRun run_ring(Trial& trial, const verify::Case& c, DeliveryOptions delivery) {
  const verify::Inputs inputs = verify::make_inputs(c, DType::kFloat64);
  const Sharding sharding = c.problem.sharding();
  std::vector<Bytes> requests;
  for (int rank = 0; rank < c.problem.world_size; ++rank)
    requests.push_back(
        RingForward::request(c.problem, scatter(inputs.q, sharding, rank), kv_of(inputs, sharding, rank)));
  RingRun run;
  with_label(c.name + ": ", [&] {
    run.record = trial.call_ranks<RingForward>(requests, delivery);
    for (const Bytes& reply : run.record.replies)
      run.answers.push_back(
          Trial::read([&] { return RingForward::answer(reply, c.problem, Buffer(), KvBlock()); }));
  });
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
  require_good(c, inputs, whole,
               verify::compare_exact(whole, verify::oracle(p, inputs), verify::Expect::kForward),
               "; a receive buffer that is read before its wait is full of NaN");
}

RingRun require_right_ring(Trial& trial, const verify::Case& c, DeliveryOptions delivery) {
  RingRun run = run_ring(trial, c, delivery);
  require_right(c, run);
  trial.note_right(c);
  return run;
}

void require_driven_ring(Trial& trial, const verify::Case& c) {
  try {
    require_right_ring(trial, c);
  } catch (const Wrong& wrong) {
    throw wrong.exhibiting(nullptr);
  }
}

std::vector<Index> ring_bytes(const Problem& problem, int steps, int direction) {
  const int n = problem.world_size;
  std::vector<Index> bytes(static_cast<std::size_t>(n * n), 0);
  for (int rank = 0; rank < n; ++rank)
    for (int t = 0; t < steps; ++t)
      bytes[static_cast<std::size_t>(rank * n + modulo(rank + direction, n))] +=
          block_bytes(problem, rank - direction * t);
  return bytes;
}

std::vector<Index> routed_bytes(const Problem& problem, Pass pass, Schedule schedule) {
  const int n = problem.world_size;
  std::vector<Index> bytes(static_cast<std::size_t>(n * n), 0);
  for (const RingTransfer& transfer : ring_messages(problem, pass, schedule))
    bytes[static_cast<std::size_t>(transfer.from * n + transfer.to)] += bytes_of(transfer, {8, 8});
  return bytes;
}

const std::vector<Index>& plan_of(const CallRecord& record, const std::vector<Index>& routed,
                                  const std::vector<Index>& all) {
  const int n = static_cast<int>(record.replies.size());
  for (int from = 0; from < n; ++from)
    for (int to = 0; to < n; ++to)
      if (record.moved(from, to) > routed[static_cast<std::size_t>(from * n + to)]) return all;
  return routed;
}

// ---- backward

RingBackwardRun run_ring_backward(Trial& trial, const verify::Case& c, Schedule schedule,
                                  DeliveryOptions delivery) {
  const Problem& p = c.problem;
  const Sharding sharding = p.sharding();
  const verify::Inputs inputs = verify::make_inputs(c, DType::kFloat64);
  RingBackwardRun run{c, schedule, verify::oracle(p, inputs), {}, {}};
  run.c.name += ", schedule " + std::string(schedule == Schedule::kForward ? "forward" : "reversed");
  const int back = schedule == Schedule::kReversed ? hops(p) : 0;
  std::vector<Bytes> requests;
  for (int rank = 0; rank < p.world_size; ++rank) {
    const Output output{scatter(run.want.value.out, sharding, rank),
                        scatter(run.want.value.lse, sharding, rank)};
    requests.push_back(RingBackward::request(p, schedule, scatter(inputs.q, sharding, rank),
                                             kv_of(inputs, sharding, modulo(rank - back, p.world_size)),
                                             kv_of(inputs, sharding, rank), output,
                                             scatter(inputs.dout, sharding, rank)));
  }
  with_label(run.c.name + ": ", [&] {
    run.record = trial.call_ranks<RingBackward>(requests, delivery);
    for (const Bytes& reply : run.record.replies)
      run.answers.push_back(Trial::read([&] {
        return RingBackward::answer(reply, p, schedule, Buffer(), KvBlock(), KvBlock(), Output(), Buffer());
      }));
  });
  return run;
}

void require_right(const RingBackwardRun& run) {
  const Problem& p = run.c.problem;
  const Sharding sharding = p.sharding();
  verify::Answer whole = verify::clone(run.want.value);  // out and lse are given, not judged
  for (Buffer* gradient : {&whole.dq, &whole.dk, &whole.dv})
    *gradient = Buffer(gradient->extents(), DType::kFloat64);
  for (int rank = 0; rank < p.world_size; ++rank) {
    const RingGradients& got = run.answers[static_cast<std::size_t>(rank)].result;
    require_extents(run.c, rank, "dq", got.dq, p.q_extents(rank));
    require_extents(run.c, rank, "dk", got.dkv.k, p.kv_extents(rank));
    require_extents(run.c, rank, "dv", got.dkv.v, p.kv_extents(rank));
    gather(whole.dq, got.dq, sharding, rank);
    gather(whole.dk, got.dkv.k, sharding, rank);
    gather(whole.dv, got.dkv.v, sharding, rank);
  }
  require_good(run.c, verify::make_inputs(run.c, DType::kFloat64), whole,
               verify::compare_exact(whole, run.want),
               "; new buffers are full of NaN, and so is a receive buffer that is read before its wait",
               run.schedule == Schedule::kReversed);
}

RingBackwardRun require_right_backward(Trial& trial, const verify::Case& c, Schedule schedule,
                                       DeliveryOptions delivery) {
  RingBackwardRun run = run_ring_backward(trial, c, schedule, delivery);
  require_right(run);
  return run;
}

std::vector<Index> ring_backward_bytes(const Problem& problem, Schedule schedule, int direction) {
  const int n = problem.world_size, hops_on = direction * hops(problem);
  std::vector<Index> bytes(static_cast<std::size_t>(n * n), 0);
  const auto add = [&](int from, int to, int block, int tensors) {
    bytes[static_cast<std::size_t>(from * n + modulo(to, n))] += tensors * block_bytes(problem, block);
  };
  for (int rank = 0; rank < n; ++rank)
    for (int t = 0; t != hops_on; t += direction) {  // 2: the block, and the sum of its gradients
      if (schedule == Schedule::kForward)
        add(rank, rank + direction, rank - t, 2);
      else
        add(rank, rank - direction, rank - hops_on + t, 2);
    }
  if (schedule == Schedule::kForward && hops_on != 0)
    for (int rank = 0; rank < n; ++rank) add(rank, rank - hops_on, rank - hops_on, 1);
  return bytes;
}

// ---- bytes moved

std::optional<Wrong> other_bytes(const CallRecord& record, const std::vector<Index>& theory) {
  const int n = static_cast<int>(record.replies.size());
  for (int from = 0; from < n; ++from)
    for (int to = 0; to < n; ++to) {
      const Index got = record.moved(from, to), want = theory[static_cast<std::size_t>(from * n + to)];
      if (got != want)
        return Wrong(sign::kCounts, "bytes", "rank {} sends {} bytes to rank {}, and theory says {}", from,
                     got, to, want);
    }
  return {};
}

// ---- for a diagnosis

verify::TravelExhibit stuck_exhibit(const Misbehaviour& misbehaviour, int ranks, int exchanges,
                                    std::vector<Index> block) {
  verify::TravelExhibit stuck{ranks, exchanges};
  stuck.block = std::move(block);
  stuck.refused = misbehaviour.refused();
  if (misbehaviour.kind() == Misbehaviour::Kind::kMessages)
    for (const RankLog& log : misbehaviour.logs()) {
      auto& party = stuck.parties.emplace_back();
      party.ended = log.answered;
      for (const Started& message : log.started)
        party.started.push_back({message.op == Op::kSend, message.peer, message.bytes});
    }
  return stuck;
}

verify::Exhibit exhibit_of_stuck(const Problem& problem, const std::function<void()>& action) {
  try {
    action();
  } catch (const Wrong&) {
  } catch (const Misbehaviour& misbehaviour) {
    const int n = problem.world_size;
    std::vector<Index> block;
    for (int rank = 0; rank < n; ++rank) block.push_back(block_bytes(problem, rank));
    verify::TravelExhibit stuck = stuck_exhibit(misbehaviour, n, hops(problem), std::move(block));
    for (int rank = 0; rank < n; ++rank)
      for (int other = 0; other < n; ++other)
        stuck.sees.push_back(key_ranges(problem, rank, other).pairs() > 0);
    return exhibit_of(std::move(stuck));
  }
  return nullptr;
}

verify::Exhibit exhibit_of_turns(const std::function<CallRecord(DeliveryOptions)>& make) {
  using Turn = verify::TravelExhibit::Turn;
  const auto wrong = [&](DeliveryOptions delivery) {
    try {
      make(delivery);
    } catch (const Wrong&) {
      return true;
    }
    return false;
  };
  const auto turned = [](Turn turn) { return exhibit_of(verify::TravelExhibit{.turn = turn}); };
  if (wrong({})) return nullptr;
  if (wrong({.sending = Sending::kAtWait})) return turned(Turn::kLate);
  for (const std::uint64_t seed : {1, 2, 3})
    if (wrong({.seed = seed})) return turned(Turn::kShuffled);
  if (make({}).replies != make({}).replies) return turned(Turn::kAgain);
  return nullptr;
}

}  // namespace ringcraft::judge
