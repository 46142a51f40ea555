// Recorded runs of an all-to-all between rows and heads with one planted fault each, in a copy, a parcel or a
// map of heads: the checker reports it in one sentence that names the rank and the object. Without a fault
// the same run passes.
#include <algorithm>
#include <utility>
#include <vector>

#include "ringcraft/attention/host_engine.hpp"
#include "ringcraft/comm/threads.hpp"
#include "ringcraft/parallel/hybrid/dealt_heads.hpp"
#include "ringcraft/parallel/hybrid/rank_grid.hpp"
#include "ringcraft/parallel/recording.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/tensors.hpp"
#include "verify/schedule/said.hpp"
#include "verify/schedule/schedule.hpp"

namespace ringcraft::verify {
namespace {

using testing::Tensors;

enum class Fault {
  kNone,
  // to heads
  kHeadOfNeighbour,
  kRowsApart,
  kForgetsParcel,
  kCopiesBeforeArrival,
  kPacksWhatIsSent,
  kParcelOfAnother,
  kKeysAndValuesCrossed,
  kOtherKvHead,
  kValuesOfOtherHead,
  kOneHeadTooFew,
  kRangesOfOwnRows,
  // back to rows
  kHeadsTurned,
  kRowsOfSender,
  kKeepsOwnHeads,
  kLseForgotten,
  kStaleOut,
  kShareForgotten,
  kShareTwice,
  kAddsOtherHead,
  kGradientHeadsCrossed,
  kDvIsDk,
};

// Ulysses on as many ranks as there are, forward and backward, with a fault on rank 1.
class FaultyUlysses {
 public:
  FaultyUlysses(Fault fault, Communicator& comm, BlockEngine& engine, const Problem& p, RankTrace& trace)
      : fault_(fault),
        comm_(comm),
        engine_(engine),
        p_(p),
        trace_(trace),
        me_(comm.rank()),
        n_(comm.world_size()) {}

  void run(const Tensors& mine) {
    const Problem column = column_problem(p_, n_);
    const Buffer q = to_heads(mine.q, &DealtHeads::query, 'q');
    const KvBlock kv{
        to_heads(mine.kv.k, &DealtHeads::kv, 'k'),
        to_heads(faulty(Fault::kKeysAndValuesCrossed) ? mine.kv.k : mine.kv.v, &DealtHeads::kv, 'v')};
    KeyRanges ranges = key_ranges(column, 0, 0);
    if (faulty(Fault::kRangesOfOwnRows))  // keys of the other ranks stay unseen
      std::ranges::fill(ranges.end, static_cast<int>(rows(me_)));
    RowState state = engine_.begin(q);
    engine_.forward(state, q, kv, ranges, p_.softmax_scale);
    const Output by_heads = engine_.finish(std::move(state));
    const Buffer out = to_rows(by_heads.out, &DealtHeads::query, 'o'),
                 lse = to_rows(by_heads.lse, &DealtHeads::query, 'l');
    give(&trace_, "out", faulty(Fault::kStaleOut) ? by_heads.out : out);
    if (!faulty(Fault::kLseForgotten)) give(&trace_, "lse", lse);

    const Buffer dout = to_heads(mine.dout, &DealtHeads::query, 'd'),
                 delta = engine_.delta(by_heads.out, dout);
    Buffer dq = engine_.allocate(q.extents(), Role::kAccumulator);
    engine_.set_zero(dq);
    KvBlock part{engine_.allocate(kv.k.extents(), Role::kAccumulator),
                 engine_.allocate(kv.k.extents(), Role::kAccumulator)};
    engine_.backward(dq, part, {q, by_heads.out, by_heads.lse, dout, delta}, kv,
                     KeyRanges(key_ranges(column, 0, 0)), p_.softmax_scale);
    const Buffer dq_rows = to_rows(dq, &DealtHeads::query, 'o');
    const Buffer dk = to_rows(part.k, &DealtHeads::kv, 'g'),
                 dv = to_rows(faulty(Fault::kDvIsDk) ? part.k : part.v, &DealtHeads::kv, 'g');
    give(&trace_, "dq", dq_rows);
    give(&trace_, "dk", dk);
    give(&trace_, "dv", dv);
  }

 private:
  bool faulty(Fault fault) const { return fault_ == fault && me_ == 1; }
  HeadRange heads(int member, HeadRange DealtHeads::*run) const {
    return dealt_heads(p_.shape, n_, member).*run;
  }
  Index rows(int member) const { return p_.sharding().rows(member); }
  RowList apart(int member) const { return RowList(rows(member)); }
  RowList together(int member) const {
    return RowList(rows(member), [=, this] { return joined_rows(p_.sharding(), n_, member); });
  }
  int member(int number) const { return (number + n_) % n_; }

  // Parcels stay to the end: what is allocated later would else begin with what their memory still holds.
  void keep(Buffer& leaving, Buffer& arriving) {
    kept_.push_back(std::move(leaving));
    kept_.push_back(std::move(arriving));
  }

  Buffer to_heads(const Buffer& by_rows, HeadRange DealtHeads::*run, char name) {
    const Extents e = by_rows.extents();
    HeadRange mine = heads(me_, run);
    Index count = mine.count;
    if (name == 'q' && faulty(Fault::kOneHeadTooFew)) --count;
    Buffer whole = engine_.allocate({e.batch, mine.count, p_.shape.seqlen, e.width}, Role::kElement);
    const auto taken = [&](int to) {
      HeadRange heads_of = heads(to, run);
      const bool other_kv = (fault_ == Fault::kOtherKvHead && name != 'q' && name != 'd') ||
                            (fault_ == Fault::kValuesOfOtherHead && name == 'v');
      if (other_kv && to == 1) heads_of.first = p_.shape.kv_heads - 1 - heads_of.first;
      if (name == 'q' && to == me_ && faulty(Fault::kHeadOfNeighbour)) heads_of.first = 0;
      if (name == 'q' && to != me_ && faulty(Fault::kParcelOfAnother)) heads_of = heads(member(to + 1), run);
      return heads_of;
    };
    engine_.copy(whole, by_rows, {taken(me_).first, 0, count, apart(me_), together(me_)});
    Buffer kept_parcel;
    for (int phase = 1; phase < n_; ++phase) {
      const int to = member(me_ + phase), from = member(me_ - phase);
      Buffer leaving = engine_.allocate({e.batch, heads(to, run).count, e.rows, e.width}, Role::kElement),
             arriving = engine_.allocate({e.batch, mine.count, rows(from), e.width}, Role::kElement);
      const RowCopy pack{taken(to).first, 0, heads(to, run).count, apart(me_), apart(me_)},
          unpack{0, 0, count, apart(from),
                 name == 'k' && faulty(Fault::kRowsApart) ? apart(from) : together(from)};
      engine_.copy(leaving, by_rows, pack);
      Pending exchange = comm_.start({send_to(to, leaving), recv_from(from, arriving)});
      if (name == 'q' && faulty(Fault::kPacksWhatIsSent)) engine_.copy(leaving, by_rows, pack);
      const bool early = name == 'v' && faulty(Fault::kCopiesBeforeArrival);
      if (early) engine_.copy(whole, arriving, unpack);
      exchange.wait();
      if (!early && !(name == 'k' && phase == 2 && faulty(Fault::kForgetsParcel)))
        engine_.copy(whole, arriving, unpack);
      keep(leaving, arriving);
    }
    return whole;
  }

  // The parts of all heads; those of one KV head that several ranks have computed are added ('g').
  Buffer to_rows(const Buffer& by_heads, HeadRange DealtHeads::*run, char name) {
    const Extents e = by_heads.extents();
    const Index all = name == 'g' ? p_.shape.kv_heads : p_.shape.heads;
    Buffer whole = engine_.allocate({e.batch, all, rows(me_), e.width}, Role::kAccumulator);
    std::vector<bool> there(static_cast<std::size_t>(all));
    for (int phase = 0; phase < n_; ++phase) {
      const int to = member(me_ + phase), from = member(me_ - phase);
      HeadRange heads_of = heads(from, run);
      Buffer leaving = engine_.allocate({e.batch, e.heads, rows(to), e.width}, Role::kAccumulator),
             arriving = engine_.allocate({e.batch, heads_of.count, rows(me_), e.width}, Role::kAccumulator);
      const bool own_rows = name == 'o' && phase > 0 && rows(to) == rows(me_) && faulty(Fault::kRowsOfSender);
      engine_.copy(leaving, by_heads, {0, 0, e.heads, together(own_rows ? me_ : to), apart(to)});
      if (phase > 0) comm_.start({send_to(to, leaving), recv_from(from, arriving)}).wait();
      if (name == 'o' && faulty(Fault::kHeadsTurned)) heads_of = heads(member(from + 1), run);
      if (name == 'g' && faulty(Fault::kGradientHeadsCrossed)) heads_of.first = all - 1 - heads_of.first;
      if (!(name == 'l' && phase == 0 && faulty(Fault::kKeepsOwnHeads)))
        put(whole, phase == 0 ? leaving : arriving, heads_of, name == 'g', there);
      keep(leaving, arriving);
    }
    return whole;
  }

  void put(Buffer& whole, const Buffer& part, HeadRange heads_of, bool adds, std::vector<bool>& there) {
    const RowCopy into{0, heads_of.first, heads_of.count, apart(me_), apart(me_)},
        out_of{heads_of.first, 0, heads_of.count, apart(me_), apart(me_)};
    const bool second = adds && there[static_cast<std::size_t>(heads_of.first)];
    there[static_cast<std::size_t>(heads_of.first)] = true;
    if (!second || faulty(Fault::kShareForgotten)) return engine_.copy(whole, part, into);
    KvBlock sum{engine_.allocate(part.extents(), Role::kAccumulator), Buffer()},
        term{engine_.allocate(part.extents(), Role::kAccumulator), Buffer()};
    sum.v = engine_.allocate({1, 1, 0, 1}, Role::kAccumulator);
    term.v = engine_.allocate({1, 1, 0, 1}, Role::kAccumulator);
    const RowCopy same{0, 0, heads_of.count, apart(me_), apart(me_)};
    const Index other = p_.shape.kv_heads - 1 - heads_of.first;
    const RowCopy of_other{other, 0, heads_of.count, apart(me_), apart(me_)};
    const bool crossed = faulty(Fault::kAddsOtherHead) && there[static_cast<std::size_t>(other)];
    engine_.copy(sum.k, whole, crossed ? of_other : out_of);
    engine_.copy(term.k, part, same);
    engine_.add(sum, term);
    if (faulty(Fault::kShareTwice)) engine_.add(sum, term);
    engine_.copy(whole, sum.k, into);
  }

  Fault fault_;
  Communicator& comm_;
  BlockEngine& engine_;
  const Problem& p_;
  RankTrace& trace_;
  int me_, n_;
  std::vector<Buffer> kept_;
};

// Four query heads on four ranks, two of which share a KV head.
Problem four_heads() { return make_problem({1, 4, 2, 12, 2}, full_mask(), Layout::kZigzag, 4); }

ScheduleProof proof_with(Fault fault, const Problem& p) {
  Random random(711);
  const Tensors whole = testing::random_tensors(p.shape, DType::kFloat64, random);
  Trace trace(p.world_size);
  run_ranks(p.world_size, [&](ThreadCommunicator& comm) {
    HostEngine<double> engine;
    const Tensors mine = testing::shard_of(whole, p, comm.rank());
    RankTrace& own = trace.rank(comm.rank());
    hold(&own, "q", comm.rank(), mine.q);
    hold(&own, comm.rank(), mine.kv);
    hold(&own, "dout", comm.rank(), mine.dout);
    HostPlace place(comm, engine, &own);
    const Recording recording(place);
    FaultyUlysses(fault, comm, engine, p, own).run(mine);
  });
  return prove_schedule(trace, p, {.forward = true, .backward = true, .costs = {}, .degree = p.world_size});
}

}  // namespace

TEST_CASE("an all-to-all between rows and heads without a fault is right") {
  CHECK(said(proof_with(Fault::kNone, four_heads())) == "");
  CHECK(said(proof_with(Fault::kNone, make_problem({2, 6, 3, 17, 2}, causal_mask(), Layout::kStriped, 3))) ==
        "");
}

TEST_CASE("every planted fault in copies, parcels and maps of heads has its sentence") {
  using C = ScheduleClaim;
  struct Planted {
    Fault fault;
    ScheduleClaim claim;
    const char* sentence;
  };
  const Planted kPlanted[] = {
      {Fault::kHeadOfNeighbour, C::kPairs, "rank 1, step 0: computes with a part of q"},
      {Fault::kRowsApart, C::kPairs, "rank 1, step 0: computes with "},
      {Fault::kForgetsParcel, C::kPairs,
       "rank 1, step 0: computes with memory that nothing was put into as keys"},
      {Fault::kCopiesBeforeArrival, C::kMemory,
       "rank 1, step 0: reads from where a message is still arriving from rank 0"},
      {Fault::kPacksWhatIsSent, C::kMemory,
       "rank 1, step 0: writes to where a part of q1 is still being sent to rank 2"},
      {Fault::kParcelOfAnother, C::kPairs, "rank 2, step 0: computes with "},
      {Fault::kKeysAndValuesCrossed, C::kPairs, "rank 1, step 0: computes with K0-3 (head 0) as keys and "},
      {Fault::kOtherKvHead, C::kPairs,
       "rank 1, step 0: computes q0-3 (head 1) with K0-3 (head 1), which are not the heads that they share"},
      {Fault::kValuesOfOtherHead, C::kPairs,
       "rank 1, step 0: computes with K0-3 (head 0) as keys and V0-3 (head 1) as values"},
      {Fault::kOneHeadTooFew, C::kPairs,
       "rank 1, step 0: computes with memory that nothing was put into as queries"},
      {Fault::kRangesOfOwnRows, C::kPairs,
       "rank 1, step 0: computes K0-3 (head 0) with the key ranges of another block: 36 visible "
       "pairs, where it has 144"},
      {Fault::kHeadsTurned, C::kPairs,
       "rank 1, step 0: gives out with head 3, token 2 of out0-3 (head 3) where head 0, token 2 belongs"},
      {Fault::kRowsOfSender, C::kPairs, "gives out with head 1, token "},
      {Fault::kKeepsOwnHeads, C::kPairs,
       "rank 1, step 0: gives lse with memory that nothing was put into where head 1, token "},
      {Fault::kLseForgotten, C::kPairs, "rank 1 never gives lse1"},
      {Fault::kStaleOut, C::kPairs, "rank 1, step 0: gives out with "},
      {Fault::kShareForgotten, C::kGradients,
       "dK1 on its owner, rank 1, lacks the share of ranks 0-3 in head "},
      {Fault::kShareTwice, C::kGradients, "dK1 on its owner, rank 1, has the share of ranks 0-3 in head "},
      {Fault::kAddsOtherHead, C::kGradients, "rank 1, step 1: adds a part of dK0-3 (head "},
      {Fault::kGradientHeadsCrossed, C::kGradients,
       "rank 1, step 1: gives dk with head 1, token 2 of dK0-3 (head 1) where head 0, token 2 belongs"},
      {Fault::kDvIsDk, C::kGradients, "gives dv with "},
  };
  for (const Planted& planted : kPlanted) {
    const ScheduleProof proof = proof_with(planted.fault, four_heads());
    const bool found = std::ranges::any_of(proof.violations, [&](const Violation& violation) {
      return violation.claim == planted.claim && testing::contains(violation.sentence, planted.sentence);
    });
    INFO("fault " << static_cast<int>(planted.fault) << ", expected: " << planted.sentence << "\n"
                  << said(proof));
    CHECK(found);
  }
}

}  // namespace ringcraft::verify
