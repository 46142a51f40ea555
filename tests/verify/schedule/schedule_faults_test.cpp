// Recorded runs of rings with one planted fault each: the checker reports the fault in one sentence that
// names rank, step and block. Without a fault the same rings pass.
#include <array>
#include <utility>

#include "ringcraft/attention/host_engine.hpp"
#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/comm/threads.hpp"
#include "ringcraft/parallel/recording.hpp"
#include "ringcraft/ring/refuse.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/tensors.hpp"
#include "verify/schedule/schedule.hpp"

namespace ringcraft::verify {
namespace {

using testing::Tensors;

enum class Fault {
  kNone,
  // forward
  kOneStepShort,
  kOwnBlockTwice,
  kLabelOfOwnBlock,
  kSkipsVisibleBlock,
  kKeysAndValuesCrossed,
  kComputesOnArriving,
  kReceivesIntoSent,
  kReceivesTwiceIntoOne,
  kStartsAnew,
  kOneHopTooMany,
  kAllSendFirst,
  kRankLeavesEarly,
  kWrongNeighbour,
  kHalfOfTheKeys,
  // backward
  kNoWayHome,
  kGradientsStay,
  kShareTwice,
  kShareForgotten,
  kSumOfAnotherBlock,
  kAddsBeforeArrival,
  kSharesIntoSent,
};

int modulo(int r, int n) { return (r % n + n) % n; }

// The forward ring as of lesson 303, with a fault.
void faulty_forward(Fault fault, Communicator& comm, BlockEngine& engine, const Problem& p, const Buffer& q,
                    const KvBlock& kv) {
  const int n = comm.world_size(), rank = comm.rank();
  int exchanges = hops(p);
  const int direction = fault == Fault::kWrongNeighbour ? -1 : 1;
  const int next = modulo(rank + direction, n), previous = modulo(rank - direction, n);
  if (fault == Fault::kOneStepShort) --exchanges;
  if (fault == Fault::kOneHopTooMany) ++exchanges;
  RowState state = engine.begin(q);
  RowState second = engine.begin(q);
  KvBlock buffers[2];
  const KvBlock* current = &kv;
  for (int t = 0; t <= exchanges; ++t) {
    KvBlock& arriving = buffers[fault == Fault::kReceivesIntoSent ? 0 : t % 2];
    Pending exchange;
    if (t < exchanges) {
      if (arriving.k.extents() == Extents{}) arriving = allocate_kv(engine, p, Role::kElement);
      arriving.set_rows(p.sharding().rows(modulo(rank - t - 1, n)));
      Buffer &k = fault == Fault::kKeysAndValuesCrossed ? arriving.v : arriving.k,
             &v = fault == Fault::kKeysAndValuesCrossed   ? arriving.k
                  : fault == Fault::kReceivesTwiceIntoOne ? arriving.k
                                                          : arriving.v;
      if (fault == Fault::kAllSendFirst) {
        send(comm, next, current->k.bytes());
        send(comm, next, current->v.bytes());
        recv(comm, previous, k.bytes());
        recv(comm, previous, v.bytes());
      } else if (fault == Fault::kRankLeavesEarly && rank == 1 && t == 1) {
        return;
      } else if (fault == Fault::kHalfOfTheKeys) {
        const auto out = current->k.bytes().first(current->k.bytes().size() / 2);
        exchange = comm.start({send_to(next, out), recv_from(previous, k.bytes().first(out.size())),
                               send_to(next, current->v), recv_from(previous, v)});
      } else {
        exchange = comm.start({send_to(next, current->k), send_to(next, current->v), recv_from(previous, k),
                               recv_from(previous, v)});
      }
    }
    const int source = modulo(rank - t, n);
    const bool own_again = fault == Fault::kOwnBlockTwice && t == 1;
    const KvBlock& block = own_again                                       ? kv
                           : fault == Fault::kComputesOnArriving && t == 0 ? arriving
                                                                           : *current;
    const int label = own_again || fault == Fault::kLabelOfOwnBlock ? rank : source;
    KeyRanges ranges = key_ranges(p, rank, label);
    if (fault == Fault::kSkipsVisibleBlock && t == 1) ranges.end = ranges.begin;
    if (t <= hops(p))
      engine.forward(fault == Fault::kStartsAnew && t > 0 ? second : state, q, block, ranges,
                     p.softmax_scale);
    exchange.wait();
    if (t < exchanges) current = &arriving;
  }
}

// The backward ring as of lesson 304, schedule forward, with a fault.
void faulty_backward(Fault fault, Communicator& comm, BlockEngine& engine, const Problem& p,
                     const Saved& saved, const KvBlock& first) {
  const int n = comm.world_size(), rank = comm.rank(), exchanges = hops(p);
  const int next = modulo(rank + 1, n), previous = modulo(rank - 1, n);
  const auto rows = [&](int step) { return p.sharding().rows(modulo(rank - step, n)); };
  Buffer dq = engine.allocate(p.q_extents(rank), Role::kAccumulator);
  engine.set_zero(dq);
  KvBlock kv[2] = {allocate_kv(engine, p, Role::kElement), allocate_kv(engine, p, Role::kElement)};
  KvBlock part = allocate_kv(engine, p, Role::kAccumulator), sum = allocate_kv(engine, p, Role::kAccumulator),
          arriving = allocate_kv(engine, p, Role::kAccumulator);
  const KvBlock* current = &first;
  Pending gradients;
  for (int step = 0; step <= exchanges; ++step) {
    Pending exchange;
    if (step < exchanges) {
      kv[step % 2].set_rows(rows(step + 1));
      exchange = comm.start({send_to(next, current->k), send_to(next, current->v),
                             recv_from(previous, kv[step % 2].k), recv_from(previous, kv[step % 2].v)});
    }
    KvBlock& share = fault == Fault::kSharesIntoSent && step > 0 ? sum : part;
    share.set_rows(rows(step));
    engine.backward(dq, share, saved, *current, key_ranges(p, rank, modulo(rank - step, n)), p.softmax_scale);
    if (fault == Fault::kAddsBeforeArrival && step > 0) engine.add(arriving, part);
    gradients.wait();
    if (step == 0) {
      std::swap(sum, part);
    } else if (fault == Fault::kSumOfAnotherBlock) {
      engine.add(sum, part);
    } else {
      const bool forgets = fault == Fault::kShareForgotten && rank == 1 && step == 1;
      if (fault != Fault::kAddsBeforeArrival && !forgets) engine.add(arriving, part);
      if (fault == Fault::kShareTwice && rank == 1 && step == 1) engine.add(arriving, part);
      std::swap(sum, arriving);
    }
    exchange.wait();
    if (step == exchanges) break;
    current = &kv[step % 2];
    arriving.set_rows(rows(step + 1));
    if (fault != Fault::kGradientsStay)
      gradients = comm.start({send_to(next, sum.k), send_to(next, sum.v), recv_from(previous, arriving.k),
                              recv_from(previous, arriving.v)});
  }
  if (fault == Fault::kNoWayHome || exchanges == 0) return;
  arriving.set_rows(rows(0));
  comm.start({send_to(modulo(rank - exchanges, n), sum.k), send_to(modulo(rank - exchanges, n), sum.v),
              recv_from(modulo(rank + exchanges, n), arriving.k),
              recv_from(modulo(rank + exchanges, n), arriving.v)})
      .wait();
}

struct Planted {
  Fault fault;
  ScheduleClaim claim;
  const char* sentence;  // a part of one violation
};

const Problem& ring_of_three() {
  static const Problem problem = make_problem({1, 2, 1, 12, 2}, full_mask(), Layout::kContiguous, 3);
  return problem;
}

ScheduleProof forward_proof(Fault fault, const Problem& p) {
  Random random(421);
  const Tensors whole = testing::random_tensors(p.shape, DType::kFloat64, random);
  Trace trace(p.world_size);
  try {
    run_ranks(p.world_size, [&](ThreadCommunicator& comm) {
      HostEngine<double> engine;
      const Tensors mine = testing::shard_of(whole, p, comm.rank());
      hold(&trace.rank(comm.rank()), comm.rank(), mine.kv);
      HostPlace place(comm, engine, &trace.rank(comm.rank()));
      const Recording recording(place);
      faulty_forward(fault, comm, engine, p, mine.q, mine.kv);
    });
  } catch (const Error&) {
    // a deadlock: the trace ends where the run ended
  }
  PassCosts costs{.pass = Pass::kForward, .options = {.schedule = Schedule::kForward}, .bytes = {8, 8}};
  ScheduleProof proof = prove_schedule(trace, p, {.costs = costs});
  // Two states, and more buffers than the ring: memory is not under test here.
  std::erase_if(proof.violations,
                [](const Violation& v) { return testing::contains(v.sentence, "holds at most"); });
  return proof;
}

ScheduleProof backward_proof(Fault fault, const Problem& p) {
  Random random(422);
  const Tensors whole = testing::random_tensors(p.shape, DType::kFloat64, random);
  Trace trace(p.world_size);
  run_ranks(p.world_size, [&](ThreadCommunicator& comm) {
    HostEngine<double> engine;
    const Tensors mine = testing::shard_of(whole, p, comm.rank());
    const Buffer out(p.q_extents(comm.rank()), DType::kFloat64),
        lse(p.row_extents(comm.rank()), DType::kFloat64);
    const Buffer delta = engine.delta(out, mine.dout);
    hold(&trace.rank(comm.rank()), comm.rank(), mine.kv);
    HostPlace place(comm, engine, &trace.rank(comm.rank()));
    const Recording recording(place);
    faulty_backward(fault, comm, engine, p, {mine.q, out, lse, mine.dout, delta}, mine.kv);
  });
  return prove_schedule(trace, p, {.forward = false, .backward = true, .costs = {}});
}

void check_found(const Planted& planted, const ScheduleProof& proof) {
  std::string all;
  bool found = false;
  for (const Violation& violation : proof.violations) {
    all += violation.sentence + "\n";
    found = found ||
            (violation.claim == planted.claim && testing::contains(violation.sentence, planted.sentence));
  }
  INFO("fault " << static_cast<int>(planted.fault) << ", expected: " << planted.sentence << "\n" << all);
  CHECK(found);
}

}  // namespace

TEST_CASE("every planted fault of a forward ring has its sentence") {
  using C = ScheduleClaim;
  const Planted kPlanted[] = {
      {Fault::kOneStepShort, C::kPairs,
       "rank 0 never computes its queries against K1, of which it sees 16 pairs"},
      {Fault::kOwnBlockTwice, C::kPairs, "rank 2 computes its queries against K2 2 times: at steps 0 and 1"},
      {Fault::kSkipsVisibleBlock, C::kPairs,
       "rank 0, step 1: computes K2 with the key ranges of another block: 0 visible pairs, where it has 16"},
      {Fault::kKeysAndValuesCrossed, C::kPairs, "rank 1, step 1: computes with V0 as keys and K0 as values"},
      {Fault::kComputesOnArriving, C::kMemory,
       "rank 1, step 0: reads k where a message is still arriving from rank 0"},
      {Fault::kReceivesIntoSent, C::kMemory,
       "rank 0, step 1: receives from rank 2 into the memory of K2, which is still being sent to rank 1"},
      {Fault::kReceivesTwiceIntoOne, C::kMemory,
       "rank 0, step 0: receives from rank 2 into memory where a message of rank 2 is still arriving"},
      {Fault::kStartsAnew, C::kPairs, "rank 1, step 1: adds its block to another out than the block before"},
      {Fault::kOneHopTooMany, C::kCosts, "rank 0 sends messages: 6, and a ring's 4"},
      {Fault::kAllSendFirst, C::kProgress,
       "deadlock: rank 0, step 0, waits to send K0 to rank 1; rank 1, step 0, waits to send K1 to rank 2; "
       "rank 2, "
       "step 0, waits to send K2 to rank 0"},
      {Fault::kRankLeavesEarly, C::kProgress, "rank 1, which has ended"},
      {Fault::kHalfOfTheKeys, C::kPairs,
       "rank 0, step 1: computes with memory that nothing was put into as keys and V2 as values"},
  };
  for (const Planted& planted : kPlanted) {
    const ScheduleProof proof = forward_proof(planted.fault, ring_of_three());
    check_found(planted, proof);
  }
}

TEST_CASE("a wrong label, and a ring that turns the other way, show where the mask tells blocks apart") {
  const Problem causal = make_problem({1, 2, 1, 12, 2}, causal_mask(), Layout::kContiguous, 3);
  check_found(
      {Fault::kLabelOfOwnBlock, ScheduleClaim::kPairs,
       "rank 1, step 1: computes K0 with the key ranges of another block: 10 visible pairs, where it has 16"},
      forward_proof(Fault::kLabelOfOwnBlock, causal));
  check_found(
      {Fault::kWrongNeighbour, ScheduleClaim::kPairs,
       "rank 1, step 1: computes K2 with the key ranges of another block: 16 visible pairs, where it has 0"},
      forward_proof(Fault::kWrongNeighbour, causal));
}

TEST_CASE("a ring that sends blocks where no rank further along needs them is right, and costs more") {
  const Problem causal = make_problem({1, 2, 1, 12, 2}, causal_mask(), Layout::kContiguous, 3);
  const ScheduleProof proof = forward_proof(Fault::kNone, causal);
  std::string sentences;
  for (const Violation& violation : proof.violations) {
    CHECK(violation.claim == ScheduleClaim::kCosts);
    sentences += violation.sentence + "\n";
  }
  CHECK(testing::contains(sentences, "K1 makes 2 hops, and in a ring 1"));
  CHECK(testing::contains(sentences, "K2 makes 2 hops, and in a ring 0"));
  CHECK_FALSE(testing::contains(sentences, "K0 makes"));
}

TEST_CASE("every planted fault of a backward ring has its sentence") {
  using C = ScheduleClaim;
  const Planted kPlanted[] = {
      {Fault::kNoWayHome, C::kGradients, "dK0 ends on rank 2 and not on its owner, rank 0"},
      {Fault::kGradientsStay, C::kGradients, "rank 1, step 1: adds dK0 to memory that nothing was put into"},
      {Fault::kShareTwice, C::kGradients, "dK0 on its owner, rank 0, has the share of rank 1 2 times"},
      {Fault::kShareForgotten, C::kGradients, "dK0 on its owner, rank 0, lacks the share of rank 1"},
      {Fault::kSumOfAnotherBlock, C::kGradients, "rank 2, step 1: adds dK1 to dK2"},
      {Fault::kAddsBeforeArrival, C::kMemory,
       "rank 0, step 1: writes dk where a message is still arriving from rank 2"},
      {Fault::kSharesIntoSent, C::kMemory,
       "rank 0, step 1: writes dk where dK0 is still being sent to rank 1"},
  };
  for (const Planted& planted : kPlanted)
    check_found(planted, backward_proof(planted.fault, ring_of_three()));
}

TEST_CASE("without a fault the same rings are right") {
  const Problem ragged = make_problem({1, 4, 2, 17, 2}, causal_mask(), Layout::kZigzag, 5);
  for (const Problem& p : {ring_of_three(), ragged}) {
    CHECK(forward_proof(Fault::kNone, p).good());
    CHECK(backward_proof(Fault::kNone, p).good());
  }
}

}  // namespace ringcraft::verify
