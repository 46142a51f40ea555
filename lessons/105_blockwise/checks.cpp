// Lesson 105: checks of blockwise attention with tiles of every size. The student's function adds keys to a
// state (O, m, l); the checks look at it only as (O / l, m + log l), so any running maximum that leaves the
// same attention is right. Expected values are the oracle's.
#include <cmath>
#include <limits>

#include "exercise.hpp"
#include "judge/checks/block_trial.hpp"
#include "judge/checks/head_trial.hpp"
#include "judge/checks/lesson.hpp"
#include "judge/checks/ring_trial.hpp"
#include "judge/checks/row_trial.hpp"

namespace ringcraft::judge {
namespace {

using verify::Data;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// (O, m, l) of some rows, with its memory. It begins as the identity.
struct State {
  Buffer out, max, sum;

  State(Index rows, Index head_dim)
      : out({1, 1, rows, head_dim}, DType::kFloat64),
        max({1, 1, rows, 1}, DType::kFloat64),
        sum({1, 1, rows, 1}, DType::kFloat64) {
    std::ranges::fill(out.values<double>(), 0.0);
    std::ranges::fill(max.values<double>(), -kInfinity);
    std::ranges::fill(sum.values<double>(), 0.0);
  }
  Partial<double> view() { return {head_of<double>(out, 0, 0), max.values<double>(), sum.values<double>()}; }
};

// Ends a pass in place: O / l and m + log l. A row that has seen no key stays as it is.
void end(Partial<double> acc) {
  for (Index i = 0; i < acc.out.rows; ++i) {
    const double l = acc.sum[static_cast<std::size_t>(i)];
    if (l == 0) continue;
    for (double& x : acc.out.row(i)) x /= l;
    acc.max[static_cast<std::size_t>(i)] += std::log(l);
  }
}

verify::Answer ended(State state) {
  end(state.view());
  verify::Answer answer;
  answer.out = std::move(state.out);
  answer.lse = std::move(state.max);
  return answer;
}

std::string named(TileSize tile) {
  return "tiles of " + std::to_string(tile.rows) + " x " + std::to_string(tile.keys);
}

// A head without dout: lesson 106 treats gradients.
HeadCase forward_head(const Trial& trial, const HeadShape& shape, const Mask& mask,
                      Data data = Data::kNormal) {
  HeadCase head = make_head(trial, shape, mask, data);
  head.in.dout = Buffer();
  return head;
}

// The student's function adds the keys [first, last) of a head to a state. Returns which of its constant
// arguments it changed.
std::uint32_t add_keys(Trial& trial, const HeadCase& head, State& state, Index first, Index last,
                       TileSize tile) {
  return trial
      .call<BlockwiseForward>(head.q(), head.k().slice(first, last - first),
                              head.v().slice(first, last - first), part_of(head.ranges, first, last),
                              head.problem.softmax_scale, state.view(), tile)
      .changed;
}

State attended(Trial& trial, const HeadCase& head, TileSize tile) {
  State state(head.rows(), head.head_dim());
  add_keys(trial, head, state, 0, head.keys(), tile);
  return state;
}

// The scores that row i sees.
std::vector<double> scores_of(const HeadCase& head, Index i) {
  std::vector<double> scores;
  const auto row = static_cast<std::size_t>(i);
  for (Index n = head.ranges.begin[row]; n < head.ranges.end[row]; ++n) {
    double product = 0;
    for (Index c = 0; c < head.head_dim(); ++c) product += head.q()(i, c) * head.k()(n, c);
    scores.push_back(head.problem.softmax_scale * product);
  }
  return scores;
}

// m and l of every row, for a diagnosis.
verify::ScanExhibit exhibit_of_state(const HeadCase& head, TileSize tile, const std::vector<double>& max,
                                     const std::vector<double>& sum) {
  verify::ScanExhibit scans{.rows = {}, .precision = head.precision};
  for (Index i = 0; i < head.rows(); ++i)
    scans.rows.push_back(
        {.scores = scores_of(head, i),
         .state = std::pair{max[static_cast<std::size_t>(i)], sum[static_cast<std::size_t>(i)]},
         .tile = static_cast<std::size_t>(tile.keys),
         .first_key = static_cast<std::size_t>(head.ranges.begin[static_cast<std::size_t>(i)])});
  return scans;
}

// Throws Wrong unless m of every row is the largest score that it sees.
void require_maxima(const std::string& label, const HeadCase& head, const std::vector<double>& max) {
  for (Index i = 0; i < head.rows(); ++i) {
    const auto row = static_cast<std::size_t>(i);
    double largest = -std::numeric_limits<double>::infinity(), scale = 1;
    for (const double score : scores_of(head, i)) largest = std::max(largest, score);
    for (Index n = head.ranges.begin[row]; n < head.ranges.end[row]; ++n) {
      double absolute = 0;
      for (Index c = 0; c < head.head_dim(); ++c) absolute += std::fabs(head.q()(i, c) * head.k()(n, c));
      scale = std::max(scale, std::fabs(head.problem.softmax_scale) * absolute);
    }
    if (max[row] == largest ||
        std::fabs(max[row] - largest) <= static_cast<double>(tolerance_of(head.precision)) * scale)
      continue;
    throw Wrong(sign_of(max[row]), "not-the-maximum", "{}: m of row {} is {}, and its largest score is {}",
                label, i, digits_of(max[row]), digits_of(largest));
  }
}

void require_attention(Trial& trial, const HeadCase& head, TileSize tile) {
  const std::string label = head.name + ", " + named(tile);
  State state = attended(trial, head, tile);
  const auto m = state.max.values<double>(), l = state.sum.values<double>();
  const std::vector<double> max(m.begin(), m.end()), sum(l.begin(), l.end());
  require_head(label, head, ended(std::move(state)), {}, in_tiles(head, tile));
  exhibiting([&] { return exhibit_of_state(head, tile, max, sum); },
             [&] { require_maxima(label, head, max); });
}

// ---- the checks

const Check kOneTile{
    .claim = "One tile that holds the whole problem gives attention.",
    .id = "one-tile",
    .weight = 3,
    .hint =
        "With one tile nothing is carried: scores, maximum of the row, weights, their sum into l, weights "
        "times v into O. You do not divide; finish does.",
    .run{[](Trial& trial) {
      for (const HeadShape& shape : {HeadShape{6, 9, 5}, HeadShape{5, 3, 7}})
        require_attention(trial, forward_head(trial, shape, full_mask()), {16, 16});
    }},
};

const Check kRisingMaximum{
    .claim = "The maximum may grow in every tile, or never after the first.",
    .id = "rising-maximum",
    .weight = 2,
    .needs = {"one-tile"},
    .hint =
        "What was added to l and O before was measured against the old maximum: which number, at most 1, "
        "brings both to the new one?",
    .run{[](Trial& trial) {
      // One query of 1, scores of k_j ln 2: rising, the maximum grows in every tile; falling, in the first
      // one only.
      for (const double slope : {1.0, -1.0}) {
        HeadCase head = forward_head(trial, {1, 10, 1}, full_mask());
        head.name = slope > 0 ? "scores that rise from key to key" : "scores that fall from key to key";
        head.problem.softmax_scale = std::log(2.0);
        head.in.q.values<double>()[0] = 1;
        for (std::size_t j = 0; j < 10; ++j) head.in.k.values<double>()[j] = slope * static_cast<double>(j);
        require_attention(trial, head, {1, 2});
      }
    }},
};

const Check kKeyTiles{
    .claim = "Many tiles of keys, all rows in one tile.",
    .id = "key-tiles",
    .weight = 2,
    .needs = {"one-tile"},
    .hint = "l and O carry the same factor, row by row; and the division is not yours.",
    .run{[](Trial& trial) {
      for (const Data data : {Data::kNormal, Data::kPeaked}) {
        require_attention(trial, forward_head(trial, {6, 12, 4}, full_mask(), data), {16, 3});
        require_attention(trial, forward_head(trial, {6, 12, 4}, full_mask(), data), {16, 1});
      }
    }},
};

const Check kRowTiles{
    .claim = "Many tiles of rows, all keys in one tile.",
    .id = "row-tiles",
    .weight = 1,
    .needs = {"one-tile"},
    .hint = "Row i of the tile is row t.row0 + i of q and of the state.",
    .run{[](Trial& trial) {
      for (const Index rows : {1, 2, 4})
        require_attention(trial, forward_head(trial, {8, 5, 3}, full_mask()), {rows, 16});
    }},
};

const Check kAnyTile{
    .claim = "Tiles of 1 x 1, tiles that do not divide the sizes, tiles larger than the problem.",
    .id = "any-tile",
    .weight = 2,
    .needs = {"key-tiles", "row-tiles"},
    .hint =
        "The last tile of a row or column is smaller: t.rows() and t.keys() know, the tile size does not.",
    .run{[](Trial& trial) {
      const HeadCase head = forward_head(trial, {11, 13, 5}, full_mask(), Data::kPeaked);
      constexpr TileSize kTiles[] = {{1, 1}, {1, 64},  {64, 1},  {4, 5},   {5, 4},
                                     {7, 3}, {10, 12}, {11, 13}, {12, 14}, {256, 256}};
      for (const TileSize tile : kTiles) require_attention(trial, head, tile);
    }},
};

const Check kMasks{
    .claim = "Causal, windowed, two-sided and packed masks.",
    .id = "masks",
    .weight = 2,
    .needs = {"any-tile"},
    .hint =
        "A score that is not visible has weight 0, not exp(0): which span does visible_scores give you, and "
        "what does it write into the others?",
    .run{[](Trial& trial) {
      Mask two_sided = window_mask(4), packed = causal_mask();
      two_sided.right = 2;
      packed.cu_seqlens = {0, 1, 6, 13, 17};
      for (const Mask& mask : {causal_mask(), window_mask(3), two_sided, packed})
        for (const TileSize tile : {TileSize{4, 4}, {3, 5}, {5, 2}, {32, 32}})
          require_attention(trial, forward_head(trial, {17, 17, 3}, mask), tile);
    }},
};

// Rows before the first key, rows after the last one, and a block that no row sees; from the identity and
// into a state that has seen other keys before.
const Check kBlindRows{
    .claim = "Rows that see no key of a tile, or none at all, stay as they were, without a NaN.",
    .id = "blind-rows",
    .weight = 2,
    .needs = {"any-tile"},
    .hint = "An empty span has no maximum: what must happen to m, l and O of that row?",
    .run{[](Trial& trial) {
      const HeadShape early{12, 8, 3, 0, 5}, late{12, 8, 3, 4, 0}, none{6, 5, 3, 40, 0};
      for (const auto& [shape, mask] :
           {std::pair{early, causal_mask()}, {late, window_mask(3)}, {none, window_mask(7)}}) {
        const HeadCase head = forward_head(trial, shape, mask);
        State state = attended(trial, head, {4, 3});
        for (Index i = 0; i < head.rows(); ++i) {
          const auto a = static_cast<std::size_t>(i);
          if (head.ranges.begin[a] < head.ranges.end[a]) continue;
          if (state.view().sum[a] != 0)
            throw Wrong(sign::kValues, "sum-of-nothing",
                        "{}: row {} sees no key, and its l is {} instead of 0", head.name, i,
                        state.view().sum[a]);
        }
        require_head(head.name, head, ended(std::move(state)), {}, in_tiles(head, {4, 3}));
      }
      // A state that has seen eight keys, and then eight that lie far outside of a window.
      const HeadCase before = forward_head(trial, {12, 8, 3, 4, 0}, full_mask());
      const HeadCase blind = forward_head(trial, {12, 8, 3, 60, 0}, window_mask(3));
      State state = attended(trial, before, {4, 3});
      add_keys(trial, blind, state, 0, blind.keys(), {4, 3});
      require_head("a state of " + before.name + ", and then 8 keys that no row sees", before,
                   ended(std::move(state)));
    }},
};

const Check kHotScores{
    .claim = "Scores of hundreds and of +-20000, above and below zero, neither overflow nor vanish.",
    .id = "hot-scores",
    .weight = 2,
    .needs = {"any-tile"},
    .hint =
        "Each row has a maximum of its own, over all keys that it has seen so far, and no exponent is "
        "positive.",
    .run{[](Trial& trial) {
      for (const Data data : verify::kAllData) {
        require_attention(trial, forward_head(trial, {9, 17, 6}, full_mask(), data), {4, 3});
        require_attention(trial, forward_head(trial, {15, 15, 6}, causal_mask(), data), {4, 4});
      }
    }},
};

const Check kAddsToTheState{
    .claim = "Keys that come in several calls, in any order, give what one call gives.",
    .id = "adds-to-the-state",
    .weight = 2,
    .needs = {"any-tile"},
    .hint = "The state that you get may have seen other keys already: continue from its m, l and O.",
    .run{[](Trial& trial) {
      const HeadCase head = forward_head(trial, {10, 14, 4, 2, 0}, window_mask(9), Data::kPeaked);
      const auto in_order = [&](const std::string& label, const std::vector<std::pair<Index, Index>>& parts) {
        State state(head.rows(), head.head_dim());
        for (const auto& [first, last] : parts) add_keys(trial, head, state, first, last, {3, 4});
        require_head(head.name + ", " + label, head, ended(std::move(state)), {},
                     in_tiles(head, {3, 4}, parts));
      };
      in_order("keys 0 to 6, then 7 to 13", {{0, 7}, {7, 14}});
      in_order("keys 7 to 13, then 0 to 6", {{7, 14}, {0, 7}});
      in_order("keys in parts of 1, 9 and 4", {{9, 10}, {0, 9}, {10, 14}});
    }},
};

const Check kOddSizes{
    .claim = "Any number of rows, keys and columns, 0 and 1 included, and any softmax_scale.",
    .id = "odd-sizes",
    .weight = 1,
    .needs = {"any-tile"},
    .hint =
        "Take rows from q, keys from k, columns from q; none of them need be equal, even, or larger than 1.",
    .run{[](Trial& trial) {
      for (const HeadShape& shape :
           {HeadShape{1, 1, 1}, {1, 9, 2}, {7, 1, 3}, {3, 13, 1}, {33, 21, 65}, {0, 5, 4}, {4, 0, 4}})
        for (const TileSize tile : {TileSize{2, 3}, {256, 256}})
          require_attention(trial, forward_head(trial, shape, full_mask()), tile);
      for (const double scale : {0.0, -0.7, 1.0}) {
        HeadCase head = forward_head(trial, {6, 8, 4}, full_mask());
        head.problem.softmax_scale = scale;
        head.name += ", softmax_scale " + std::to_string(scale);
        require_attention(trial, head, {3, 3});
      }
    }},
};

// out is a weighted mean of the rows of v, and the weights do not depend on v.
const Check kMeanOfValues{
    .claim = "Values of 1 give an out of 1: out is a weighted mean of the values.",
    .id = "mean-of-values",
    .weight = 1,
    .needs = {"key-tiles"},
    .hint =
        "With v = 1 every column of O is l itself: which of the two did you forget to rescale, or to add to?",
    .run{[](Trial& trial) {
      HeadCase head = forward_head(trial, {9, 11, 3}, causal_mask());
      std::ranges::fill(head.in.v.values<double>(), 1.0);
      head.name += ", all values 1";
      const verify::Answer answer = ended(attended(trial, head, {2, 3}));
      for (const double x : answer.out.values<double>())
        if (!(std::fabs(x - 1) <= 1e-13))
          throw Wrong(sign::kValues, "not-one", "{}: out holds {} instead of 1", head.name, x);
      for (std::size_t j = 0; j < 11; ++j)
        for (std::size_t c = 0; c < 3; ++c)
          head.in.v.values<double>()[3 * j + c] =
              std::pow(10.0, static_cast<double>(c)) * static_cast<double>(j);
      head.name = "values of j, 10 j and 100 j";
      require_attention(trial, head, {2, 3});
    }},
};

// Keys that a row does not see must not change it, and keys that it sees must.
const Check kLeaks{
    .claim = "Changing a key changes exactly the rows that see it.",
    .id = "leaks",
    .weight = 1,
    .needs = {"masks"},
    .hint = "Does a score outside of the visible span get into the maximum, into l, or into O?",
    .run{[](Trial& trial) {
      const HeadShape shape{13, 13, 4};
      for (const Mask& mask : {causal_mask(), window_mask(4)})
        for (const Index key : {0, 5, 12}) {
          HeadCase head = forward_head(trial, shape, mask);
          const verify::Answer before = ended(attended(trial, head, {4, 5}));
          for (double& x : head_of<double>(head.in.k, 0, 0).row(key)) x += 0.5;
          for (double& x : head_of<double>(head.in.v, 0, 0).row(key)) x -= 0.25;
          const verify::Answer after = ended(attended(trial, head, {4, 5}));
          for (Index i = 0; i < shape.rows; ++i) {
            const auto a = static_cast<std::size_t>(i);
            const bool sees = head.ranges.begin[a] <= key && key < head.ranges.end[a];
            const bool same = before.lse.values<double>()[a] == after.lse.values<double>()[a] &&
                              std::ranges::equal(head_of<double>(before.out, 0, 0).row(i),
                                                 head_of<double>(after.out, 0, 0).row(i));
            if (sees == same)
              throw Wrong(sign::kValues, "visibility", "{}: key {} was changed, and row {}{}", head.name, key,
                          i, sees ? ", which sees it, stays as it was" : ", which does not see it, changes");
          }
        }
    }},
};

const Check kInputsUnchanged{
    .claim = "Only the state is written; q, k and v are read.",
    .id = "inputs-unchanged",
    .weight = 1,
    .needs = {"one-tile"},
    .hint = "Scale the scores, not the queries: q is used again by the next tile and by the caller.",
    .run{[](Trial& trial) {
      constexpr const char* kNames[] = {"q", "k", "v", "ranges"};
      const HeadCase head = forward_head(trial, {7, 9, 4}, causal_mask());
      State state(head.rows(), head.head_dim());
      const std::uint32_t changed = add_keys(trial, head, state, 0, head.keys(), {3, 4});
      require_unchanged("your function", changed, kNames);
    }},
};

const Check kCaseTable{
    .claim =
        "Blocks of the harness's table: shards against foreign blocks, every mask, layout and kind of data.",
    .id = "case-table",
    .weight = 2,
    .needs = {"masks", "blind-rows"},
    .hint = "Look at the case's name: which of its words does your function not handle?",
    .run{[](Trial& trial) {
      for (const TileSize tile : {TileSize{5, 3}, TileSize{}})
        require_forward(some_blocks(trial, tile.rows == 5 ? 0 : 1, 6), [&](const HeadForward& h) {
          std::vector<double> sum(static_cast<std::size_t>(h.q.rows), 0.0);
          std::ranges::fill(h.out.data, 0.0);
          std::ranges::fill(h.lse, -kInfinity);
          const Partial<double> acc{h.out, h.lse, sum};
          trial.call<BlockwiseForward>(h.q, h.k, h.v, h.ranges, h.softmax_scale, acc, tile);
          end(acc);
        });
    }},
};

const Check kFloats{
    .claim = "float as well as double.",
    .id = "floats",
    .weight = 1,
    .needs = {"masks", "blind-rows", "hot-scores", "adds-to-the-state"},
    .hint =
        "T is float, too: 7 digits, and no exponential of a score above 88. Which line of yours knows that?",
    .precision = DType::kFloat32,
    .run{[](Trial& trial) {
      for (const Data data : {Data::kNormal, Data::kHot, Data::kNegative, Data::kGap}) {
        require_attention(trial, forward_head(trial, {9, 17, 6}, full_mask(), data), {4, 3});
        require_attention(trial, forward_head(trial, {15, 15, 6}, window_mask(5), data), {4, 4});
      }
      require_attention(trial, forward_head(trial, {12, 8, 3, 0, 5}, causal_mask()), {4, 3});
      const HeadCase head = forward_head(trial, {10, 14, 4}, full_mask(), Data::kPeaked);
      State state(head.rows(), head.head_dim());
      for (const auto& [first, last] : {std::pair<Index, Index>{7, 14}, {0, 7}})
        add_keys(trial, head, state, first, last, {3, 4});
      require_head(head.name + ", keys 7 to 13, then 0 to 6", head, ended(std::move(state)), {},
                   in_tiles(head, {3, 4}, {{7, 14}, {0, 7}}));
    }},
};

constexpr std::uint64_t kLittleMemory = 192 << 20;  // no 8000 x 8000 numbers, not even of float

const Check kLongSequence{
    .claim = "8000 tokens under a window in a process of 192 MB: their score matrix would take 512 MB.",
    .id = "long-sequence",
    .weight = 2,
    .needs = {"masks"},
    .hint =
        "What do you allocate? A tile of scores is all that may grow with rows times keys, and it is given.",
    .workers = {.address_bytes = kLittleMemory},
    .run{[](Trial& trial) {
      constexpr Index kTokens = 8'000;
      constexpr Position kWindow = 12;
      const HeadCase head = make_head(trial, {kTokens, kTokens, 2}, window_mask(kWindow));
      const verify::Answer got = ended(attended(trial, head, {64, 64}));
      require_pieces(head.name, pieces_of(head, kWindow), got, {"out", "lse"});
    }},
};

const Check kDrivesTheRing{
    .claim = "The library's ring on 3 ranks, which calls your function, equals the oracle.",
    .id = "drives-the-ring",
    .weight = 2,
    .needs = {"any-tile"},
    .hint = "Every step of the ring calls your function with another block and other key ranges.",
    .run{[](Trial& trial) {
      const auto ring = [&](Layout layout, Mask mask, Data data) {
        const Problem problem = make_problem({1, 4, 2, 31, 6}, std::move(mask), layout, 3);
        require_right_ring(trial, verify::make_case(problem, data, trial.seed()));
      };
      ring(Layout::kContiguous, causal_mask(), Data::kNormal);
      ring(Layout::kZigzag, window_mask(7), Data::kHot);
    }},
};

// ---- for a diagnosis

// So many rows, and tiles of so few keys, that a maximum grows after its row's first tile in any kind of row:
// in the last ones of the tiles, and also if rows count from their tile and see four keys at most.
verify::Exhibit interview(Trial& trial) {
  const auto asked = [&](const HeadCase& head, TileSize tile) {
    return exhibit_of_failure([&] { require_attention(trial, head, tile); });
  };
  if (verify::Exhibit wrong = asked(forward_head(trial, {26, 26, 16}, causal_mask()), {4, 2})) return wrong;
  for (const HeadCase& head : telling_heads(trial))
    if (verify::Exhibit wrong = asked(head, {4, 5})) return wrong;
  return nullptr;
}

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{kOneTile,       kRisingMaximum, kKeyTiles,        kRowTiles,       kAnyTile,
                            kMasks,         kBlindRows,     kHotScores,       kAddsToTheState, kOddSizes,
                            kMeanOfValues,  kLeaks,         kInputsUnchanged, kCaseTable,      kLongSequence,
                            kDrivesTheRing, kFloats};
  for (Check& check : checks) check.interview = interview;
  return checks;
}

}  // namespace ringcraft::judge
