// Five wrong rings, and the right one. Read `walk` first: it is the ring of lesson 303, with the habits in
// which the rings differ as parameters.
#include "lessons/303_ring_forward/puzzles/break_it/rings.hpp"

#include <algorithm>
#include <utility>

#include "ringcraft/attention/host_engine.hpp"
#include "ringcraft/comm/threads.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/refuse.hpp"
#include "verify/oracle/compare.hpp"

namespace ringcraft::judge {
namespace {

// No query sees a row of the block at or after `rows`.
KeyRanges within(KeyRanges ranges, Index rows) {
  for (std::vector<int>* bounds : {&ranges.begin, &ranges.end})
    for (int& bound : *bounds) bound = static_cast<int>(std::min<Index>(bound, rows));
  return ranges;
}

Output walk(Communicator& comm, BlockEngine& engine, const Problem& problem, const Buffer& q,
            const KvBlock& kv, const Habit& habit) {
  const int n = comm.world_size(), rank = comm.rank(), exchanges = habit.exchanges(problem);
  const Sharding sharding = problem.sharding();
  RowState state = engine.begin(q);
  KvBlock buffers[2];
  const KvBlock* current = &kv;
  for (int t = 0; t <= exchanges; ++t) {
    const int source = (rank - t + n) % n, label = habit.label(rank, t, n);
    if (habit.leaves_out(problem, rank, source)) continue;
    KvBlock& arriving = buffers[t % 2];
    Pending exchange;
    if (t < exchanges) {
      if (arriving.k.extents() == Extents{}) arriving = allocate_kv(engine, problem, Role::kElement);
      arriving.set_rows(sharding.rows((source + n - 1) % n));
      exchange =
          comm.start({send_to((rank + 1) % n, current->k), send_to((rank + 1) % n, current->v),
                      recv_from((rank + n - 1) % n, arriving.k), recv_from((rank + n - 1) % n, arriving.v)});
    }
    const Index rows = std::min(habit.rows(problem, source), sharding.rows(source));
    engine.forward(state, q, *current, within(key_ranges(problem, rank, label), rows), problem.softmax_scale);
    exchange.wait();
    if (t < exchanges) current = &arriving;
  }
  return engine.finish(std::move(state));
}

// ---- the mistakes

int label_of_the_other_direction(int rank, int t, int n) { return (rank + t) % n; }

Index equal_rows(const Problem& p, int) { return p.shape.seqlen / p.world_size; }

bool masked_by_rank(const Problem& p, int rank, int source) { return p.mask.right == 0 && source > rank; }

int whole_shards_of_the_window(const Problem& p) {
  if (p.mask.left == kNoLimit) return hops(p);
  return static_cast<int>(std::min<Index>(p.mask.left / p.sharding().largest_rows(), p.world_size - 1));
}

// [batch, kv_heads, seqlen, head_dim] with as many heads as there are query heads.
Buffer repeated(const Buffer& whole, Index heads) {
  Extents extents = whole.extents();
  const Index kv_heads = std::exchange(extents.heads, heads);
  Buffer made(extents, whole.dtype());
  const std::size_t head_bytes = whole.bytes().size() / static_cast<std::size_t>(extents.batch * kv_heads);
  for (Index b = 0; b < extents.batch; ++b)
    for (Index h = 0; h < heads; ++h)
      std::ranges::copy(whole.bytes().subspan(
                            static_cast<std::size_t>(b * kv_heads + h % kv_heads) * head_bytes, head_bytes),
                        made.bytes().begin() + static_cast<std::ptrdiff_t>(b * heads + h) *
                                                   static_cast<std::ptrdiff_t>(head_bytes));
  return made;
}

// ---- running one of them

verify::Answer answer_of(const Habit& habit, Problem problem, const verify::Inputs& inputs) {
  const Sharding sharding = problem.sharding();
  Buffer k = inputs.k.clone(), v = inputs.v.clone();
  if (habit.repeats_heads) {
    k = repeated(k, problem.shape.heads);
    v = repeated(v, problem.shape.heads);
    problem.shape.kv_heads = problem.shape.heads;
  }
  std::vector<Output> outputs(static_cast<std::size_t>(problem.world_size));
  run_ranks(problem.world_size, [&](ThreadCommunicator& comm) {
    const int rank = comm.rank();
    const auto engine = make_host_engine(DType::kFloat64, {.kernel = Kernel::kReadable, .tile = {8, 8}});
    outputs[static_cast<std::size_t>(rank)] =
        walk(comm, *engine, problem, scatter(inputs.q, sharding, rank),
             {scatter(k, sharding, rank), scatter(v, sharding, rank)}, habit);
  });
  verify::Answer whole;
  whole.out = Buffer(inputs.q.extents(), DType::kFloat64);
  whole.lse = Buffer({problem.shape.batch, problem.shape.heads, problem.shape.seqlen, 1}, DType::kFloat64);
  for (int rank = 0; rank < problem.world_size; ++rank) {
    gather(whole.out, outputs[static_cast<std::size_t>(rank)].out, sharding, rank);
    gather(whole.lse, outputs[static_cast<std::size_t>(rank)].lse, sharding, rank);
  }
  return whole;
}

}  // namespace

const std::vector<WrongRing>& wrong_rings() {
  static const std::vector<WrongRing> rings{
      {"A",
       "takes the block that it holds at step t for that of rank r + t",
       "Where every key is visible no label matters, and with few ranks r + t and r - t are the same.",
       {.label = label_of_the_other_direction},
       6},
      {"B",
       "gives every rank tokens / ranks rows and forgets the rest",
       "What is the remainder of the division, and when is it 0?",
       {.rows = equal_rows},
       2},
      {"C",
       "repeats the KV heads one after another: 0 1 0 1, where 0 0 1 1 is meant",
       "For how many KV heads are the two orders the same?",
       {.repeats_heads = true},
       4},
      {"D",
       "leaves out a step, exchange included, when a causal mask hides blocks of later ranks",
       "Which rank still needs a block that this rank would have passed on?",
       {.leaves_out = masked_by_rank},
       6},
      {"E",
       "stops after window / shard exchanges, rounded down",
       "The first row of a shard looks back the whole window: into how many shards?",
       {.exchanges = whole_shards_of_the_window},
       6},
  };
  return rings;
}

Index size_of(const verify::Case& c) {
  return c.problem.world_size * c.problem.shape.seqlen * c.problem.shape.heads;
}

std::string flaw_of(const Habit& habit, const verify::Case& c) {
  verify::Inputs inputs = verify::make_inputs(c, DType::kFloat64);
  inputs.dout = Buffer();  // forward only
  const verify::Oracle oracle = verify::oracle(c.problem, inputs);
  try {
    const verify::Comparison comparison =
        verify::compare_exact(answer_of(habit, c.problem, inputs), oracle, verify::Expect::kForward);
    return comparison.good ? "" : verify::described(comparison, c.problem.sharding());
  } catch (const Error& stopped) {
    return stopped.what();
  }
}

}  // namespace ringcraft::judge
