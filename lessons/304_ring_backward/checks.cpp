// Lesson 304: checks of a ring's backward pass, in both schedules. Gradients are compared element by element
// at the rank that owns the rows: sums over ranks or over tokens are right in most wrong programs, too. From
// three ranks on the two directions differ.
#include <algorithm>

#include "judge/checks/lesson.hpp"
#include "judge/checks/ring_trial.hpp"

namespace ringcraft::judge {
namespace {

using verify::Case;
using verify::Data;

constexpr Shape kSmall{1, 2, 1, 12, 4};  // batch, heads, kv_heads, seqlen, head_dim
constexpr Schedule kBoth[] = {Schedule::kForward, Schedule::kReversed};

Shape with_seqlen(Position seqlen) {
  Shape shape = kSmall;
  shape.seqlen = seqlen;
  return shape;
}

Case make(Trial& trial, int ranks, Mask mask, Shape shape = kSmall, Layout layout = Layout::kContiguous,
          Data data = Data::kNormal) {
  return verify::make_case(make_problem(shape, std::move(mask), layout, ranks), data, trial.seed());
}

Mask packed_mask(std::vector<Position> borders, Position left = kNoLimit) {
  return {left, 0, std::move(borders)};
}

void require_both(Trial& trial, const Case& c, DeliveryOptions delivery = {}) {
  for (const Schedule schedule : kBoth) require_right_backward(trial, c, schedule, delivery);
}

// ---- does it come to an end, and to the right values?

const Check kOneRank{
    .claim = "One rank computes alone and sends nothing, in both schedules.",
    .id = "one-rank",
    .weight = 1,
    .hint = "With one rank there is one block: its part is the whole gradient.",
    .run{[](Trial& trial) {
      require_both(trial, make(trial, 1, full_mask()));
      require_both(trial, make(trial, 1, causal_mask()));
    }},
};

const Check kNoDeadlock{
    .claim = "Both schedules end on 2 to 5 ranks, under every mask.",
    .id = "no-deadlock",
    .weight = 0,
    .hint =
        "Every rank takes part in every exchange, of blocks and of gradients, also where it has nothing to "
        "compute.",
    .run{[](Trial& trial) {
      for (const Schedule schedule : kBoth) {
        for (const int ranks : {2, 3, 5})
          run_ring_backward(trial, make(trial, ranks, full_mask(), with_seqlen(2 * ranks)), schedule);
        run_ring_backward(trial, make(trial, 4, causal_mask()), schedule);
        run_ring_backward(trial, make(trial, 4, window_mask(4)), schedule);
      }
    }},
};

const Check kQueryGradients{
    .claim = "dq is right: it needs every block once and no message of its own.",
    .id = "query-gradients",
    .weight = 3,
    .needs = {"no-deadlock"},
    .hint =
        "dq adds up over the steps: is it zero before the first, and does each step use the mask of the "
        "block in hand?",
    .run{[](Trial& trial) {
      for (const Schedule schedule : kBoth)
        for (const int ranks : {2, 3}) {
          RingBackwardRun run = run_ring_backward(trial, make(trial, ranks, causal_mask()), schedule);
          const verify::Exhibit all_gradients = exhibit_of_failure([&] { require_right(run); });
          const Sharding sharding = run.c.problem.sharding();
          for (int rank = 0; rank < ranks; ++rank) {  // this check ignores dk and dv
            KvBlock& dkv = run.answers[static_cast<std::size_t>(rank)].result.dkv;
            dkv = {scatter(run.want.value.dk, sharding, rank), scatter(run.want.value.dv, sharding, rank)};
          }
          try {
            require_right(run);
          } catch (const Wrong& wrong) {
            throw wrong.exhibiting(all_gradients);
          }
        }
    }},
};

const Check kTwoRanks{
    .claim = "Two ranks: dk and dv hold the parts of both ranks, at the owner of the keys.",
    .id = "two-ranks",
    .weight = 4,
    .needs = {"query-gradients"},
    .hint = "Your part of the gradients of a foreign block belongs to its owner: how does it get there?",
    .run{[](Trial& trial) { require_both(trial, make(trial, 2, full_mask())); }},
};

void full(Trial& trial, Schedule schedule) {
  for (const int ranks : {3, 4, 5})
    require_right_backward(trial, make(trial, ranks, full_mask(), with_seqlen(3 * ranks)), schedule);
  Case own_scale = make(trial, 3, full_mask(), with_seqlen(12));
  own_scale.problem.softmax_scale = 0.3;
  with_label("softmax_scale 0.3: ", [&] { require_right_backward(trial, own_scale, schedule); });
}

const Check kFullForward{
    .claim = "Schedule forward on three, four and five ranks.",
    .id = "full-forward",
    .weight = 3,
    .needs = {"two-ranks"},
    .hint =
        "Follow block 2 and the sum of its gradients with two fingers: are they on the same rank at every "
        "step, and is the sum at home at the end?",
    .run{[](Trial& trial) { full(trial, Schedule::kForward); }},
};

const Check kFullReversed{
    .claim = "Schedule reversed on three, four and five ranks.",
    .id = "full-reversed",
    .weight = 3,
    .needs = {"two-ranks"},
    .hint =
        "It begins with the block that the forward pass held last, and everything moves to the previous "
        "rank: whose block comes at step s?",
    .run{[](Trial& trial) { full(trial, Schedule::kReversed); }},
};

const Check kCausal{
    .claim = "Causal attention, contiguous shards.",
    .id = "causal",
    .weight = 2,
    .needs = {"full-forward", "full-reversed"},
    .hint = "A block that you do not see still passes through you, and so does the sum of its gradients.",
    .run{[](Trial& trial) {
      for (const int ranks : {2, 3, 4})
        require_both(trial, make(trial, ranks, causal_mask(), with_seqlen(24)));
      require_both(trial, make(trial, 7, causal_mask(), with_seqlen(21)));
    }},
};

const Check kLayouts{
    .claim = "Striped, zig-zag and token zig-zag layouts.",
    .id = "layouts",
    .weight = 2,
    .needs = {"causal"},
    .hint = "Ask the problem for the key ranges of your rank and the owner of the block that you hold.",
    .run{[](Trial& trial) {
      for (const Mask& mask : {causal_mask(), full_mask(), Mask{.left = 3, .right = 2, .cu_seqlens = {}}})
        for (const Layout layout : {Layout::kStriped, Layout::kZigzag, Layout::kZigzagToken})
          require_both(trial, make(trial, 4, mask, with_seqlen(16), layout));
      require_both(trial, make(trial, 3, causal_mask(), {3, 2, 1, 18, 4}, Layout::kZigzag));
    }},
};

const Check kRagged{
    .claim = "Lengths that the ranks do not divide, and shards without a row.",
    .id = "ragged",
    .weight = 2,
    .needs = {"full-forward", "full-reversed"},
    .hint = "A sum of gradients has as many rows as its block: which block's sum is arriving?",
    .run{[](Trial& trial) {
      require_both(trial, make(trial, 3, full_mask(), with_seqlen(17)));
      for (const Position tokens :
           {23, 22, 21})  // the two chunks of one rank, of two and of three are uneven
        require_both(trial, make(trial, 4, causal_mask(), with_seqlen(tokens), Layout::kZigzag));
      require_both(trial, make(trial, 5, causal_mask(), with_seqlen(3)));
      require_both(trial, make(trial, 3, full_mask(), with_seqlen(1)));
    }},
};

const Check kWindows{
    .claim = "Sliding windows and packed sequences, the borders of shards included.",
    .id = "windows",
    .weight = 2,
    .needs = {"causal"},
    .hint =
        "With fewer hops than N - 1 the last rank to hold a block is not the owner's neighbour: where is its "
        "owner then?",
    .run{[](Trial& trial) {
      for (const Position window : {0, 3, 6, 9, 23})
        require_both(trial, make(trial, 4, window_mask(window), with_seqlen(20)));
      for (const int ranks : {3, 5})  // of 5 there are empty blocks before the last one that is seen
        require_both(trial, make(trial, ranks, window_mask(5), with_seqlen(8 * ranks), Layout::kZigzag));
      const std::vector<Position> borders{0, 5, 24, 25, 36, 48};
      require_both(trial, make(trial, 4, packed_mask(borders), with_seqlen(48)));
      for (const Layout layout : {Layout::kStriped, Layout::kZigzagToken, Layout::kContiguous}) {
        require_both(trial, make(trial, 3, window_mask(5), with_seqlen(20), layout));
        require_both(trial,
                     make(trial, 3, {.left = 4, .right = 6, .cu_seqlens = {}}, with_seqlen(20), layout));
      }
      for (const Layout layout : {Layout::kZigzag, Layout::kZigzagToken, Layout::kContiguous})
        require_both(trial, make(trial, 3, packed_mask(borders, 6), with_seqlen(48), layout));
    }},
};

const Check kGroupedHeads{
    .claim = "Grouped heads (8 on 2, 6 on 3) and a batch of two.",
    .id = "grouped-heads",
    .weight = 1,
    .needs = {"two-ranks"},
    .hint = "dk and dv have kv_heads heads; the engine adds up the heads of a group.",
    .run{[](Trial& trial) {
      require_both(trial, make(trial, 3, causal_mask(), {2, 8, 2, 15, 4}));
      require_both(trial, make(trial, 2, full_mask(), {1, 6, 3, 10, 5}));
    }},
};

const Check kHot{
    .claim = "Scores of hundreds and of +-20000, above and below zero.",
    .id = "hot",
    .weight = 1,
    .needs = {"two-ranks"},
    .hint = "lse and delta come from the whole row: pass on what was saved, compute nothing per block.",
    .run{[](Trial& trial) {
      for (const Data data : {Data::kHot, Data::kNegative, Data::kGap, Data::kHuge})
        require_both(trial, make(trial, 3, causal_mask(), with_seqlen(15), Layout::kContiguous, data));
    }},
};

// ---- does it touch only what it may, when it may?

const Check kInputsUnchanged{
    .claim = "No argument is written.",
    .id = "inputs-unchanged",
    .weight = 1,
    .needs = {"two-ranks"},
    .hint = "Receive into buffers of your own; the block that the schedule starts with is the caller's.",
    .run{[](Trial& trial) {
      constexpr const char* kNames[] = {"comm",  "engine", "problem", "schedule", "q",
                                        "first", "own",    "output",  "dout"};
      for (const Schedule schedule : kBoth)
        for (const int ranks : {2, 3, 4}) {
          const RingBackwardRun run = run_ring_backward(trial, make(trial, ranks, full_mask()), schedule);
          for (std::size_t rank = 0; rank < run.answers.size(); ++rank)
            require_unchanged(run.c.name + ": rank " + std::to_string(rank), run.answers[rank].changed,
                              kNames);
        }
    }},
};

const Check kRepeatable{
    .claim = "A second call with the same arguments gives the same bits.",
    .id = "repeatable",
    .weight = 1,
    .needs = {"two-ranks"},
    .hint = "Which state does a call leave for the next one?",
    .workers = {.fresh = true},
    .run{[](Trial& trial) {
      for (const Schedule schedule : kBoth) {
        const Case c = make(trial, 3, causal_mask());
        const RingBackwardRun once = require_right_backward(trial, c, schedule);
        if (run_ring_backward(trial, c, schedule).record.replies != once.record.replies)
          throw Wrong(sign::kValues, "other-bits",
                      "{}: a second call with the same arguments gives other gradients", once.c.name);
      }
    }},
};

const Check kAnyDelivery{
    .claim = "The result is right at every timing of messages: no buffer is touched while in flight.",
    .id = "any-delivery",
    .weight = 3,
    .needs = {"full-forward", "full-reversed"},
    .hint =
        "Three places for gradients: the part being computed, the sum that leaves, the sum that arrives. "
        "Which wait frees which?",
    .run{[](Trial& trial) {
      for (const Sending sending : {Sending::kAtStart, Sending::kAtWait})
        for (const std::uint64_t seed : {1, 2, 3}) {
          Case c = make(trial, seed == 3 ? 5 : 3, causal_mask(), with_seqlen(30), Layout::kZigzag);
          c.name += sending == Sending::kAtWait ? ", bytes leave at wait" : ", bytes leave at start";
          require_both(trial, c, {.seed = seed, .sending = sending});
        }
    }},
};

// ---- does it move what theory says?

Index sent_by_rank_0(const std::vector<Index>& bytes, int ranks) {
  Index sum = 0;
  for (int to = 0; to < ranks; ++to) sum += bytes[static_cast<std::size_t>(to)];
  return sum;
}

void require_bytes(Trial& trial, const Case& c) {
  const int n = c.problem.world_size;
  for (const Schedule schedule : kBoth) {
    const RingBackwardRun run = run_ring_backward(trial, c, schedule);
    const std::vector<Index> all = ring_backward_bytes(c.problem, schedule),
                             routed = routed_bytes(c.problem, Pass::kBackward, schedule);
    const std::vector<Index>& theory = plan_of(run.record, routed, all);
    const std::optional<Wrong> other = other_bytes(run.record, theory);
    trial.note({"bytes sent by rank 0, " + run.c.name,
                static_cast<double>(sent_by_rank_0(run.record.bytes, n)),
                static_cast<double>(sent_by_rank_0(theory, n)), "B"});
    // With the own block first, both directions are equally good.
    if (!other || (schedule == Schedule::kForward &&
                   !other_bytes(run.record, ring_backward_bytes(c.problem, schedule, -1))))
      continue;
    verify::TravelExhibit travels{n, hops(c.problem), run.record.bytes, theory};
    travels.direction = schedule == Schedule::kForward ? 1 : -1;
    for (int rank = 0; rank < n; ++rank) {
      travels.block.push_back(block_bytes(c.problem, rank));
      travels.query.push_back(c.problem.q_extents(rank).elements() * 8);
    }
    throw other->exhibiting(exhibit_of(travels))
        .labelled(run.c.name + ": ")
        .followed_by(
            " (hops of a KV block of float64: " + std::to_string(hops(c.problem)) +
            ", of its gradients: " + std::to_string(hops(c.problem)) +
            (schedule == Schedule::kForward && hops(c.problem) > 0 ? " and one message home)" : ")"));
  }
}

const Check kExactBytes{
    .claim = "Every link carries exactly the bytes of theory.",
    .id = "exact-bytes",
    .weight = 3,
    .needs = {"ragged"},
    .hint =
        "What is the last step at which any rank needs a block, and which gradients have to travel further?",
    .run{[](Trial& trial) {
      require_bytes(trial, make(trial, 2, full_mask()));
      require_bytes(trial, make(trial, 4, causal_mask(), {1, 4, 2, 16, 4}, Layout::kZigzag));
      require_bytes(trial, make(trial, 5, full_mask(), with_seqlen(17)));
    }},
};

const Check kWindowBytes{
    .claim = "A window costs only the hops that its reach needs, and one message home.",
    .id = "window-bytes",
    .weight = 1,
    .needs = {"windows"},
    .hint = "hops(problem) exchanges, not N - 1; then the sum need not go around: the owner's rank is known.",
    .run{[](Trial& trial) {
      for (const Position window : {0, 3, 6})
        require_bytes(trial, make(trial, 5, window_mask(window), with_seqlen(25)));
    }},
};

constexpr std::uint64_t kLittleMemory = 17 << 20;

const Check kFewBlocks{
    .claim = "16 ranks in processes of 17 MB, of which all KV blocks would take 8.",
    .id = "few-blocks",
    .weight = 2,
    .needs = {"full-forward", "full-reversed"},
    .hint =
        "Once a block and its sum were passed on they are of no use here: how many of each must a rank hold "
        "at a time?",
    .workers = {.address_bytes = kLittleMemory},
    .run{[](Trial& trial) { require_both(trial, make(trial, 16, full_mask(), kLargeBlocks)); }},
};

// ---- for a diagnosis

verify::Exhibit interview(Trial& trial) {
  const Case usual = make(trial, 4, causal_mask(), {2, 4, 2, 24, 16});
  const auto stuck_in = [&](const Case& c) {
    return exhibit_of_stuck(c.problem, [&] {
      for (const Schedule schedule : kBoth) run_ring_backward(trial, c, schedule);
    });
  };
  for (const Case& c : {make(trial, 4, full_mask()), usual})
    if (verify::Exhibit stuck = stuck_in(c)) return stuck;
  if (verify::Exhibit wrong = exhibit_of_failure([&] { require_both(trial, usual); })) return wrong;
  for (const Case& c : {make(trial, 3, full_mask(), with_seqlen(17)), make(trial, 4, window_mask(4)),
                        make(trial, 5, causal_mask(), with_seqlen(3))})
    if (verify::Exhibit stuck = stuck_in(c)) return stuck;
  const Shape uneven{1, 6, 2, 27, 4};  // blocks and queries, and those of each rank, have other lengths
  for (const Mask& mask : {full_mask(), window_mask(3)})
    if (verify::Exhibit bytes =
            exhibit_of_failure([&] { require_bytes(trial, make(trial, 5, mask, uneven)); }))
      return bytes;
  for (const Schedule schedule : kBoth)
    if (verify::Exhibit turns = exhibit_of_turns([&](DeliveryOptions delivery) {
          RingBackwardRun run = require_right_backward(trial, usual, schedule, delivery);
          return std::move(run.record);
        }))
      return turns;
  return nullptr;
}

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kOneRank,      kNoDeadlock,  kQueryGradients,  kTwoRanks,   kFullForward,
                            kFullReversed, kCausal,      kLayouts,         kRagged,     kWindows,
                            kGroupedHeads, kHot,         kInputsUnchanged, kRepeatable, kAnyDelivery,
                            kExactBytes,   kWindowBytes, kFewBlocks};
  for (Check& check : checks) check.interview = interview;
  return checks;
}

}  // namespace ringcraft::judge
