// Lesson 502: checks of the two maps of an all-to-all between rows and heads. The answers come from dealing
// heads, and ordering tokens, one by one. Then real all-to-alls move by them.
#include <algorithm>
#include <map>

#include "exercise.hpp"
#include "judge/checks/lesson.hpp"
#include "judge/outcome/comparison.hpp"
#include "ringcraft/core/random.hpp"
#include "verify/oracle/cases.hpp"

namespace ringcraft::judge {
namespace {

// ---- the answers

// The heads of a neighbour, dealt one by one: the next query head goes to the first neighbour that has fewer
// than its share, and takes its KV head along.
DealtHeads dealt(const Shape& shape, int degree, int member) {
  std::vector<Index> queries, kv;
  for (Index head = 0, taken = 0; head < shape.heads; ++head) {
    if (taken / (shape.heads / degree) == member) {
      queries.push_back(head);
      for (Index shared = 0; shared < shape.kv_heads; ++shared)
        if (shared * shape.group() <= head && head < (shared + 1) * shape.group()) kv.push_back(shared);
    }
    ++taken;
  }
  kv.erase(std::unique(kv.begin(), kv.end()), kv.end());
  return {{queries.front(), std::ssize(queries)}, {kv.front(), std::ssize(kv)}};
}

// The rows of a rank: the tokens of the whole sequence, one by one, are numbered if a neighbour owns them.
std::vector<Index> joined(const Problem& problem, int degree, int rank) {
  const Sharding sharding = problem.sharding();
  std::vector<int> owner(static_cast<std::size_t>(problem.shape.seqlen));
  for (int each = 0; each < problem.world_size; ++each)
    for (const Position p : sharding.positions(each)) owner[static_cast<std::size_t>(p)] = each;
  std::vector<Index> rows;
  Index number = 0;
  for (const int each : owner) {
    if (each / degree != rank / degree) continue;
    if (each == rank) rows.push_back(number);
    ++number;
  }
  return rows;
}

// ---- calls and comparisons

std::string named(const Shape& shape, int degree, int member) {
  return std::to_string(shape.heads) + " query heads and " + std::to_string(shape.kv_heads) +
         " KV heads, neighbour " + std::to_string(member) + " of " + std::to_string(degree);
}

void compare(const std::string& where, const char* what, HeadRange got, HeadRange want) {
  if (got != want)
    throw Wrong(sign::kValues, "heads", "{}: {} {} from {} on, and there must be {} from {} on", where,
                got.count, Name{what + std::string(got.count == 1 ? "" : "s")}, got.first, want.count,
                want.first);
}

void require_heads(Trial& trial, const Shape& shape, int degree, int member, const DealtHeads& want) {
  const auto answer = trial.call<HeadsDealt>(shape, degree, member);
  const std::string where = named(shape, degree, member);
  compare(where, "query head", answer.result.query, want.query);
  compare(where, "KV head", answer.result.kv, want.kv);
  if (answer.changed != 0)
    throw Wrong(sign::kInput, "argument-changed", "dealt_heads changed the shape, which it may only read");
}

Shape heads_of(Index heads, Index kv_heads) {
  return {.heads = heads, .kv_heads = kv_heads, .seqlen = 8, .head_dim = 4};
}

// Every neighbour.
void require_heads(Trial& trial, Index heads, Index kv_heads, int degree) {
  const Shape shape = heads_of(heads, kv_heads);
  for (int member = 0; member < degree; ++member)
    require_heads(trial, shape, degree, member, dealt(shape, degree, member));
}

std::string named(const Problem& p, int degree, int rank) {
  return described(p.sharding()) + ", " + std::to_string(p.shape.seqlen) + " tokens on " +
         std::to_string(p.world_size) + " ranks, " + std::to_string(degree) +
         (degree == 1 ? " neighbour" : " neighbours") + ", rank " + std::to_string(rank);
}

std::int64_t require_rows(Trial& trial, const Problem& problem, int degree, int rank,
                          const std::vector<Index>& want) {
  const auto answer = trial.call<RowsJoined>(problem, degree, rank);
  const std::vector<Index>& got = answer.result.rows;
  const std::string where = named(problem, degree, rank);
  if (got.size() != want.size())
    throw Wrong(sign::kValues, "entries", "{}: {} numbers, and the rank has {} rows", where, got.size(),
                want.size());
  for (std::size_t a = 0; a < want.size(); ++a)
    if (got[a] != want[a])
      throw Wrong(sign::kValues, "row", "{}: row {}, token {}, becomes row {}, and it must become row {}",
                  where, a, problem.sharding().positions(rank)[a], got[a], want[a]);
  return answer.result.steps;
}

// Every rank.
void require_rows(Trial& trial, const Problem& problem, int degree) {
  for (int rank = 0; rank < problem.world_size; ++rank)
    require_rows(trial, problem, degree, rank, joined(problem, degree, rank));
}

Problem tokens(Layout layout, Position seqlen, int ranks, std::vector<Position> borders = {}) {
  Mask mask = causal_mask();
  mask.cu_seqlens = std::move(borders);
  Problem problem = make_problem({.seqlen = seqlen, .head_dim = 1}, std::move(mask), layout, ranks);
  problem.per_sequence = !problem.mask.cu_seqlens.empty();
  return problem;
}

// More that the seed chooses, so that no table of answers passes.
template <class Ask>
void ask_others(const Trial& trial, Ask ask) {
  if (trial.inputs_are_known()) return;
  Random random(trial.seed());
  ask(random);
}

void require_other_rows(Trial& trial, Layout layout) {
  ask_others(trial, [&](Random& random) {
    const int degree = static_cast<int>(random.integer(3, 6));
    const int ranks = degree * static_cast<int>(random.integer(4, 6));  // more than the fixed deals have
    require_rows(trial, tokens(layout, 4 * ranks * random.integer(2, 5), ranks), degree);
  });
}

// ---- the checks: heads

const Check kOneNeighbour{
    .claim = "Alone: a rank keeps all heads, and its rows are those that it has.",
    .id = "alone",
    .weight = 1,
    .hint = "What is left of the two divisions, and who is a neighbour of rank 2, when degree is 1?",
    .run{[](Trial& trial) {
      require_heads(trial, heads_of(6, 3), 1, 0, {{0, 6}, {0, 3}});
      require_rows(trial, tokens(Layout::kZigzag, 12, 3), 1, 2, {0, 1, 2, 3});
      ask_others(trial, [&](Random& random) {
        const Index kv_heads = random.integer(9, 30);
        require_heads(trial, kv_heads * random.integer(1, 3), kv_heads, 1);
        require_rows(trial, tokens(Layout::kStriped, random.integer(30, 60), 11), 1);
      });
    }},
};

const Check kEqual{
    .claim = "As many KV heads as query heads: each neighbour gets a run of both, the same one.",
    .id = "equal-heads",
    .weight = 2,
    .hint = "Eight heads for four: which two does the first one get, and which the second?",
    .run{[](Trial& trial) {
      require_heads(trial, heads_of(8, 8), 4, 1, {{2, 2}, {2, 2}});
      for (const int degree : {2, 4, 8}) require_heads(trial, 8, 8, degree);
      for (const int degree : {3, 6}) require_heads(trial, 12, 12, degree);
      ask_others(trial, [&](Random& random) {
        const int degree = static_cast<int>(random.integer(9, 30));
        const Index heads = degree * random.integer(2, 5);
        require_heads(trial, heads, heads, degree);
      });
    }},
};

const Check kGrouped{
    .claim = "Grouped heads: a neighbour gets the KV heads that its query heads share, and no others.",
    .id = "grouped-heads",
    .weight = 2,
    .needs = {"equal-heads"},
    .hint = "Query head h shares KV head h / group: which does the first one of the run share?",
    .run{[](Trial& trial) {
      require_heads(trial, heads_of(12, 6), 3, 2, {{8, 4}, {4, 2}});
      for (const int degree : {2, 3, 6}) require_heads(trial, 12, 6, degree);
      for (const int degree : {2, 4}) require_heads(trial, 16, 4, degree);
      ask_others(trial, [&](Random& random) {
        const int degree = static_cast<int>(random.integer(9, 20));
        const Index kv_heads = degree * random.integer(2, 4);
        require_heads(trial, kv_heads * random.integer(3, 5), kv_heads, degree);
      });
    }},
};

const Check kReplicated{
    .claim = "Fewer KV heads than neighbours: several get the same one, and each gets one.",
    .id = "replicated-heads",
    .weight = 3,
    .needs = {"equal-heads"},
    .hint = "What is 2 / 8 in C++, and what does a neighbour attend to without keys?",
    .run{[](Trial& trial) {
      require_heads(trial, heads_of(16, 2), 8, 5, {{10, 2}, {1, 1}});
      require_heads(trial, 8, 2, 4);
      require_heads(trial, 8, 2, 8);
      require_heads(trial, 12, 3, 6);
      require_heads(trial, 8, 1, 8);
      ask_others(trial, [&](Random& random) {
        const Index kv_heads = random.integer(3, 6);
        const int degree = static_cast<int>(kv_heads * random.integer(5, 7));
        require_heads(trial, degree * random.integer(1, 3), kv_heads, degree);
      });
    }},
};

const Check kAnyHeads{
    .claim = "All numbers of heads and neighbours up to 12 that can be dealt.",
    .id = "any-heads",
    .weight = 2,
    .needs = {"grouped-heads", "replicated-heads"},
    .hint = "Is there a number of heads or neighbours in your function that is not in its arguments?",
    .run{[](Trial& trial) {
      for (Index heads = 1; heads <= 12; ++heads)
        for (Index kv_heads = 1; kv_heads <= heads; ++kv_heads)
          for (int degree = 1; degree <= heads; ++degree)
            if (heads % kv_heads == 0 && heads % degree == 0 &&
                (kv_heads % degree == 0 || degree % kv_heads == 0))
              require_heads(trial, heads, kv_heads, degree);
    }},
};

// ---- the checks: rows

const Check kContiguous{
    .claim = "Contiguous: the shards of the neighbours, one after another.",
    .id = "contiguous",
    .weight = 1,
    .hint = "How many rows do the neighbours before the rank have, all together?",
    .run{[](Trial& trial) {
      require_rows(trial, tokens(Layout::kContiguous, 12, 4), 4, 2, {6, 7, 8});
      for (const int degree : {2, 4}) require_rows(trial, tokens(Layout::kContiguous, 16, 4), degree);
      require_other_rows(trial, Layout::kContiguous);
    }},
};

const Check kStriped{
    .claim = "Striped: rows of the neighbours alternate.",
    .id = "striped",
    .weight = 2,
    .hint = "Tokens 0 and 4 are one rank's, 1 and 5 its neighbour's: what is their order in the sequence?",
    .run{[](Trial& trial) {
      require_rows(trial, tokens(Layout::kStriped, 12, 4), 2, 1, {1, 3, 5});
      for (const int degree : {2, 4}) require_rows(trial, tokens(Layout::kStriped, 16, 4), degree);
      require_other_rows(trial, Layout::kStriped);
    }},
};

const Check kZigzag{
    .claim = "Chunk zig-zag: the early chunks of all in order, then the late ones, which run backwards.",
    .id = "zigzag",
    .weight = 2,
    .hint = "Rank 0 has the first chunk and the last one: what lies between them when two join?",
    .run{[](Trial& trial) {
      require_rows(trial, tokens(Layout::kZigzag, 16, 4), 2, 0, {0, 1, 6, 7});
      for (const int degree : {2, 4}) require_rows(trial, tokens(Layout::kZigzag, 24, 4), degree);
      require_other_rows(trial, Layout::kZigzag);
    }},
};

const Check kZigzagToken{
    .claim = "Token zig-zag: every second round runs backwards.",
    .id = "zigzag-token",
    .weight = 1,
    .hint = "Does your function ask for the layout, or for the positions?",
    .run{[](Trial& trial) {
      for (const int degree : {2, 4}) require_rows(trial, tokens(Layout::kZigzagToken, 20, 4), degree);
      require_other_rows(trial, Layout::kZigzagToken);
    }},
};

const Check kNeighbours{
    .claim = "The neighbours of a rank are those of its own row: ranks of the same rank / degree.",
    .id = "neighbours",
    .weight = 3,
    .hint = "Six ranks in rows of two: with whom does rank 3 share?",
    .run{[](Trial& trial) {
      require_rows(trial, tokens(Layout::kContiguous, 18, 6), 2, 3, {3, 4, 5});
      for (const Layout layout : kLayouts)
        for (const int degree : {2, 3}) require_rows(trial, tokens(layout, 24, 6), degree);
      ask_others(trial, [&](Random& random) {
        const int degree = static_cast<int>(random.integer(3, 5)), ranks = 5 * degree;
        for (const Layout layout : kLayouts)
          require_rows(trial, tokens(layout, ranks * random.integer(2, 4), ranks), degree);
      });
    }},
};

const Check kRagged{
    .claim = "Lengths that the ranks do not divide, and ranks without a row.",
    .id = "ragged",
    .weight = 2,
    .needs = {"contiguous"},
    .hint = "Does your function ask each neighbour how many rows it has?",
    .run{[](Trial& trial) {
      for (const Layout layout : kLayouts) {
        for (const Position seqlen : {13, 22}) require_rows(trial, tokens(layout, seqlen, 6), 3);
        require_rows(trial, tokens(layout, 3, 4), 2);
        require_rows(trial, tokens(layout, 2, 4), 4);
      }
      ask_others(trial, [&](Random& random) {
        for (const Layout layout : kLayouts)
          require_rows(trial, tokens(layout, random.integer(30, 60), 12), 4);
      });
    }},
};

const Check kPacked{
    .claim = "Packed sequences, each dealt by itself.",
    .id = "packed",
    .weight = 1,
    .needs = {"ragged"},
    .hint = "A rank has a part of every sequence: are its positions those of one chunk or two?",
    .run{[](Trial& trial) {
      for (const Layout layout : kLayouts) {
        require_rows(trial, tokens(layout, 26, 4, {0, 5, 6, 19, 26}), 2);
        require_rows(trial, tokens(layout, 40, 4, {0, 16, 40}), 4);
      }
      ask_others(trial, [&](Random& random) {
        const Position first = random.integer(1, 30), second = first + random.integer(1, 30);
        for (const Layout layout : kLayouts)
          require_rows(trial, tokens(layout, second, 10, {0, first, second}), 5);
      });
    }},
};

const Check kOrder{
    .claim =
        "Sixty random deals: the rows of all neighbours are 0, 1, 2 and so on, in the order of positions.",
    .id = "order-of-the-sequence",
    .weight = 3,
    .needs = {"neighbours", "striped", "zigzag", "ragged"},
    .hint = "Look at the smallest deal that fails: which token of a neighbour is missing before the row?",
    .run{[](Trial& trial) {
      Random random(trial.seed());
      for (int i = 0; i < 60; ++i) {
        const int degree = static_cast<int>(random.integer(1, 4));
        const int ranks = degree * static_cast<int>(random.integer(1, 3));
        const Problem p = tokens(kLayouts[random.integer(0, 3)], random.integer(1, 50), ranks);
        const int first = degree * static_cast<int>(random.integer(0, ranks / degree - 1));
        std::map<Index, Position> token_of;
        for (int rank = first; rank < first + degree; ++rank) {
          const std::vector<Position> own = p.sharding().positions(rank);
          const auto rows = trial.call<RowsJoined>(p, degree, rank).result.rows;
          if (rows.size() != own.size())
            throw Wrong(sign::kValues, "entries", "{}: {} numbers, and the rank has {} rows",
                        named(p, degree, rank), rows.size(), own.size());
          for (std::size_t a = 0; a < own.size(); ++a)
            if (!token_of.emplace(rows[a], own[a]).second)
              throw Wrong(sign::kValues, "twice", "{}: tokens {} and {} both become row {}",
                          named(p, degree, rank), token_of[rows[a]], own[a], rows[a]);
        }
        Index next = 0;
        Position before = -1;
        for (const auto& [row, token] : token_of) {
          if (row != next)
            throw Wrong(sign::kValues, "gap", "{}: no token becomes row {}", named(p, degree, first), next);
          if (token < before)
            throw Wrong(sign::kValues, "order", "{}: token {} becomes row {}, after token {}",
                        named(p, degree, first), token, row, before);
          before = token, ++next;
        }
      }
    }},
};

// Striped: the rows of a rank among all.
std::int64_t require_striped(Trial& trial, Position rows, int rank) {
  std::vector<Index> want;
  for (Position a = 0; a < rows; ++a) want.push_back(4 * a + rank);
  return require_rows(trial, tokens(Layout::kStriped, 4 * rows, 4), 4, rank, want);
}

const Check kLong{
    .claim = "A quarter of a million rows; and four times the rows take about four times the steps.",
    .id = "long",
    .weight = 2,
    .needs = {"striped"},
    .hint = "Positions increase in both shards: what need never move back?",
    .run{[](Trial& trial) {
      constexpr Position kFew = 256, kMany = 4 * kFew;
      const std::int64_t few = require_striped(trial, kFew, 1), many = require_striped(trial, kMany, 1);
      if (many > 8 * few)
        throw Wrong(sign::kCounts, "square",
                    "shards of {} tokens take {} steps and shards of {} tokens {}: they grow with the square",
                    kFew, few, kMany, many);
      Random random(trial.seed());
      require_striped(trial, (Position{1} << 18) + random.integer(1, 999),
                      static_cast<int>(random.integer(0, 3)));
    }},
};

// ---- the checks: real all-to-alls

// Both passes on one worker per rank, compared with the oracle.
CallRecord require_right(Trial& trial, const verify::Case& c, int degree) {
  const Problem& p = c.problem;
  const Shape& s = p.shape;
  const Sharding sharding = p.sharding();
  const verify::Inputs inputs = verify::make_inputs(c, DType::kFloat64);
  std::vector<Bytes> requests;
  for (int rank = 0; rank < p.world_size; ++rank)
    requests.push_back(
        HeadsExchanged::request(p, degree, scatter(inputs.q, sharding, rank),
                                {scatter(inputs.k, sharding, rank), scatter(inputs.v, sharding, rank)},
                                scatter(inputs.dout, sharding, rank)));
  const CallRecord record = trial.call_ranks<HeadsExchanged>(requests);
  const Extents query{s.batch, s.heads, s.seqlen, s.head_dim}, kv{s.batch, s.kv_heads, s.seqlen, s.head_dim};
  verify::Answer whole;
  for (Buffer* tensor : {&whole.out, &whole.dq}) *tensor = Buffer(query, DType::kFloat64);
  for (Buffer* tensor : {&whole.dk, &whole.dv}) *tensor = Buffer(kv, DType::kFloat64);
  whole.lse = Buffer({s.batch, s.heads, s.seqlen, 1}, DType::kFloat64);
  for (int rank = 0; rank < p.world_size; ++rank) {
    const BothPasses got = Trial::read([&] {
      return std::move(HeadsExchanged::answer(record.replies[static_cast<std::size_t>(rank)], p, degree,
                                              Buffer(), KvBlock(), Buffer())
                           .result);
    });
    const auto place = [&](Buffer& into, const Buffer& shard, const Extents& want) {
      if (shard.extents() != want)
        throw Wrong(sign::kValues, "extents", "rank {} has a tensor of {}, and it must have {}", rank,
                    Name{described(shard.extents())}, Name{described(want)});
      gather(into, shard, sharding, rank);
    };
    place(whole.out, got.output.out, p.q_extents(rank));
    place(whole.lse, got.output.lse, p.row_extents(rank));
    place(whole.dq, got.gradients.dq, p.q_extents(rank));
    place(whole.dk, got.gradients.dkv.k, p.kv_extents(rank));
    place(whole.dv, got.gradients.dkv.v, p.kv_extents(rank));
  }
  const verify::Comparison comparison = verify::compare_exact(whole, verify::oracle(p, inputs));
  if (!comparison.good)
    throw wrong_values(verify::error_maps(comparison, sharding), "{}",
                       Name{verify::described(comparison, sharding)})
        .knowing(facts_of(comparison));
  return record;
}

CallRecord require_exchange(Trial& trial, Layout layout, Index heads, Index kv_heads, int ranks, int degree,
                            Position seqlen) {
  const Problem p = make_problem({1, heads, kv_heads, seqlen, 4}, causal_mask(), layout, ranks);
  CallRecord record;
  with_label(
      std::string(name_of(layout)) + ", " + std::to_string(heads) + " and " + std::to_string(kv_heads) +
          " heads, " + std::to_string(ranks) + " ranks, " + std::to_string(degree) + " neighbours: ",
      [&] {
        record = require_right(trial, verify::make_case(p, verify::Data::kNormal, trial.seed()), degree);
      });
  return record;
}

const Check kDrives{
    .claim =
        "The library's Ulysses, which asks both functions, equals the oracle and moves 4 (N - 1) / N shards.",
    .id = "drives-ulysses",
    .weight = 3,
    .needs = {"equal-heads", "contiguous"},
    .hint =
        "Each rank attends over the rows as they stand: a key must not come before one of an earlier token.",
    .run{[](Trial& trial) {
      // Forward: q, k, v and out, with lse beside it; backward: dout, dq, dk and dv. A pair of ranks moves
      // 4 rows of 2 heads of 4 numbers of 8 bytes: 256 bytes for each of the eight, and 64 for lse.
      const CallRecord record = require_exchange(trial, Layout::kContiguous, 8, 8, 4, 4, 16);
      for (int from = 0; from < 4; ++from)
        for (int to = 0; to < 4; ++to)
          if (from != to && record.moved(from, to) != 2112)
            throw Wrong(sign::kCounts, "bytes", "rank {} sends {} bytes to rank {}, and it must be 2112",
                        from, record.moved(from, to), to);
      for (const Layout layout : kLayouts) require_exchange(trial, layout, 6, 6, 3, 3, 17);
    }},
};

const Check kDrivesHybrid{
    .claim = "With rows of ranks, grouped and replicated heads: values and gradients equal the oracle.",
    .id = "drives-hybrid",
    .weight = 3,
    .needs = {"equal-heads", "contiguous"},
    .hint =
        "dk and dv of a replicated head are the sum over the neighbours that had it: all of them must say "
        "so.",
    .run{[](Trial& trial) {
      for (const Layout layout : kLayouts) {
        require_exchange(trial, layout, 4, 2, 4, 2, 19);
        require_exchange(trial, layout, 4, 1, 4, 2, 16);
        require_exchange(trial, layout, 4, 2, 4, 4, 18);
      }
    }},
};

// ---- for a diagnosis

verify::Exhibit interview(Trial& trial) {
  verify::HeadDealExhibit deal;
  constexpr Index kHeads[][3] = {{8, 8, 4},  {8, 8, 2},  {12, 12, 3}, {7, 7, 7},  {6, 6, 1}, {12, 6, 3},
                                 {12, 6, 2}, {16, 4, 2}, {24, 8, 4},  {8, 4, 4},  {8, 2, 4}, {8, 2, 8},
                                 {8, 1, 4},  {12, 3, 6}, {12, 4, 12}, {24, 2, 8}, {18, 3, 9}};
  for (const auto& [heads, kv_heads, degree] : kHeads)
    for (int member = 0; member < degree && trial.asks(); ++member)
      deal.heads.push_back(
          {heads_of(heads, kv_heads), static_cast<int>(degree), member,
           trial.ask<HeadsDealt>(heads_of(heads, kv_heads), static_cast<int>(degree), member)});
  const auto ask = [&](const Problem& p, int degree) {
    for (int rank = 0; rank < p.world_size && trial.asks(); ++rank) {
      auto answer = trial.ask<RowsJoined>(p, degree, rank);
      deal.rows.push_back(
          {p.sharding(), degree, rank, answer ? std::optional(std::move(answer->rows)) : std::nullopt});
    }
  };
  const auto ask_layouts = [&](Position seqlen, int ranks, int degree,
                               const std::vector<Position>& borders = {}) {
    for (const Layout layout : kLayouts) ask(tokens(layout, seqlen, ranks, borders), degree);
  };
  for (const int degree : {1, 2, 3, 6}) ask_layouts(24, 6, degree);
  for (const int degree : {2, 4}) ask_layouts(23, 4, degree);
  ask_layouts(37, 8, 4);
  ask_layouts(40, 12, 3);
  ask_layouts(3, 4, 2);
  ask_layouts(26, 4, 2, {0, 5, 6, 19, 26});
  for (const Position rows : {Position{256}, Position{1024}})
    if (trial.asks())
      if (const auto answer = trial.ask<RowsJoined>(tokens(Layout::kStriped, 4 * rows, 4), 4, 1))
        deal.counted.push_back({rows, answer->steps});
  return exhibit_of(std::move(deal));
}

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kOneNeighbour, kEqual,  kGrouped,     kReplicated,  kAnyHeads, kContiguous,
                            kStriped,      kZigzag, kZigzagToken, kNeighbours,  kRagged,   kPacked,
                            kOrder,        kLong,   kDrives,      kDrivesHybrid};
  for (Check& check : checks) check.interview = interview;
  return checks;
}

}  // namespace ringcraft::judge
