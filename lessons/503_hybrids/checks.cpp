// Lesson 503: checks of ranks in two dimensions. The groups come from a grid that is filled rank by rank, the
// walk from blocks that are moved by hand, step by step; then both functions lead real hybrids and double
// rings, whose values are the oracle's, and whose bytes are counted on every link.
#include <algorithm>
#include <iterator>
#include <set>

#include "exercise.hpp"
#include "judge/checks/lesson.hpp"
#include "judge/checks/ring_trial.hpp"
#include "judge/outcome/comparison.hpp"
#include "ringcraft/core/random.hpp"
#include "verify/oracle/compare.hpp"

namespace ringcraft::judge {
namespace {

using Ranks = std::vector<int>;

std::string text(const Ranks& ranks) {
  std::string all;
  for (std::size_t i = 0; i < ranks.size() && i < 12; ++i)
    all += (i > 0 ? " " : "") + std::to_string(ranks[i]);
  if (ranks.size() > 12) all += " ... (" + std::to_string(ranks.size()) + ")";
  return ranks.empty() ? "none" : all;
}

// "8 ranks, rows of 4": worlds in words.
std::string place(int ranks, const char* of, int each) {
  return std::to_string(ranks) + (ranks == 1 ? " rank, " : " ranks, ") + of + " of " + std::to_string(each);
}

Ranks divisors(int number) {
  Ranks all;
  for (int d = 1; d <= number; ++d)
    if (number % d == 0) all.push_back(d);
  return all;
}

// ---- groups

// The ranks 0, 1, 2, ... written into rows of `degree`, one after the other.
std::vector<Ranks> grid(int ranks, int degree) {
  std::vector<Ranks> rows;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rows.empty() || static_cast<int>(rows.back().size()) == degree) rows.emplace_back();
    rows.back().push_back(rank);
  }
  return rows;
}

enum class Which : std::uint8_t { kRow, kColumn, kBoth };

void require_groups(Trial& trial, int ranks, int degree, int rank, Which which) {
  const std::vector<Ranks> rows = grid(ranks, degree);
  Ranks row, column;
  std::size_t seat = 0;
  for (const Ranks& each : rows)
    if (const auto found = std::ranges::find(each, rank); found != each.end())
      row = each, seat = static_cast<std::size_t>(found - each.begin());
  for (const Ranks& each : rows) column.push_back(each[seat]);
  const GridGroups got = trial.call<RankGroups>(ranks, degree, rank).result;
  const auto require = [&](const char* name, const Ranks& is, const Ranks& must) {
    if (is != must)
      throw Wrong(sign::kValues, name, "{}: the {} of rank {} is {}, and must be {}",
                  Name{place(ranks, "rows", degree)}, Name{name}, rank, Name{text(is)}, Name{text(must)});
  };
  if (which != Which::kColumn) require("row", got.row, row);
  if (which != Which::kRow) require("column", got.column, column);
}

void require_groups(Trial& trial, int ranks, int degree, Which which) {
  for (int rank = 0; rank < ranks; ++rank) require_groups(trial, ranks, degree, rank, which);
}

// ---- the walk

// Blocks moved by hand: who holds which block in which step.
class Hands {
 public:
  Hands(int ranks, int node) : node_(node), entered_(static_cast<std::size_t>(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) entered_[static_cast<std::size_t>(rank)] = rank;
    for (int turn = 0; turn < ranks / node; ++turn) {
      std::vector<int> held = entered_;
      for (int inner = 0; inner < node; ++inner) {
        steps_.push_back(held);
        for (auto first = held.begin(); first != held.end(); first += node)  // the last goes to the front
          std::rotate(first, first + node - 1, first + node);
      }
      std::rotate(entered_.begin(), entered_.end() - node, entered_.end());
    }
  }

  int steps() const { return static_cast<int>(steps_.size()); }
  const std::vector<int>& at(int step) const { return steps_[static_cast<std::size_t>(step)]; }
  int holder(int step, int block) const {
    return static_cast<int>(std::ranges::find(at(step), block) - at(step).begin());
  }

  // The step of a rank: where its block is next, and where the next one is now.
  WalkStep step(int step, int rank) const {
    const auto r = static_cast<std::size_t>(rank);
    WalkStep s{.source = at(step)[r]};
    if (step % node_ + 1 < node_) {
      s.inner_to = holder(step + 1, s.source);
      s.inner_from = holder(step, at(step + 1)[r]);
    }
    if (step % node_ == 0 && step + node_ < steps()) {
      s.outer_to = holder(step + node_, s.source);
      s.outer_from = holder(step, at(step + node_)[r]);
    }
    return s;
  }

 private:
  int node_;
  std::vector<int> entered_;
  std::vector<std::vector<int>> steps_;
};

std::vector<WalkStep> walk(Trial& trial, int ranks, int node, int rank) {
  std::vector<WalkStep> steps = trial.call<TwoLevelWalk>(ranks, node, rank).result;
  if (static_cast<int>(steps.size()) != ranks)
    throw Wrong(sign::kValues, "steps",
                "{}: the walk of rank {} has {} steps, and there are {} blocks to see",
                Name{place(ranks, "nodes", node)}, rank, steps.size(), ranks);
  return steps;
}

struct WalkMember {
  int WalkStep::*is;
  const char* name;
};
constexpr WalkMember kSource{&WalkStep::source, "source"};
constexpr WalkMember kInnerPeers[] = {{&WalkStep::inner_to, "inner_to"},
                                      {&WalkStep::inner_from, "inner_from"}};
constexpr WalkMember kOuterPeers[] = {{&WalkStep::outer_to, "outer_to"},
                                      {&WalkStep::outer_from, "outer_from"}};
constexpr WalkMember kAll[] = {kSource, kInnerPeers[0], kInnerPeers[1], kOuterPeers[0], kOuterPeers[1]};

void require_walk(Trial& trial, int ranks, int node, int rank, std::span<const WalkMember> members) {
  const Hands hands(ranks, node);
  const std::vector<WalkStep> got = walk(trial, ranks, node, rank);
  for (int t = 0; t < ranks; ++t)
    for (const WalkMember& member : members) {
      const int is = got[static_cast<std::size_t>(t)].*member.is, must = hands.step(t, rank).*member.is;
      if (is != must)
        throw Wrong(sign::kValues, member.name,
                    "{}: step {} of rank {}, the one with number {} of turn {}: {} is {}, and must be {}",
                    Name{place(ranks, "nodes", node)}, t, rank, t % node, t / node, Name{member.name}, is,
                    must);
    }
}

void require_walks(Trial& trial, int ranks, int node, std::span<const WalkMember> members) {
  for (int rank = 0; rank < ranks; ++rank) require_walk(trial, ranks, node, rank, members);
}

// ---- worlds that the seed chooses

// More ranks than the fixed worlds have, in both dimensions; the corpus has the fixed ones alone.
struct World {
  int ranks, each;
};
template <class Ask>
void ask_others(const Trial& trial, Ask ask) {
  if (trial.inputs_are_known()) return;
  Random random(trial.seed());
  for (int times = 0; times < 2; ++times) {
    const int each = static_cast<int>(random.integer(4, 7));
    ask(World{each * static_cast<int>(random.integer(4, 7)), each});
  }
}

void require_other_groups(Trial& trial, Which which) {
  ask_others(trial, [&](const World& world) { require_groups(trial, world.ranks, world.each, which); });
}
void require_other_walks(Trial& trial, std::span<const WalkMember> members) {
  ask_others(trial, [&](const World& world) { require_walks(trial, world.ranks, world.each, members); });
}

// One that a process for each rank can fill.
template <class Ask>
void ask_larger(const Trial& trial, Ask ask) {
  if (trial.inputs_are_known()) return;
  constexpr World kWorlds[] = {{10, 2}, {10, 5}, {12, 3}, {12, 4}, {14, 7}, {15, 3}, {15, 5}};
  Random random(trial.seed());
  ask(kWorlds[random.integer(0, std::ssize(kWorlds) - 1)]);
}

// The fixed worlds, and others.
std::vector<World> with_others(const Trial& trial, std::vector<World> worlds) {
  ask_others(trial, [&](const World& world) { worlds.push_back(world); });
  return worlds;
}

// ---- both methods

// One worker per rank runs both passes of a method; `number` is its degree, or its node.
template <class Passes>
CallRecord require_right_passes(Trial& trial, const Problem& problem, int number, const char* of) {
  verify::Case c = verify::make_case(problem, verify::Data::kNormal, trial.seed());
  c.name += std::string(", ") + of + " of " + std::to_string(number);
  const verify::Inputs inputs = verify::make_inputs(c, DType::kFloat64);
  const verify::Oracle want = verify::oracle(problem, inputs);
  const Sharding sharding = problem.sharding();
  std::vector<Bytes> requests;
  for (int rank = 0; rank < problem.world_size; ++rank)
    requests.push_back(Passes::request(problem, number, scatter(inputs.q, sharding, rank),
                                       {scatter(inputs.k, sharding, rank), scatter(inputs.v, sharding, rank)},
                                       scatter(inputs.dout, sharding, rank)));
  return with_label(c.name + ": ", [&] {
    CallRecord record = trial.call_ranks<Passes>(requests);
    verify::Answer whole = verify::clone(want.value);
    for (int rank = 0; rank < problem.world_size; ++rank) {
      const Bytes& reply = record.replies[static_cast<std::size_t>(rank)];
      const auto answer = Trial::read(
          [&] { return Passes::answer(reply, problem, number, Buffer(), KvBlock(), Buffer()).result; });
      const auto take = [&](Buffer& into, const Buffer& shard, const Extents& extents, const char* name) {
        if (shard.extents() != extents)
          throw Wrong(sign::kValues, "extents", "rank {} returns {} as {}, and it must be {}", rank,
                      Name{name}, Name{described(shard.extents())}, Name{described(extents)});
        gather(into, shard, sharding, rank);
      };
      take(whole.out, answer.output.out, problem.q_extents(rank), "out");
      take(whole.lse, answer.output.lse, problem.row_extents(rank), "lse");
      take(whole.dq, answer.gradients.dq, problem.q_extents(rank), "dq");
      take(whole.dk, answer.gradients.dkv.k, problem.kv_extents(rank), "dk");
      take(whole.dv, answer.gradients.dkv.v, problem.kv_extents(rank), "dv");
    }
    const verify::Comparison comparison = verify::compare_exact(whole, want);
    if (!comparison.good)
      throw wrong_values(verify::error_maps(comparison, sharding), "{}",
                         Name{verify::described(comparison, sharding)});
    return record;
  });
}

Problem make(Shape shape, Mask mask, Layout layout, int ranks) {
  return make_problem(shape, std::move(mask), layout, ranks);
}

void require_bytes(const CallRecord& record, int from, int to, Index want, const std::string& name) {
  const Index got = record.moved(from, to);
  if (got != want)
    throw Wrong(sign::kCounts, "bytes", "{}: rank {} sends {} bytes to rank {}, and must send {}", Name{name},
                from, got, to, want);
}

// ---- the checks

const Check kRows{
    .claim = "A row is `degree` neighbours, in the order of their ranks, the rank itself among them.",
    .id = "rows",
    .weight = 2,
    .hint = "Write 0 to 7 into rows of four, one after the other: in which row is rank 5, and who else is?",
    .run{[](Trial& trial) {
      require_groups(trial, 8, 4, Which::kRow);
      require_groups(trial, 6, 2, Which::kRow);
      require_other_groups(trial, Which::kRow);
    }},
};

const Check kColumns{
    .claim = "A column is one rank of each row, all of the same place in it.",
    .id = "columns",
    .weight = 2,
    .hint =
        "How far apart are two ranks that stand below each other in rows of `degree`, and how many rows "
        "are there?",
    .run{[](Trial& trial) {
      require_groups(trial, 8, 4, Which::kColumn);
      require_groups(trial, 6, 2, Which::kColumn);
      require_other_groups(trial, Which::kColumn);
    }},
};

const Check kOneDimension{
    .claim = "Rows of one rank are a plain ring, a single row is Ulysses, and one rank is both.",
    .id = "one-dimension",
    .weight = 1,
    .hint = "With rows of one rank, who is in your row, and who in your column?",
    .run{[](Trial& trial) {
      require_groups(trial, 5, 1, Which::kBoth);
      require_groups(trial, 5, 5, Which::kBoth);
      require_groups(trial, 1, 1, Which::kBoth);
      ask_others(trial, [&](const World& world) {
        for (const int degree : {1, world.ranks}) require_groups(trial, world.ranks, degree, Which::kBoth);
      });
    }},
};

const Check kAnyGrid{
    .claim = "Every grid of 1 to 12 ranks, and large ones.",
    .id = "any-grid",
    .weight = 2,
    .needs = {"rows", "columns"},
    .hint = "Is there a number of rows, or of ranks in one, that your code takes for granted?",
    .run{[](Trial& trial) {
      for (int ranks = 1; ranks <= 12; ++ranks)
        for (const int degree : divisors(ranks)) require_groups(trial, ranks, degree, Which::kBoth);
      Random random(trial.seed());
      for (int times = 0; times < 5; ++times) {
        const int degree = static_cast<int>(random.integer(3, 40)),
                  rows = static_cast<int>(random.integer(3, 40));
        require_groups(trial, degree * rows, degree, static_cast<int>(random.integer(0, degree * rows - 1)),
                       Which::kBoth);
      }
    }},
};

// Says nothing about which ranks: a grid written the other way would pass, too.
const Check kMeetOnce{
    .claim = "All members of a group get the same list, and a row and a column share one rank.",
    .id = "meet-once",
    .weight = 1,
    .hint = "A group exists only if each of its members makes the same one.",
    .run{[](Trial& trial) {
      for (const auto& [ranks, degree] : with_others(trial, {{12, 2}, {12, 3}, {12, 4}, {12, 6}})) {
        std::vector<GridGroups> groups;
        for (int rank = 0; rank < ranks; ++rank)
          groups.push_back(trial.call<RankGroups>(ranks, degree, rank).result);
        const std::string where = place(ranks, "rows", degree);
        for (int rank = 0; rank < ranks; ++rank) {
          const GridGroups& own = groups[static_cast<std::size_t>(rank)];
          const auto agree = [&, ranks = ranks](const char* name, std::vector<int> GridGroups::*group) {
            if (std::ranges::count(own.*group, rank) != 1)
              throw Wrong(sign::kValues, "member",
                          "{}: the {} of rank {} is {}, and contains rank {} {} times", Name{where},
                          Name{name}, rank, Name{text(own.*group)}, rank,
                          std::ranges::count(own.*group, rank));
            for (const int other : own.*group) {
              if (other < 0 || other >= ranks)
                throw Wrong(sign::kValues, "member", "{}: the {} of rank {} is {}, and there is no rank {}",
                            Name{where}, Name{name}, rank, Name{text(own.*group)}, other);
              const Ranks& theirs = groups[static_cast<std::size_t>(other)].*group;
              if (theirs != own.*group)
                throw Wrong(sign::kValues, "agree",
                            "{}: the {} of rank {} is {}, and that of rank {}, which is a member, is {}",
                            Name{where}, Name{name}, rank, Name{text(own.*group)}, other, Name{text(theirs)});
            }
          };
          agree("row", &GridGroups::row);
          agree("column", &GridGroups::column);
          for (const GridGroups& any : groups) {
            const auto shared = std::ranges::count_if(
                any.column, [&](int other) { return std::ranges::count(own.row, other) > 0; });
            if (shared != 1)
              throw Wrong(sign::kValues, "shared",
                          "{}: the row {} and the column {} share {} ranks, and must share 1", Name{where},
                          Name{text(own.row)}, Name{text(any.column)}, shared);
          }
        }
      }
    }},
};

const Check kOneNode{
    .claim = "One node: a plain ring inside of it, and nothing leaves.",
    .id = "one-node",
    .weight = 1,
    .hint =
        "A ring of `node` ranks: the block of step t began t places back, and after the last step nothing "
        "moves.",
    .run{[](Trial& trial) {
      require_walks(trial, 4, 4, kAll);
      require_walks(trial, 5, 5, kAll);
      require_walks(trial, 1, 1, kAll);
      ask_others(trial, [&](const World& world) { require_walks(trial, world.ranks, world.ranks, kAll); });
    }},
};

const Check kNodesOfOne{
    .claim = "Nodes of one rank: a plain ring of nodes, and nothing moves inside.",
    .id = "nodes-of-one",
    .weight = 1,
    .hint =
        "With one rank in each node every turn has one step, and in it the block leaves for the next node.",
    .run{[](Trial& trial) {
      require_walks(trial, 4, 1, kAll);
      require_walks(trial, 3, 1, kAll);
      ask_others(trial, [&](const World& world) { require_walks(trial, world.ranks, 1, kAll); });
    }},
};

const Check kSources{
    .claim = "A turn around the node with the blocks of one node, then one with those of the node before.",
    .id = "sources",
    .weight = 2,
    .hint =
        "Move blocks by hand: two nodes of three ranks, three steps inside, then everything one node on. "
        "With whose block does the second turn begin?",
    .run{[](Trial& trial) {
      require_walks(trial, 6, 3, {&kSource, 1});
      require_walks(trial, 6, 2, {&kSource, 1});
      require_other_walks(trial, {&kSource, 1});
    }},
};

const Check kOnce{
    .claim = "Every block visits every rank once, and in each step no two ranks have the same one.",
    .id = "once",
    .weight = 2,
    .hint = "N steps, N blocks: which one does your rank see twice, and which one never?",
    .run{[](Trial& trial) {
      for (const auto& [ranks, node] : with_others(trial, {{6, 3}, {6, 2}, {12, 4}, {12, 3}})) {
        std::vector<std::set<int>> in_step(static_cast<std::size_t>(ranks));
        for (int rank = 0; rank < ranks; ++rank) {
          std::set<int> seen;
          const std::vector<WalkStep> steps = walk(trial, ranks, node, rank);
          for (std::size_t t = 0; t < steps.size(); ++t) {
            const int block = steps[t].source;
            const std::string where = place(ranks, "nodes", node);
            if (block < 0 || block >= ranks)
              throw Wrong(sign::kValues, "no-block", "{}: rank {} has block {} in step {}, and there is none",
                          Name{where}, rank, block, t);
            if (!seen.insert(block).second)
              throw Wrong(sign::kValues, "twice",
                          "{}: rank {} has block {} in step {}, and has had it before", Name{where}, rank,
                          block, t);
            if (!in_step[t].insert(block).second)
              throw Wrong(sign::kValues, "shared", "{}: rank {} has block {} in step {}, as another rank has",
                          Name{where}, rank, block, t);
          }
        }
      }
    }},
};

const Check kInner{
    .claim =
        "Inside: to the next place and from the one before, within the node, but not after its last step.",
    .id = "inner",
    .weight = 2,
    .hint = "The neighbour of the last rank of a node is in the same node: who is it?",
    .run{[](Trial& trial) {
      require_walks(trial, 6, 3, kInnerPeers);
      require_walks(trial, 8, 2, kInnerPeers);
      require_other_walks(trial, kInnerPeers);
    }},
};

const Check kOuter{
    .claim =
        "Outside: in the first step of a turn to the same place of the next node, but not in the last turn.",
    .id = "outer",
    .weight = 2,
    .hint =
        "A slow link should have a whole turn for its block: in which step must that leave, and after which "
        "turn does no rank need it?",
    .run{[](Trial& trial) {
      require_walks(trial, 6, 3, kOuterPeers);
      require_walks(trial, 8, 2, kOuterPeers);
      require_other_walks(trial, kOuterPeers);
    }},
};

const Check kHandedOver{
    .claim = "Another rank receives each block that is sent, and has it in the step that its walk says.",
    .id = "handed-over",
    .weight = 2,
    .hint = "If you send to rank s, then s receives from you: which of its steps has your block?",
    .run{[](Trial& trial) {
      for (const auto& [ranks, node] : with_others(trial, {{6, 3}, {8, 2}, {9, 3}})) {
        std::vector<std::vector<WalkStep>> walks;
        for (int rank = 0; rank < ranks; ++rank) walks.push_back(walk(trial, ranks, node, rank));
        const auto at = [&](int rank, int t) -> const WalkStep& {
          return walks[static_cast<std::size_t>(rank)][static_cast<std::size_t>(t)];
        };
        for (int t = 0; t < ranks; ++t)
          for (int rank = 0; rank < ranks; ++rank) {
            const auto handed = [&](int WalkStep::*to, int WalkStep::*from, const char* name, int later) {
              const int peer = at(rank, t).*to;
              if (peer == -1) return;
              const std::string where = place(ranks, "nodes", node) + ": step " + std::to_string(t);
              if (peer < 0 || peer >= ranks || peer == rank)
                throw Wrong(sign::kValues, "no-peer",
                            "{}: {} of rank {} is {}, and no other rank has that number", Name{where},
                            Name{name}, rank, peer);
              if (at(peer, t).*from != rank)
                throw Wrong(sign::kValues, "unmatched",
                            "{}: {} of rank {} is {}, and that one receives from {}", Name{where}, Name{name},
                            rank, peer, at(peer, t).*from);
              if (later >= ranks || at(peer, later).source != at(rank, t).source)
                throw Wrong(sign::kValues, "other-block",
                            "{}: rank {} sends block {} to rank {}, which has {} in step {}", Name{where},
                            rank, at(rank, t).source, peer,
                            Name{later >= ranks ? "none" : "block " + std::to_string(at(peer, later).source)},
                            later);
            };
            handed(&WalkStep::inner_to, &WalkStep::inner_from, "inner_to", t + 1);
            handed(&WalkStep::outer_to, &WalkStep::outer_from, "outer_to", t + node);
          }
      }
    }},
};

const Check kAnyNodes{
    .claim = "Every walk over 1 to 12 ranks, and large ones.",
    .id = "any-nodes",
    .weight = 2,
    .needs = {"sources", "inner", "outer"},
    .hint = "Is there a number of nodes, or of ranks in one, that your code takes for granted?",
    .run{[](Trial& trial) {
      for (int ranks = 1; ranks <= 12; ++ranks)
        for (const int node : divisors(ranks)) require_walks(trial, ranks, node, kAll);
      require_walk(trial, 300, 20, 137, kAll);
      Random random(trial.seed());
      for (int times = 0; times < 5; ++times) {
        const int node = static_cast<int>(random.integer(3, 14)),
                  nodes = static_cast<int>(random.integer(3, 14));
        require_walk(trial, nodes * node, node, static_cast<int>(random.integer(0, nodes * node - 1)), kAll);
      }
    }},
};

const Check kDrivesHybrid{
    .claim = "The library's hybrid, led by your groups, equals the oracle in both passes.",
    .id = "drives-hybrid",
    .weight = 2,
    .needs = {"rows", "columns"},
    .hint =
        "Heads are dealt among the ranks of a row; a ring goes along a column, in the order of the ranks.",
    .run{[](Trial& trial) {
      require_right_passes<HybridPasses>(trial, make({1, 4, 2, 22, 4}, causal_mask(), Layout::kZigzag, 4), 2,
                                         "rows");
      require_right_passes<HybridPasses>(
          trial, make({1, 2, 1, 19, 4}, window_mask(6), Layout::kContiguous, 6), 2, "rows");
      require_right_passes<HybridPasses>(trial, make({1, 3, 3, 13, 4}, full_mask(), Layout::kStriped, 6), 3,
                                         "rows");
      ask_larger(trial, [&](const World& world) {
        require_right_passes<HybridPasses>(
            trial, make({1, world.each, 1, 29, 4}, causal_mask(), Layout::kZigzag, world.ranks), world.each,
            "rows");
      });
    }},
};

const Check kDrivesDoubleRing{
    .claim = "The library's double ring, led by your walk, equals the oracle in both passes.",
    .id = "drives-double-ring",
    .weight = 2,
    .needs = {"sources"},
    .hint = "Each rank receives the block that its walk names for the next step: do both sides agree?",
    .run{[](Trial& trial) {
      Mask packed = causal_mask();
      packed.cu_seqlens = {0, 5, 6, 26};
      require_right_passes<DoubleRingPasses>(trial, make({1, 2, 1, 22, 4}, causal_mask(), Layout::kZigzag, 6),
                                             3, "nodes");
      require_right_passes<DoubleRingPasses>(trial, make({1, 2, 2, 19, 4}, full_mask(), Layout::kStriped, 6),
                                             2, "nodes");
      require_right_passes<DoubleRingPasses>(trial, make({1, 1, 1, 26, 4}, packed, Layout::kContiguous, 4), 2,
                                             "nodes");
      ask_larger(trial, [&](const World& world) {
        require_right_passes<DoubleRingPasses>(
            trial, make({1, 2, 1, 29, 4}, causal_mask(), Layout::kZigzag, world.ranks), world.each, "nodes");
      });
    }},
};

// Full attention, equal shards: B bytes in a block. Forward a rank sends its node (M - 1) G of them, and G -
// 1 to the next node; backward the same again, the sums along with them, one more at the end of every turn to
// where the block came in, and one more to its owner at the end.
const Check kLinks{
    .claim = "A double ring of G nodes sends G - 1 blocks over a slow link, and all others inside of nodes.",
    .id = "links",
    .weight = 1,
    .hint = "Which of your messages cross from one node to another, and how often?",
    .run{[](Trial& trial) {
      int nodes = 3, node = 3;
      ask_larger(trial, [&](const World& world) { node = world.each, nodes = world.ranks / node; });
      const int ranks = nodes * node;
      const Problem problem = make({1, 1, 1, 2 * ranks, 4}, full_mask(), Layout::kContiguous, ranks);
      const CallRecord record = require_right_passes<DoubleRingPasses>(trial, problem, node, "nodes");
      const Index block = block_bytes(problem, 0);
      for (int rank = 0; rank < ranks; ++rank) {
        const int own = rank / node, at = rank % node;
        const int next = own * node + (at + 1) % node, over = (own + 1) % nodes * node + at;
        // Forward and backward blocks, sums along; the sums' last leg goes one place on (from the last place
        // of a walk to its beginning), and one node on.
        require_bytes(record, rank, next, (3 * (node - 1) * nodes + nodes) * block, "inside");
        require_bytes(record, rank, over, (3 * (nodes - 1) + 1) * block, "from node to node");
        for (int other = 0; other < ranks; ++other)
          if (other != next && other != over) require_bytes(record, rank, other, 0, "elsewhere");
      }
    }},
};

// ---- for a diagnosis

// Small grids, in both orders: rows longer than columns, and the other way round; and one large walk.
verify::Exhibit interview(Trial& trial) {
  verify::GridExhibit grid;
  for (const auto& [ranks, each] :
       {std::pair{1, 1}, {3, 1}, {3, 3}, {6, 2}, {6, 3}, {8, 2}, {8, 4}, {12, 3}, {15, 5}, {20, 4}})
    for (int rank = 0; rank < ranks; ++rank) {
      if (!trial.asks()) break;
      grid.grouped.push_back({ranks, each, rank, trial.ask<RankGroups>(ranks, each, rank)});
      grid.walked.push_back({ranks, each, rank, trial.ask<TwoLevelWalk>(ranks, each, rank)});
    }
  if (trial.asks()) grid.walked.push_back({300, 20, 137, trial.ask<TwoLevelWalk>(300, 20, 137)});
  return exhibit_of(std::move(grid));
}

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{
      kRows, kColumns, kOneDimension, kAnyGrid,    kMeetOnce, kOneNode,      kNodesOfOne,       kSources,
      kOnce, kInner,   kOuter,        kHandedOver, kAnyNodes, kDrivesHybrid, kDrivesDoubleRing, kLinks};
  for (Check& check : checks) check.interview = interview;
  return checks;
}

}  // namespace ringcraft::judge
