// Lesson 405: checks of the two functions through which every mask enters the ring. The answers come from the
// oracle's predicate, pair by pair: it has a mask, two positions, and neither intervals nor ranges.
#include <algorithm>
#include <numeric>

#include "exercise.hpp"
#include "judge/checks/lesson.hpp"
#include "judge/checks/ring_trial.hpp"
#include "ringcraft/core/random.hpp"

namespace ringcraft::judge {
namespace {

using Positions = std::vector<Position>;

Positions all_of(Position seqlen) {
  Positions all(static_cast<std::size_t>(seqlen));
  std::iota(all.begin(), all.end(), Position{0});
  return all;
}

Mask packed(Mask mask, Positions borders) {
  mask.cu_seqlens = std::move(borders);
  return mask;
}

// Sequences of `length` tokens each.
Mask packed_evenly(Mask mask, Position seqlen, Position length) {
  for (Position border = 0; border < seqlen; border += length) mask.cu_seqlens.push_back(border);
  mask.cu_seqlens.push_back(seqlen);
  return mask;
}

// "window 5, cu_seqlens 0 5 6 26": the sequences only if they are few.
std::string name_of_mask(const Mask& mask) {
  if (mask.cu_seqlens.empty() || mask.cu_seqlens.size() > 8) return described(mask);
  std::string text = described(Mask{mask.left, mask.right, {}}) + ", cu_seqlens";
  for (const Position border : mask.cu_seqlens) text += " " + std::to_string(border);
  return text;
}

std::string text(Position begin, Position end) {
  return "[" + std::to_string(begin) + ", " + std::to_string(end) + ")";
}

// ---- one cursor

CursorWalk walk(Trial& trial, const Mask& mask, Position seqlen, const Positions& positions) {
  const Answer<CursorWalk> answer =
      trial.call<WalkCursor>(mask, seqlen, std::span<const Position>(positions));
  if (answer.result.intervals.size() != positions.size())
    throw Wrong(sign::kProtocol, "walk", "{} intervals came back for {} positions",
                answer.result.intervals.size(), positions.size());
  return answer.result;
}

void require_interval(const Mask& mask, Position p, const KeyInterval& got, const KeyInterval& want) {
  if (got != want)
    throw Wrong(sign::kValues, "interval", "{}: the keys of position {} are {}, and must be {}",
                name_of_mask(mask), p, Name{text(got.lo, got.hi)}, Name{text(want.lo, want.hi)})
        .knowing({Fact(p)});
}

// The keys that p sees, counted one by one; a query sees itself, so there is one.
KeyInterval counted_interval(const Mask& mask, Position seqlen, Position p) {
  KeyInterval want{p, p + 1};
  while (want.lo > 0 && verify::visible(mask, p, want.lo - 1)) --want.lo;
  while (want.hi < seqlen && verify::visible(mask, p, want.hi)) ++want.hi;
  return want;
}

void require_walk(Trial& trial, const Mask& mask, Position seqlen, const Positions& positions) {
  const CursorWalk got = walk(trial, mask, seqlen, positions);
  for (std::size_t i = 0; i < positions.size(); ++i)
    require_interval(mask, positions[i], got.intervals[i], counted_interval(mask, seqlen, positions[i]));
}

void require_walk(Trial& trial, const Mask& mask, Position seqlen) {
  require_walk(trial, mask, seqlen, all_of(seqlen));
}

// ---- one shard against another

struct Shards {
  const Mask& mask;
  Position seqlen;
  const Positions &queries, &keys;
  std::string words;  // "rank 1 against block 0 of 4, contiguous"
};

// An empty range may lie anywhere, as long as neither list decreases.
void require_ranges(const Shards& s, const KeyRanges& got) {
  const std::string where = name_of_mask(s.mask) + ", " + s.words;
  const Index rows = static_cast<Index>(s.queries.size()), keys = static_cast<Index>(s.keys.size());
  if (static_cast<Index>(got.begin.size()) != rows || static_cast<Index>(got.end.size()) != rows)
    throw Wrong(sign::kValues, "rows", "{}: begin has {} entries and end {}, and there are {} query rows",
                where, got.begin.size(), got.end.size(), rows);
  for (std::size_t a = 0; a < s.queries.size(); ++a) {
    const Position p = s.queries[a];
    const int begin = got.begin[a], end = got.end[a];
    const auto seen = [&](Position key) { return verify::visible(s.mask, p, key); };
    const auto first = std::ranges::find_if(s.keys, seen);
    const auto last = std::find_if_not(first, s.keys.end(), seen);
    const Position want_begin = first - s.keys.begin(), want_end = last - s.keys.begin();
    if (want_begin == want_end && (begin != end || begin < 0 || end > keys))
      throw Wrong(sign::kValues, "not-empty",
                  "{}: the local keys of row {} (position {}) are {}, and it sees none of the {} keys", where,
                  a, p, Name{text(begin, end)}, keys);
    if (want_begin != want_end && (begin != want_begin || end != want_end))
      throw Wrong(sign::kValues, "range",
                  "{}: the local keys of row {} (position {}) are {}, and must be {} of {}", where, a, p,
                  Name{text(begin, end)}, Name{text(want_begin, want_end)}, keys);
    if (a > 0 && (begin < got.begin[a - 1] || end < got.end[a - 1]))
      throw Wrong(sign::kValues, "decreases",
                  "{}: row {} has {} after {}, and no end may move left, not even where a row sees nothing",
                  where, a, Name{text(begin, end)}, Name{text(got.begin[a - 1], got.end[a - 1])});
  }
}

ShardRanges shard(Trial& trial, const Mask& mask, Position seqlen, const Positions& queries,
                  const Positions& keys) {
  return trial
      .call<RangesOf>(mask, seqlen, std::span<const Position>(queries), std::span<const Position>(keys))
      .result;
}

Index pairs(const KeyRanges& ranges) {
  Index sum = 0;
  for (std::size_t a = 0; a < std::min(ranges.begin.size(), ranges.end.size()); ++a)
    sum += ranges.end[a] - ranges.begin[a];
  return sum;
}

Problem make(Layout layout, Mask mask, Position seqlen, int ranks, bool per_sequence = false) {
  Problem problem = make_problem({1, 2, 1, seqlen, 4}, std::move(mask), layout, ranks);
  problem.per_sequence = per_sequence;
  return problem;
}

// Every shard against one block of every other.
void require_blocks(Trial& trial, const Problem& p) {
  const Sharding sharding = p.sharding();
  for (int rank = 0; rank < p.world_size; ++rank)
    for (int source = 0; source < p.world_size; ++source) {
      const Positions queries = sharding.positions(rank), keys = sharding.positions(source);
      require_ranges({p.mask, p.shape.seqlen, queries, keys,
                      "rank " + std::to_string(rank) + " against block " + std::to_string(source) + " of " +
                          std::to_string(p.world_size) + ", " + described(sharding)},
                     shard(trial, p.mask, p.shape.seqlen, queries, keys).ranges);
    }
}

// Limits, sequences, ranks and layout that the seed chooses.
Problem any_problem(Random& random) {
  const Position seqlen = random.integer(20, 60);
  Positions borders{0};
  while (borders.back() < seqlen) borders.push_back(std::min(seqlen, borders.back() + random.integer(1, 25)));
  return make(kLayouts[random.integer(0, 3)],
              packed({.left = random.integer(0, 20), .right = random.integer(0, 9)}, borders), seqlen,
              static_cast<int>(random.integer(1, 7)), random.integer(0, 1) == 1);
}

// ---- the checks

const Check kOneSequence{
    .claim = "Without borders: full, causal, and limits on both sides.",
    .id = "one-sequence",
    .weight = 1,
    .hint =
        "No cu_seqlens means one sequence, from 0 to seqlen; a limit ends the interval, or the sequence "
        "does: whichever comes first.",
    .run{[](Trial& trial) {
      for (const Mask& mask : {full_mask(), causal_mask(), Mask{.left = 3, .right = 2}, Mask{.left = 2},
                               Mask{.right = 4}, Mask{.left = 0, .right = 0}})
        for (const Position seqlen : {1, 2, 13}) require_walk(trial, mask, seqlen);
      Random random(trial.seed());
      require_walk(trial, {.left = random.integer(5, 20), .right = random.integer(5, 20)}, 60);
    }},
};

const Check kWindow{
    .claim = "A window of W is the query's own key and W before it: W + 1 keys.",
    .id = "window",
    .weight = 1,
    .hint = "left = 1 is the key before the query, and the query itself is seen as well: how many keys?",
    .run{[](Trial& trial) {
      for (const Position window : {0, 1, 4, 11, 12, 40}) require_walk(trial, window_mask(window), 13);
    }},
};

const Check kPacks{
    .claim = "Packed, without a causal side: every query sees the whole of its own sequence, and no other.",
    .id = "packs",
    .weight = 2,
    .hint =
        "Border s of cu_seqlens is the first position of sequence s, and one past the last of the one "
        "before it.",
    .run{[](Trial& trial) {
      require_walk(trial, packed(full_mask(), {0, 5, 12}), 12);
      require_walk(trial, packed(full_mask(), {0, 5, 24, 35, 48}), 48);
      require_walk(trial, packed(full_mask(), {0, 9}), 9);
    }},
};

const Check kCausalPacks{
    .claim = "Packed and causal: from the first key of its own sequence to itself.",
    .id = "causal-packs",
    .weight = 2,
    .hint = "The border limits the interval on the left, the query's own position on the right.",
    .run{[](Trial& trial) {
      require_walk(trial, packed(causal_mask(), {0, 6, 13}), 13);
      require_walk(trial, packed(causal_mask(), {0, 5, 24, 35, 48}), 48);
      Random random(trial.seed());
      const Position first = random.integer(3, 40);
      require_walk(trial, packed(causal_mask(), {0, first, first + 7, 60}), 60);
    }},
};

const Check kWindowInPacks{
    .claim = "A window inside of packs: at most W + 1 keys, and none from the sequence before.",
    .id = "window-in-packs",
    .weight = 2,
    .needs = {"window", "packs"},
    .hint = "Of two left ends, the border and the window's, which one counts? And of two right ends?",
    .run{[](Trial& trial) {
      require_walk(trial, packed(window_mask(3), {0, 5, 24, 35, 48}), 48);
      require_walk(trial, packed({.left = 2, .right = 3}, {0, 4, 9, 21}), 21);
      require_walk(trial, packed({.right = 2}, {0, 2, 9, 16}), 16);
      if (trial.inputs_are_known()) return;
      Random random(trial.seed());
      for (int times = 0; times < 5; ++times) {
        const Problem any = any_problem(random);
        require_walk(trial, any.mask, any.shape.seqlen);
      }
    }},
};

const Check kOfOneToken{
    .claim = "Sequences of one token see themselves alone, at the ends and in a row.",
    .id = "of-one-token",
    .weight = 1,
    .needs = {"packs"},
    .hint = "How many borders can lie between one position and the next, and on the position itself?",
    .run{[](Trial& trial) {
      for (const Mask& mask : {full_mask(), causal_mask(), window_mask(2)}) {
        require_walk(trial, packed(mask, {0, 1, 2, 3, 9, 10, 11, 20, 21}), 21);
        require_walk(trial, packed_evenly(mask, 6, 1), 6);
        require_walk(trial, packed(mask, {0, 1}), 1);
      }
    }},
};

const Check kJumps{
    .claim = "Positions may jump over whole sequences, and come twice.",
    .id = "jumps",
    .weight = 2,
    .needs = {"packs"},
    .hint = "A shard holds some of the positions: how many borders may the cursor have to pass in one call?",
    .run{[](Trial& trial) {
      for (const Mask& mask : {full_mask(), causal_mask(), window_mask(4)}) {
        const Mask packs = packed(mask, {0, 2, 3, 9, 14, 20, 31});
        for (const Positions& some : {Positions{0, 8, 8, 9, 30}, {13}, {30, 30}, {1, 2, 19, 21}, {}})
          require_walk(trial, packs, 31, some);
      }
    }},
};

// Borders and limits that a sum of two positions, or 32 bits, cannot hold.
const Check kFarAway{
    .claim = "Positions beyond 32 bits, and limits near the largest number.",
    .id = "far-away",
    .weight = 1,
    .needs = {"causal-packs"},
    .hint = "p + right + 1 can pass the largest Position: compare distances instead of sums.",
    .run{[](Trial& trial) {
      const Position far = Position{1} << 33;
      const Mask packs = packed(window_mask(5'000'000'000), {0, far, far + 1, 3 * far, 4 * far});
      const std::pair<Position, KeyInterval> calls[] = {{far - 1, {far - 5'000'000'001, far}},
                                                        {far, {far, far + 1}},
                                                        {far + 7, {far + 1, far + 8}},
                                                        {3 * far - 1, {3 * far - 5'000'000'001, 3 * far}}};
      Positions positions;
      for (const auto& [p, want] : calls) positions.push_back(p);
      const CursorWalk got = walk(trial, packs, 4 * far, positions);
      for (std::size_t i = 0; i < positions.size(); ++i)
        require_interval(packs, positions[i], got.intervals[i], calls[i].second);
      for (const Position limit : {kNoLimit, kNoLimit - 1, kNoLimit / 2 + 1})
        for (const Mask& mask : {Mask{limit, limit, {}}, Mask{limit, 0, {}}, Mask{0, limit, {}}})
          for (const Positions& borders : {Positions{}, {0, 4, 9}})
            require_walk(trial, packed(mask, borders), 9);
    }},
};

const Check kOwnBlock{
    .claim = "ranges_of: rows of a shard against its own keys, as local numbers.",
    .id = "own-block",
    .weight = 1,
    .needs = {"causal-packs"},
    .hint = "The answer counts keys of the shard, not positions: keys[b] is the position of local key b.",
    .run{[](Trial& trial) {
      const Positions shard_of_9 = {11, 12, 13, 14, 15, 16, 17, 18, 19};
      for (const Mask& mask :
           {full_mask(), causal_mask(), window_mask(2), packed(causal_mask(), {0, 11, 15, 30}),
            packed(full_mask(), {0, 4, 13, 18, 30})}) {
        require_ranges({mask, 30, shard_of_9, shard_of_9, "a shard against itself"},
                       shard(trial, mask, 30, shard_of_9, shard_of_9).ranges);
      }
    }},
};

const Check kBorders{
    .claim = "Borders of sequences on borders of ranks, beside them, and elsewhere.",
    .id = "borders",
    .weight = 2,
    .needs = {"own-block"},
    .hint =
        "A block holds keys of sequences that end before yours begins: each row's range is what its "
        "interval leaves of the block.",
    .run{[](Trial& trial) {
      for (const Mask& mask : {full_mask(), causal_mask(), window_mask(6)})
        for (const Positions& borders : {Positions{0, 8, 16, 32}, {0, 7, 16, 25, 32}, {0, 9, 15, 17, 32}})
          require_blocks(trial, make(Layout::kContiguous, packed(mask, borders), 32, 4));
    }},
};

const Check kLongAndShort{
    .claim = "One sequence over many ranks, and many sequences on one.",
    .id = "long-and-short",
    .weight = 2,
    .needs = {"own-block"},
    .hint = "A block can lie inside of one sequence, and it can hold many: neither is a special case.",
    .run{[](Trial& trial) {
      for (const Mask& mask : {full_mask(), causal_mask(), window_mask(9)}) {
        require_blocks(trial, make(Layout::kContiguous, packed(mask, {0, 1, 29, 30}), 30, 6));
        require_blocks(trial, make(Layout::kContiguous, packed_evenly(mask, 24, 2), 24, 3));
        require_blocks(trial, make(Layout::kContiguous, packed_evenly(mask, 12, 1), 12, 2));
      }
    }},
};

const Check kEmpty{
    .claim = "Rows without a key, blocks without a key, shards without a row.",
    .id = "empty",
    .weight = 2,
    .needs = {"own-block"},
    .hint = "A row that sees nothing has begin == end, and still neither end moves left from row to row.",
    .run{[](Trial& trial) {
      for (const Mask& mask : {full_mask(), causal_mask(), window_mask(2)}) {
        const Mask packs = packed(mask, {0, 3, 4, 11, 20});
        const Positions none, left = {0, 1, 2, 3}, middle = {5, 6, 10}, right = {12, 13, 19},
                              outer = {0, 2, 3, 12, 18}, mixed = {0, 6, 10, 13, 19};
        for (const auto& [queries, keys] : {std::pair{left, middle},
                                            {mixed, middle},
                                            {middle, left},
                                            {right, middle},
                                            {middle, right},
                                            {outer, middle},
                                            {middle, outer},
                                            {right, outer},
                                            {none, middle},
                                            {middle, none},
                                            {none, none}})
          require_ranges({packs, 20, queries, keys, "queries that share few sequences with the keys"},
                         shard(trial, packs, 20, queries, keys).ranges);
      }
    }},
};

const Check kDealt{
    .claim = "Ragged shards of all layouts, dealt as one and each sequence by itself.",
    .id = "layouts",
    .weight = 2,
    .needs = {"own-block"},
    .hint = "Positions of a shard have gaps: what counts is how many keys of the list lie before an end.",
    .run{[](Trial& trial) {
      for (const Layout layout : kLayouts)
        for (const bool per_sequence : {false, true}) {
          for (const Mask& mask : {full_mask(), causal_mask(), window_mask(5)})
            require_blocks(trial, make(layout, packed(mask, {0, 5, 6, 19, 29}), 29, 4, per_sequence));
          require_blocks(trial, make(layout, packed(causal_mask(), {0, 1, 3}), 3, 5, per_sequence));
        }
      if (trial.inputs_are_known()) return;
      Random random(trial.seed());
      for (int times = 0; times < 5; ++times) require_blocks(trial, any_problem(random));
    }},
};

// Two packings that agree in the borders inside of the last shard and in how much of the first sequence lies
// there (and in the second example in its whole length, too) and yet have other pairs.
const Check kBeganBefore{
    .claim = "The part of a sequence before the shard decides how many pairs its blocks have.",
    .id = "began-before",
    .weight = 2,
    .needs = {"own-block"},
    .hint =
        "Borders relative to the shard, and the length of its first sequence, do not tell where that "
        "sequence began: ask by global position.",
    .run{[](Trial& trial) {
      const std::pair<Positions, std::vector<Index>> rows[] = {
          {{0, 6, 8}, {10, 0, 6, 8}},
          {{0, 3, 6, 8}, {7, 0, 6, 2}},
          {{0, 1, 11, 12}, {7, 0, 0, 10, 12, 0, 7, 12, 8}},
          {{0, 2, 12}, {6, 0, 0, 10, 8, 0, 10, 16, 7}}};
      for (const auto& [borders, want] : rows) {  // the pairs of each rank at each step
        const Position seqlen = borders.back();
        const int n = static_cast<int>(seqlen / 4);
        const Problem p = make(Layout::kContiguous, packed(window_mask(8), borders), seqlen, n);
        for (int rank = 0; rank < n; ++rank)
          for (int step = 0; step < n; ++step) {
            const int source = (rank - step + n) % n;
            const Index got = pairs(
                shard(trial, p.mask, seqlen, p.sharding().positions(rank), p.sharding().positions(source))
                    .ranges);
            const Index counted = want[static_cast<std::size_t>(rank * n + step)];
            if (got != counted)
              throw Wrong(sign::kValues, "pairs", "{}, {} ranks: rank {} has {} pairs at step {}, not {}",
                          name_of_mask(p.mask), n, rank, got, step, counted);
          }
      }
    }},
};

// The last of half a million tokens in short sequences: work on every pair takes too long, even where no step
// counter sees it.
void require_long(Trial& trial) {
  Random random(trial.seed());
  const Position tokens = (Position{1} << 19) + random.integer(1, 999), left = random.integer(2, 6);
  Mask mask = window_mask(left);
  std::vector<KeyInterval> want;
  for (Position begin = 0, end = 0; begin < tokens; begin = end) {
    mask.cu_seqlens.push_back(begin);
    end = std::min(tokens, begin + random.integer(1, 9));
    for (Position p = begin; p < end; ++p) want.push_back({std::max(begin, p - left), p + 1});
  }
  mask.cu_seqlens.push_back(tokens);
  const Positions all = all_of(tokens);
  const auto last = [&](Position rows) { return Positions(all.end() - rows, all.end()); };
  const auto require = [&](Position p, const KeyInterval& got) {
    require_interval(mask, p, got, want[static_cast<std::size_t>(p)]);
  };
  const Positions walked = last(1 << 16), queries = last(1 << 18);
  const CursorWalk moved = walk(trial, mask, tokens, walked);
  for (std::size_t i = 0; i < walked.size(); ++i) require(walked[i], moved.intervals[i]);
  const KeyRanges met = shard(trial, mask, tokens, queries, all).ranges;
  if (met.begin.size() != queries.size() || met.end.size() != queries.size())
    throw Wrong(sign::kValues, "rows", "{}: begin has {} entries and end {}, and there are {} query rows",
                name_of_mask(mask), met.begin.size(), met.end.size(), queries.size());
  for (std::size_t i = 0; i < queries.size(); ++i) require(queries[i], {met.begin[i], met.end[i]});
}

// Every fourth token.
Positions fourth_of(const Positions& all) {
  Positions some;
  for (std::size_t i = 0; i < all.size(); i += 4) some.push_back(all[i]);
  return some;
}

// Four times the tokens take four times the steps, with a logarithm five times, and 16 times if every row
// begins again; then counts with fewer rows and with fewer keys tell at what.
void require_linear(Trial& trial, const std::string& name, const Mask& few_of, const Mask& many_of) {
  using Counted = verify::RangesExhibit::Counted;
  const Positions few = all_of(256), many = all_of(4 * 256);
  const auto count_cursor = [&](const Mask& mask, const Positions& all, const Positions& rows) {
    const Position tokens = std::ssize(all);
    return Counted{true, std::ssize(rows), tokens, std::ssize(mask.cu_seqlens),
                   walk(trial, mask, tokens, rows).steps};
  };
  const auto count_ranges = [&](const Mask& mask, const Positions& all, const Positions& rows,
                                const Positions& keys) {
    const Position tokens = std::ssize(all);
    const ShardRanges met = shard(trial, mask, tokens, rows, keys);
    require_ranges({mask, tokens, rows, keys, "one device"}, met.ranges);
    return Counted{false, std::ssize(rows), std::ssize(keys), std::ssize(mask.cu_seqlens), met.steps};
  };
  const auto require = [&](const char* function, std::vector<Counted> counted, auto count_others) {
    const std::int64_t least = counted[0].steps, most = counted[1].steps;
    if (most <= 6 * least) return;
    std::ranges::copy(count_others(), std::back_inserter(counted));
    throw Wrong(sign::kCounts, "steps",
                "{}, {}: {} tokens take {} steps and {} take {}: {} times as many for four times the tokens",
                Name{function}, name, few.size(), least, many.size(), most,
                most / std::max<std::int64_t>(least, 1))
        .exhibiting(exhibit_of(verify::RangesExhibit{.counted = std::move(counted)}));
  };
  const Positions some = fourth_of(many);
  require("MaskCursor::at", {count_cursor(few_of, few, few), count_cursor(many_of, many, many)},
          [&] { return std::vector{count_cursor(many_of, many, some)}; });
  require("ranges_of", {count_ranges(few_of, few, few, few), count_ranges(many_of, many, many, many)}, [&] {
    return std::vector{count_ranges(many_of, many, some, many), count_ranges(many_of, many, many, some)};
  });
}

// Half a million tokens show work that no step counts.
const Check kLinear{
    .claim =
        "Work grows as the tokens do, up to half a million: no row begins again at the first border, or at "
        "the first key.",
    .id = "linear",
    .weight = 2,
    .needs = {"borders", "jumps"},
    .hint = "Positions do not decrease from call to call, and neither do ends: keep your place.",
    .run{[](Trial& trial) {
      require_linear(trial, "sequences of two tokens, full", packed_evenly(full_mask(), 256, 2),
                     packed_evenly(full_mask(), 1024, 2));
      require_linear(trial, "one sequence, causal", causal_mask(), causal_mask());
      require_linear(trial, "one sequence, window 3", window_mask(3), window_mask(3));
      require_long(trial);
    }},
};

verify::Case ring_case(Trial& trial, const Problem& problem) {
  return verify::make_case(problem, verify::Data::kNormal, trial.seed());
}

const Check kDrivesRing{
    .claim = "The library's ring, masked by your functions, equals the oracle in every layout.",
    .id = "drives-ring",
    .weight = 2,
    .needs = {"one-sequence"},
    .hint = "All ranks must agree on what each row sees, and on how far the blocks travel.",
    .run{[](Trial& trial) {
      const auto ring = [&](const Problem& problem) {
        require_driven_ring(trial, ring_case(trial, problem));
      };
      ring(make(Layout::kContiguous, causal_mask(), 17, 3));
      for (const Layout layout : kLayouts)
        for (const bool per_sequence : {false, true})
          ring(make(layout, packed(causal_mask(), {0, 5, 6, 19, 26}), 26, 4, per_sequence));
      ring(make(Layout::kContiguous, packed(window_mask(6), {0, 5, 6, 26}), 26, 4));
      ring(make(Layout::kZigzag, packed(full_mask(), {0, 11, 23}), 23, 3));
    }},
};

// ---- the ring against separate sequences

// Rows [first, first + count) of every head.
Buffer rows_of(const Buffer& whole, Index first, Index count) {
  const Extents& e = whole.extents();
  Buffer part({e.batch, e.heads, count, e.width}, DType::kFloat64);
  for (Index head = 0; head < e.heads; ++head)
    std::ranges::copy(head_of<double>(whole, 0, head).slice(first, count).data,
                      head_of<double>(part, 0, head).data.begin());
  return part;
}

const Check kSeparate{
    .claim = "Packed through the ring equals each sequence attended by itself, with positions from 0.",
    .id = "separate-sequences",
    .weight = 2,
    .needs = {"one-sequence"},
    .hint = "A packed sequence is a sequence of its own: nothing before its first token exists for it.",
    .run{[](Trial& trial) {
      const Positions borders = {0, 5, 24, 35, 48};
      for (const Mask& mask : {causal_mask(), full_mask(), window_mask(7)}) {
        const Problem p = make(Layout::kZigzag, packed(mask, borders), 48, 4, true);
        const verify::Case c = ring_case(trial, p);
        const RingRun run = run_ring(trial, c);
        const verify::Inputs inputs = verify::make_inputs(c, DType::kFloat64);
        Buffer out(inputs.q.extents(), DType::kFloat64);
        Buffer lse({1, 2, 48, 1}, DType::kFloat64);
        for (int rank = 0; rank < p.world_size; ++rank) {
          const Output& own = run.answers[static_cast<std::size_t>(rank)].result.output;
          gather(out, own.out, p.sharding(), rank);
          gather(lse, own.lse, p.sharding(), rank);
        }
        for (std::size_t s = 0; s + 1 < borders.size(); ++s) {
          const Position first = borders[s], count = borders[s + 1] - first;
          const Problem alone = make(Layout::kContiguous, mask, count, 1);
          const verify::Inputs own{rows_of(inputs.q, first, count), rows_of(inputs.k, first, count),
                                   rows_of(inputs.v, first, count), Buffer()};
          const verify::Answer got{rows_of(out, first, count), rows_of(lse, first, count), {}, {}, {}};
          const auto compared =
              verify::compare_exact(got, verify::oracle(alone, own), verify::Expect::kForward);
          if (!compared.good)
            throw Wrong(sign::kValues, "separate", "{}: sequence {}, attended by itself: {}",
                        name_of_mask(p.mask), s, verify::described(compared, alone.sharding()));
        }
      }
    }},
};

// ---- for a diagnosis

verify::Exhibit interview(Trial& trial) {
  verify::RangesExhibit ranges;
  const auto ask_walk = [&](const Mask& mask, Position seqlen, const Positions& positions) {
    if (!trial.asks()) return std::vector<KeyInterval>{};
    auto answer = trial.ask<WalkCursor>(mask, seqlen, std::span<const Position>(positions));
    return answer ? std::move(answer->intervals) : std::vector<KeyInterval>{};
  };
  const auto ask_meeting = [&](const Mask& mask, Position seqlen, const Positions& queries,
                               const Positions& keys) {
    if (!trial.asks()) return;
    auto answer = trial.ask<RangesOf>(mask, seqlen, std::span<const Position>(queries),
                                      std::span<const Position>(keys));
    ranges.meetings.push_back({mask, seqlen, queries, keys,
                               answer ? std::optional(std::move(answer->ranges)) : std::nullopt,
                               ask_walk(mask, seqlen, queries)});
  };
  const Positions packs[] = {{}, {0, 9, 30}, {0, 4, 5, 11, 19, 30}, {0, 1, 2, 3, 30}};
  for (const Mask& sides : {full_mask(), causal_mask(), window_mask(3), window_mask(0), window_mask(12),
                            Mask{.left = 2, .right = 4}, Mask{.right = 2}, Mask{.left = 5}})
    for (const Positions& borders : packs) {
      const Mask mask = packed(sides, borders);
      for (const Positions& positions : {all_of(30), Positions{3, 4, 12, 12, 29}})
        ranges.walks.push_back({mask, 30, positions, ask_walk(mask, 30, positions)});
      for (const Layout layout : {Layout::kContiguous, Layout::kZigzag})
        for (const auto& [rank, source] : {std::pair{0, 0}, {1, 0}, {1, 1}, {0, 1}, {2, 1}, {2, 0}}) {
          const Sharding sharding{layout, 30, 3};
          ask_meeting(mask, 30, sharding.positions(rank), sharding.positions(source));
        }
      ask_meeting(mask, 30, {4, 5, 12}, {0, 3, 5, 11, 19, 29});
      ask_meeting(mask, 30, {4, 5, 12}, {});
    }
  const Position far = Position{3} << 32;
  const Mask beyond = packed(window_mask(far - 5), {0, far, far + 7, 3 * far});
  const Positions positions = {0, far - 1, far, far + 6, 2 * far, 3 * far - 1};
  ranges.walks.push_back({beyond, 3 * far, positions, ask_walk(beyond, 3 * far, positions)});
  return exhibit_of(std::move(ranges));
}

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kOneSequence, kWindow,      kPacks,    kCausalPacks, kWindowInPacks, kOfOneToken,
                            kJumps,       kFarAway,     kOwnBlock, kBorders,     kLongAndShort,  kEmpty,
                            kDealt,       kBeganBefore, kLinear,   kDrivesRing,  kSeparate};
  for (Check& check : checks) check.interview = interview;
  return checks;
}

}  // namespace ringcraft::judge
