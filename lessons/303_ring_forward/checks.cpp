// Lesson 303: checks of a ring's forward pass. Every rank is a separate process; the checks compare values
// with the oracle, and the judge measures bytes and deadlocks. Blocks may arrive in any order and from either
// side; the checks count bytes, not messages.
#include <algorithm>

#include "judge/checks/lesson.hpp"
#include "judge/checks/ring_trial.hpp"

namespace ringcraft::judge {
namespace {

using verify::Case;
using verify::Data;

constexpr Shape kSmall{1, 2, 1, 16, 4};  // batch, heads, kv_heads, seqlen, head_dim

Shape with_seqlen(Position seqlen) {
  Shape shape = kSmall;
  shape.seqlen = seqlen;
  return shape;
}

Case make(Trial& trial, int ranks, Mask mask, Shape shape = kSmall, Layout layout = Layout::kContiguous,
          Data data = Data::kNormal) {
  return verify::make_case(make_problem(shape, std::move(mask), layout, ranks), data, trial.seed());
}

Mask packed_mask(std::vector<Position> borders, Position right = 0, Position left = kNoLimit) {
  return {left, right, std::move(borders)};
}

// ---- does it come to an end, and to the right values?

const Check kOneRank{
    .claim = "One rank computes alone and sends nothing.",
    .id = "one-rank",
    .weight = 1,
    .hint = "With one rank there is no neighbour: how many exchanges are left?",
    .run{[](Trial& trial) {
      require_right_ring(trial, make(trial, 1, full_mask()));
      require_right_ring(trial, make(trial, 1, causal_mask()));
    }},
};

const Check kNoDeadlock{
    .claim = "The ring ends on 2 to 5 ranks, under every mask.",
    .id = "no-deadlock",
    .weight = 0,
    .hint =
        "Does any rank receive while all ranks send? And a rank that has nothing to compute must still pass "
        "blocks on.",
    .run{[](Trial& trial) {
      for (const int ranks : {2, 3, 5})
        run_ring(trial, make(trial, ranks, full_mask(), with_seqlen(4 * ranks)));
      run_ring(trial, make(trial, 4, causal_mask()));
      run_ring(trial, make(trial, 4, window_mask(5)));
    }},
};

const Check kFullTwo{
    .claim = "Two ranks, full attention: every row sees both blocks.",
    .id = "full-two",
    .weight = 5,
    .needs = {"no-deadlock"},
    .hint =
        "How many blocks are there, how many did you compute with, and was each complete and in its own "
        "buffer?",
    .run{[](Trial& trial) { require_right_ring(trial, make(trial, 2, full_mask())); }},
};

const Check kFullMore{
    .claim = "Three, four and seven ranks, full attention.",
    .id = "full-more",
    .weight = 2,
    .needs = {"full-two"},
    .hint = "Follow one block around the ring: does every rank meet every block exactly once?",
    .run{[](Trial& trial) {
      for (const int ranks : {3, 4, 7})
        require_right_ring(trial, make(trial, ranks, full_mask(), with_seqlen(ranks == 7 ? 14 : 12)));
      Case own_scale = make(trial, 3, full_mask(), with_seqlen(12));
      own_scale.problem.softmax_scale = 0.3;
      with_label("softmax_scale 0.3: ", [&] { require_right_ring(trial, own_scale); });
    }},
};

const Check kCausal{
    .claim = "Causal attention, contiguous shards.",
    .id = "causal",
    .weight = 3,
    .needs = {"full-more"},
    .hint =
        "At step t, whose keys do you hold? Full attention forgives a wrong answer, a causal mask does not.",
    .run{[](Trial& trial) {
      for (const int ranks : {2, 3, 4})
        require_right_ring(trial, make(trial, ranks, causal_mask(), with_seqlen(24)));
      require_right_ring(trial, make(trial, 7, causal_mask(), with_seqlen(21)));
    }},
};

const Check kLayouts{
    .claim = "Striped, zig-zag and token zig-zag layouts.",
    .id = "layouts",
    .weight = 2,
    .needs = {"causal"},
    .hint =
        "A rank's rows need not be neighbours: ask the problem for the key ranges, do not compute them from "
        "rank numbers.",
    .run{[](Trial& trial) {
      for (const Mask& mask : {causal_mask(), full_mask(), Mask{.left = 3, .right = 2, .cu_seqlens = {}}})
        for (const Layout layout : {Layout::kStriped, Layout::kZigzag, Layout::kZigzagToken})
          require_right_ring(trial, make(trial, 4, mask, kSmall, layout));
      require_right_ring(trial, make(trial, 3, causal_mask(), {3, 2, 1, 18, 4}, Layout::kZigzag));
    }},
};

const Check kRagged{
    .claim = "Lengths that the ranks do not divide, and shards without a row.",
    .id = "ragged",
    .weight = 2,
    .needs = {"full-more"},
    .hint =
        "The block that arrives may be longer or shorter than yours: whose number of rows must the buffer "
        "have?",
    .run{[](Trial& trial) {
      require_right_ring(trial, make(trial, 3, full_mask(), with_seqlen(17)));
      for (const Position tokens :
           {23, 22, 21})  // the two chunks of one rank, of two and of three are uneven
        require_right_ring(trial, make(trial, 4, causal_mask(), with_seqlen(tokens), Layout::kZigzag));
      require_right_ring(trial, make(trial, 5, causal_mask(), with_seqlen(3)));
      require_right_ring(trial, make(trial, 3, full_mask(), with_seqlen(1)));
    }},
};

const Check kWindows{
    .claim = "Sliding windows, the borders of shards included.",
    .id = "windows",
    .weight = 2,
    .needs = {"causal"},
    .hint = "How many shards can a window reach back into? The problem knows the number of hops.",
    .run{[](Trial& trial) {
      for (const Position window : {0, 3, 6, 9, 23})
        require_right_ring(trial, make(trial, 4, window_mask(window), with_seqlen(20)));
      for (const int ranks : {3, 5})  // of 5 there are empty blocks before the last one that is seen
        require_right_ring(trial,
                           make(trial, ranks, window_mask(5), with_seqlen(8 * ranks), Layout::kZigzag));
      for (const Layout layout : {Layout::kContiguous, Layout::kStriped, Layout::kZigzagToken})
        for (const Mask& mask : {window_mask(5), Mask{.left = 4, .right = 6, .cu_seqlens = {}}})
          require_right_ring(trial, make(trial, 3, mask, with_seqlen(20), layout));
    }},
};

const Check kPacked{
    .claim = "Packed sequences whose borders are not those of the shards.",
    .id = "packed",
    .weight = 2,
    .needs = {"causal"},
    .hint =
        "The mask already covers the sequences: pass the engine the key ranges of your rank and the block's "
        "owner.",
    .run{[](Trial& trial) {
      const std::vector<Position> borders{0, 5, 24, 25, 36, 48};
      require_right_ring(trial, make(trial, 4, packed_mask(borders), with_seqlen(48)));
      require_right_ring(trial,
                         make(trial, 3, packed_mask(borders, kNoLimit), with_seqlen(48), Layout::kStriped));
      for (const Layout layout : {Layout::kZigzag, Layout::kZigzagToken, Layout::kContiguous})
        require_right_ring(trial, make(trial, 3, packed_mask(borders, 0, 6), with_seqlen(48), layout));
    }},
};

const Check kGroupedHeads{
    .claim = "Grouped heads (8 on 2, 6 on 3) and a batch of two.",
    .id = "grouped-heads",
    .weight = 1,
    .needs = {"full-two"},
    .hint = "A KV block has kv_heads heads, fewer than q: take its extents from kv, not from q.",
    .run{[](Trial& trial) {
      require_right_ring(trial, make(trial, 3, causal_mask(), {2, 8, 2, 15, 4}));
      require_right_ring(trial, make(trial, 2, full_mask(), {1, 6, 3, 10, 5}));
    }},
};

const Check kHot{
    .claim = "Scores of hundreds and of +-20000, above and below zero.",
    .id = "hot",
    .weight = 1,
    .needs = {"full-two"},
    .hint = "One state (O, m, l) serves all steps: begin it once, finish it once.",
    .run{[](Trial& trial) {
      for (const Data data : {Data::kHot, Data::kNegative, Data::kGap, Data::kHuge})
        require_right_ring(trial, make(trial, 3, causal_mask(), with_seqlen(15), Layout::kContiguous, data));
    }},
};

// ---- does it touch only what it may, when it may?

const Check kInputsUnchanged{
    .claim = "Neither q nor the rank's own KV block is written.",
    .id = "inputs-unchanged",
    .weight = 1,
    .needs = {"full-two"},
    .hint = "Receive into buffers of your own; the caller needs its block for the backward pass.",
    .run{[](Trial& trial) {
      constexpr const char* kNames[] = {"comm", "engine", "problem", "q", "kv"};
      for (const int ranks : {2, 3}) {
        const Case c = make(trial, ranks, full_mask(), with_seqlen(12));
        const RingRun run = run_ring(trial, c);
        for (std::size_t rank = 0; rank < run.answers.size(); ++rank)
          require_unchanged(c.name + ": rank " + std::to_string(rank), run.answers[rank].changed, kNames);
      }
    }},
};

const Check kAnyDelivery{
    .claim = "The result is right at every timing of messages: no buffer is touched while in flight.",
    .id = "any-delivery",
    .weight = 3,
    .needs = {"full-more"},
    .hint =
        "Between start and wait the network owns both buffers: when may you write into the one that you "
        "sent?",
    .run{[](Trial& trial) {
      for (const Sending sending : {Sending::kAtStart, Sending::kAtWait})
        for (const std::uint64_t seed : {1, 2, 3}) {
          Case c = make(trial, seed == 3 ? 5 : 3, causal_mask(), with_seqlen(30), Layout::kZigzag);
          c.name += sending == Sending::kAtWait ? ", bytes leave at wait" : ", bytes leave at start";
          require_right_ring(trial, c, {.seed = seed, .sending = sending});
        }
    }},
};

// ---- does it move what theory says?

void require_bytes(Trial& trial, const Case& c) {
  const int exchanges = hops(c.problem);
  const RingRun run = run_ring(trial, c);
  const auto all = ring_bytes(c.problem, exchanges, 1),
             routed = routed_bytes(c.problem, Pass::kForward, Schedule::kForward);
  const std::vector<Index>& theory = plan_of(run.record, routed, all);
  const std::optional<Wrong> other = other_bytes(run.record, theory);
  const auto n = static_cast<std::size_t>(c.problem.world_size);
  const auto sent = [&](const std::vector<Index>& bytes) {
    Index sum = 0;
    for (std::size_t to = 0; to < n; ++to) sum += bytes[to];
    return static_cast<double>(sum);
  };
  trial.note({"bytes sent by rank 0, " + c.name, sent(run.record.bytes), sent(theory), "B"});
  if (!other || !other_bytes(run.record, ring_bytes(c.problem, exchanges, -1))) return;
  verify::TravelExhibit travels{c.problem.world_size, exchanges, run.record.bytes, theory};
  for (int rank = 0; rank < c.problem.world_size; ++rank)
    travels.block.push_back(block_bytes(c.problem, rank));
  throw other->exhibiting(exhibit_of(travels))
      .labelled(c.name + ": ")
      .followed_by(" (exchanges of one KV block of float64: " + std::to_string(exchanges) + ")");
}

const Check kExactBytes{
    .claim = "Every rank sends exactly the bytes of theory, and makes no extra exchange.",
    .id = "exact-bytes",
    .weight = 3,
    .needs = {"ragged"},
    .hint = "How many hops are needed after the last use of a block, and how many bytes has a block?",
    .run{[](Trial& trial) {
      require_bytes(trial, make(trial, 2, full_mask()));
      require_bytes(trial, make(trial, 4, causal_mask(), {1, 4, 2, 16, 4}, Layout::kZigzag));
      require_bytes(trial, make(trial, 5, full_mask(), with_seqlen(17)));
    }},
};

const Check kWindowExchanges{
    .claim = "A window costs only the exchanges that its reach needs.",
    .id = "window-exchanges",
    .weight = 1,
    .needs = {"windows"},
    .hint = "Every rank makes hops(problem) exchanges, not N - 1: which blocks are not needed by any rank?",
    .run{[](Trial& trial) {
      for (const Position window : {0, 3, 6})
        require_bytes(trial, make(trial, 4, window_mask(window), with_seqlen(20)));
    }},
};

constexpr std::uint64_t kLittleMemory = 12 << 20;

const Check kFewBlocks{
    .claim = "16 ranks in processes of 12 MB, of which all KV blocks would take 8.",
    .id = "few-blocks",
    .weight = 2,
    .needs = {"full-more"},
    .hint =
        "A block that was computed with and passed on is of no use here: how many must a rank hold at a "
        "time?",
    .workers = {.address_bytes = kLittleMemory},
    .run{[](Trial& trial) { require_right_ring(trial, make(trial, 16, full_mask(), kLargeBlocks)); }},
};

// The owner of this block: -1 for no block, -2 for a block that no rank owns.
int owner_of(const KvBlock& block, const verify::Inputs& inputs, const Problem& problem) {
  if (block.k.empty() && block.v.empty()) return -1;
  const auto same = [](const Buffer& a, const Buffer& b) { return std::ranges::equal(a.bytes(), b.bytes()); };
  for (int rank = 0; rank < problem.world_size; ++rank)
    if (same(block.k, scatter(inputs.k, problem.sharding(), rank)) &&
        same(block.v, scatter(inputs.v, problem.sharding(), rank)))
      return rank;
  return -2;
}

// The owner of the block that each rank holds in the end, under one mask.
void require_last_block(Trial& trial, const Mask& mask) {
  const Case c = make(trial, 4, mask, with_seqlen(20));
  const RingRun run = run_ring(trial, c);
  const verify::Inputs inputs = verify::make_inputs(c, DType::kFloat64);
  const int n = c.problem.world_size, exchanges = hops(c.problem);
  verify::TravelExhibit travels{n, exchanges};
  for (const auto& answer : run.answers)
    travels.handed.push_back(owner_of(answer.result.last, inputs, c.problem));
  exhibiting([&] { return travels; },
             [&] {
               for (int rank = 0; rank < n; ++rank) {
                 const int whose = travels.handed[static_cast<std::size_t>(rank)],
                           owner = (rank - exchanges + n) % n;
                 if (exchanges == 0 && whose != -1)
                   throw Wrong(sign::kValues, "last-of-none",
                               "{}: rank {} returns a last block, and nothing was exchanged", c.name, rank);
                 const bool comes = reaches(c.problem)[static_cast<std::size_t>(owner)] == exchanges;
                 if (exchanges > 0 && whose != owner && (comes || whose != -1))
                   throw Wrong(sign::kValues, "other-last",
                               "{}: rank {} must return the block of rank {} as its last one", c.name, rank,
                               owner);
               }
             });
}

const Check kLastBlock{
    .claim = "The block held last is returned for the backward pass.",
    .id = "last-block",
    .weight = 1,
    .needs = {"full-more"},
    .hint =
        "After the last exchange a rank holds the block of rank (r - hops) mod N; without an exchange it "
        "returns an empty one.",
    .run{[](Trial& trial) {
      for (const Mask& mask : {full_mask(), window_mask(6), window_mask(3), window_mask(0)})
        require_last_block(trial, mask);
    }},
};

// ---- for a diagnosis

verify::Exhibit interview(Trial& trial) {
  const Case usual = make(trial, 4, causal_mask(), {2, 4, 2, 24, 16});
  for (const Case& c : {make(trial, 4, full_mask()), usual})
    if (verify::Exhibit stuck = exhibit_of_stuck(c.problem, [&] { run_ring(trial, c); })) return stuck;
  if (verify::Exhibit wrong = exhibit_of_failure([&] { require_right_ring(trial, usual); })) return wrong;
  for (const Case& c : {make(trial, 3, full_mask(), with_seqlen(17)), make(trial, 4, window_mask(5)),
                        make(trial, 5, causal_mask(), with_seqlen(3))})
    if (verify::Exhibit stuck = exhibit_of_stuck(c.problem, [&] { run_ring(trial, c); })) return stuck;
  verify::Exhibit turns = exhibit_of_turns([&](DeliveryOptions delivery) {
    RingRun run = require_right_ring(trial, usual, delivery);
    return std::move(run.record);
  });
  if (turns) return turns;
  return exhibit_of_failure([&] { require_last_block(trial, full_mask()); });
}

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kOneRank,   kNoDeadlock,      kFullTwo,     kFullMore,   kCausal,
                            kLayouts,   kRagged,          kWindows,     kPacked,     kGroupedHeads,
                            kHot,       kInputsUnchanged, kAnyDelivery, kExactBytes, kWindowExchanges,
                            kFewBlocks, kLastBlock};
  for (Check& check : checks) check.interview = interview;
  return checks;
}

}  // namespace ringcraft::judge
