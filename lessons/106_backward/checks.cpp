// Lesson 106: checks of the backward pass of one head, with tiles of every size. The student's function gets
// the lse and delta of the whole row and adds to dq, dk and dv. Expected gradients are the oracle's.
#include <cmath>
#include <numeric>

#include "exercise.hpp"
#include "judge/checks/block_trial.hpp"
#include "judge/checks/head_trial.hpp"
#include "judge/checks/lesson.hpp"

namespace ringcraft::judge {
namespace {

using verify::Data;

std::string named(TileSize tile) {
  return "tiles of " + std::to_string(tile.rows) + " x " + std::to_string(tile.keys);
}

Buffer zeros(const Extents& extents) {
  Buffer buffer(extents, DType::kFloat64);
  std::ranges::fill(buffer.values<double>(), 0.0);
  return buffer;
}

// Results of the forward pass that the backward pass needs.
struct Saved {
  std::vector<double> lse, delta;
};

Saved saved_by_forward(const HeadCase& head) {
  verify::Inputs in = verify::clone(head.in);
  in.dout = Buffer();
  const verify::Oracle forward = verify::oracle(head.problem, in);
  const auto lse = forward.value.lse.values<double>();
  return {{lse.begin(), lse.end()}, plain_delta(head_of<double>(forward.value.out, 0, 0), head.dout())};
}

verify::Answer no_gradients(const HeadCase& head) {
  verify::Answer answer;
  answer.dq = zeros(head.problem.q_extents());
  answer.dk = zeros(head.problem.kv_extents());
  answer.dv = zeros(head.problem.kv_extents());
  return answer;
}

// The student's function adds the gradients of the keys [first, last) of a head. Returns which of its
// constant arguments it changed.
std::uint32_t add_gradients(Trial& trial, const HeadCase& head, const Saved& saved, verify::Answer& answer,
                            Index first, Index last, TileSize tile) {
  const Index count = last - first;
  return trial
      .call<BlockwiseBackward>(head.q(), head.k().slice(first, count), head.v().slice(first, count),
                               head.dout(), saved.lse, saved.delta, part_of(head.ranges, first, last),
                               head.problem.softmax_scale, head_of<double>(answer.dq, 0, 0),
                               head_of<double>(answer.dk, 0, 0).slice(first, count),
                               head_of<double>(answer.dv, 0, 0).slice(first, count), tile)
      .changed;
}

verify::Answer gradients(Trial& trial, const HeadCase& head, TileSize tile) {
  verify::Answer answer = no_gradients(head);
  add_gradients(trial, head, saved_by_forward(head), answer, 0, head.keys(), tile);
  return answer;
}

const std::vector<std::string_view> kGradients{"dq", "dk", "dv"};

void require_gradients(Trial& trial, const HeadCase& head, TileSize tile,
                       const std::vector<std::string_view>& only = kGradients) {
  require_head(head.name + ", " + named(tile), head, gradients(trial, head, tile), only,
               in_tiles(head, tile));
}

// ---- the checks

// Compares one of the three gradients and ignores the others; once with more rows than keys, once with fewer.
void only(Trial& trial, std::string_view name) {
  for (const HeadShape& shape : {HeadShape{5, 8, 3}, HeadShape{9, 4, 6}})
    require_gradients(trial, make_head(trial, shape, full_mask()), {16, 16}, {name});
}

const Check kDv{
    .claim = "dv is right, with one tile for the whole problem.",
    .id = "dv",
    .weight = 2,
    .hint =
        "Key j gives v_j to every query i with the weight P_ij: from which rows of dout, and with which "
        "weights, does its gradient come? Do the rows of your P sum to 1?",
    .run{[](Trial& trial) { only(trial, "dv"); }},
};

const Check kDq{
    .claim = "dq is right, with one tile for the whole problem.",
    .id = "dq",
    .weight = 2,
    .hint =
        "Adding a constant to all scores of a row must change nothing: do the rows of your dS sum to 0? And "
        "how often does the scale stand in front of dq?",
    .run{[](Trial& trial) { only(trial, "dq"); }},
};

const Check kDk{
    .claim = "dk is right, with one tile for the whole problem.",
    .id = "dk",
    .weight = 2,
    .hint =
        "Row j of dk sums over queries, not over keys: which factor is transposed? The scale stands here as "
        "well.",
    .run{[](Trial& trial) { only(trial, "dk"); }},
};

const Check kAnyTile{
    .claim = "Any tiles: 1 x 1, uneven ones, larger than the problem.",
    .id = "any-tile",
    .weight = 3,
    .needs = {"dv", "dq", "dk"},
    .hint =
        "A tile knows a part of its rows and a part of its keys: what adds up over the tiles of a row, what "
        "over those of a column, and which numbers belong to the whole row?",
    .run{[](Trial& trial) {
      const HeadCase head = make_head(trial, {11, 13, 5}, full_mask());
      constexpr TileSize kTiles[] = {{16, 4}, {4, 16}, {1, 1},   {1, 64},  {64, 1},
                                     {4, 5},  {7, 3},  {10, 12}, {12, 14}, {256, 256}};
      for (const TileSize tile : kTiles) require_gradients(trial, head, tile);
    }},
};

const Check kMasks{
    .claim = "Causal, windowed, two-sided and packed masks.",
    .id = "masks",
    .weight = 2,
    .needs = {"any-tile"},
    .hint =
        "The mask of the forward pass is a part of the function that you differentiate: what is P where a "
        "key is not seen?",
    .run{[](Trial& trial) {
      Mask two_sided = window_mask(4), packed = causal_mask();
      two_sided.right = 2;
      packed.cu_seqlens = {0, 1, 6, 13, 17};
      for (const Mask& mask : {causal_mask(), window_mask(3), two_sided, packed})
        for (const TileSize tile : {TileSize{4, 4}, {3, 5}, {32, 32}})
          require_gradients(trial, make_head(trial, {17, 17, 3}, mask), tile);
    }},
};

// Rows before the first key and after the last one, keys that no row sees, and a block that no row sees.
const Check kBlindRows{
    .claim = "Rows without a key, and keys without a row, add nothing and get nothing, without a NaN.",
    .id = "blind-rows",
    .weight = 2,
    .needs = {"any-tile"},
    .hint = "The lse of such a row is -inf: what would exp(score - lse) be, and do you need to compute it?",
    .run{[](Trial& trial) {
      const HeadShape early{12, 8, 3, 0, 5}, late{12, 8, 3, 4, 0}, none{6, 5, 3, 40, 0};
      for (const TileSize tile : {TileSize{4, 3}, {16, 16}}) {
        require_gradients(trial, make_head(trial, early, causal_mask()), tile);
        require_gradients(trial, make_head(trial, late, window_mask(3)), tile);
        require_gradients(trial, make_head(trial, none, window_mask(7)), tile);
      }
    }},
};

const Check kAdds{
    .claim = "Gradients are added to what dq, dk and dv hold.",
    .id = "adds",
    .weight = 1,
    .needs = {"any-tile"},
    .hint =
        "The next block of keys comes with the same dq, the next head of the group with the same dk and dv: "
        "what must not be lost?",
    .run{[](Trial& trial) {
      const HeadCase head = make_head(trial, {8, 10, 4}, full_mask());
      verify::Answer answer = no_gradients(head);
      for (Buffer* gradient : {&answer.dq, &answer.dk, &answer.dv})
        std::iota(gradient->values<double>().begin(), gradient->values<double>().end(), 1.0);
      add_gradients(trial, head, saved_by_forward(head), answer, 0, head.keys(), {3, 4});
      const verify::Oracle want = verify::oracle(head.problem, head.in);
      const auto require_grown = [&](const char* name, const Buffer& got, const Buffer& gradient) {
        for (std::size_t i = 0; i < got.values<double>().size(); ++i) {
          const double start = static_cast<double>(i + 1), grown = got.values<double>()[i] - start;
          if (!(std::fabs(grown - gradient.values<double>()[i]) <= 1e-11))  // of numbers up to 40
            throw Wrong(sign::kValues, "not-added",
                        "{}: element {} of {} held {} and grew by {}; it must grow by {}", head.name, i,
                        Name{name}, start, grown, gradient.values<double>()[i]);
        }
      };
      require_grown("dq", answer.dq, want.value.dq);
      require_grown("dk", answer.dk, want.value.dk);
      require_grown("dv", answer.dv, want.value.dv);
    }},
};

// The keys of a row come in several blocks, as in a ring; lse and delta are those of the whole row.
const Check kWholeRow{
    .claim = "Keys in several blocks, as in a ring, with the lse and the delta of the whole row.",
    .id = "whole-row",
    .weight = 3,
    .needs = {"adds"},
    .hint =
        "A block cannot know the sum over keys that it does not hold: use the lse and the delta that you are "
        "given.",
    .run{[](Trial& trial) {
      const HeadCase head = make_head(trial, {10, 14, 4}, full_mask());
      const Saved saved = saved_by_forward(head);
      using Parts = std::vector<std::pair<Index, Index>>;
      for (const Parts& parts : {Parts{{0, 7}, {7, 14}}, Parts{{9, 10}, {0, 9}, {10, 14}}}) {
        verify::Answer answer = no_gradients(head);
        for (const auto& [first, last] : parts)
          add_gradients(trial, head, saved, answer, first, last, {16, 16});
        require_head(head.name + ", keys in " + std::to_string(parts.size()) + " blocks", head, answer,
                     kGradients, in_tiles(head, {16, 16}, parts));
      }
    }},
};

// Every row's weights sum to 1 and its dS to 0; so summed over the keys dv is dout summed over the rows, and
// dk is 0.
const Check kSums{
    .claim = "Summed over the keys, dv is the sum of dout, and dk is 0.",
    .id = "sums",
    .weight = 1,
    .needs = {"dv"},
    .hint = "The weights of a row sum to 1, and its dS to 0.",
    .run{[](Trial& trial) {
      const HeadCase head = make_head(trial, {9, 12, 3}, full_mask());
      const verify::Answer answer = gradients(trial, head, {4, 5});
      for (Index c = 0; c < 3; ++c) {
        double dv = 0, dk = 0, dout = 0;
        for (Index j = 0; j < 12; ++j) {
          dv += head_of<double>(answer.dv, 0, 0)(j, c);
          dk += head_of<double>(answer.dk, 0, 0)(j, c);
        }
        for (Index i = 0; i < 9; ++i) dout += head.dout()(i, c);
        if (!(std::fabs(dv - dout) <= 1e-12))
          throw Wrong(sign::kValues, "sum-of-dv",
                      "column {} of dv sums to {} over the keys, and of dout to {} over the rows", c, dv,
                      dout);
        if (!(std::fabs(dk) <= 1e-12))
          throw Wrong(sign::kValues, "sum-of-dk", "column {} of dk sums to {} over the keys, instead of 0", c,
                      dk);
      }
    }},
};

const Check kOddSizes{
    .claim = "Any number of rows, keys and columns, 0 and 1 included.",
    .id = "odd-sizes",
    .weight = 1,
    .needs = {"any-tile"},
    .hint =
        "Take rows from q, keys from k, columns from q; none of them need be equal, even, or larger than 1.",
    .run{[](Trial& trial) {
      for (const HeadShape& shape :
           {HeadShape{1, 1, 1}, {1, 9, 2}, {7, 1, 3}, {3, 13, 1}, {33, 21, 65}, {0, 5, 4}, {4, 0, 4}})
        for (const TileSize tile : {TileSize{2, 3}, {256, 256}})
          require_gradients(trial, make_head(trial, shape, full_mask()), tile);
    }},
};

const Check kAnyScale{
    .claim = "Any softmax_scale, 0 and negative ones included.",
    .id = "any-scale",
    .weight = 1,
    .needs = {"any-tile"},
    .hint = "The scale stands once in the scores, hence once in dq and once in dk, and not in dv.",
    .run{[](Trial& trial) {
      for (const double scale : {1.0, 0.3, -0.7, 0.0}) {
        HeadCase head = make_head(trial, {6, 8, 4}, causal_mask());
        head.problem.softmax_scale = scale;
        head.name += ", softmax_scale " + std::to_string(scale);
        require_gradients(trial, head, {3, 3});
      }
    }},
};

const Check kHotScores{
    .claim = "Scores of hundreds and of +-20000, above and below zero.",
    .id = "hot-scores",
    .weight = 2,
    .needs = {"any-tile"},
    .hint = "Subtract lse from the score before you take the exponential, not after.",
    .run{[](Trial& trial) {
      for (const Data data : verify::kAllData) {
        require_gradients(trial, make_head(trial, {9, 17, 6}, full_mask(), data), {4, 3});
        require_gradients(trial, make_head(trial, {15, 15, 6}, causal_mask(), data), {4, 4});
      }
    }},
};

// Changing dout of one row changes dq of this row alone, and dv of exactly the keys that the row sees.
const Check kLeaks{
    .claim = "Changing dout of one row changes only what this row sees, and its own dq.",
    .id = "leaks",
    .weight = 1,
    .needs = {"any-tile"},
    .hint = "Does a pair that the mask hides get into dv or dk?",
    .run{[](Trial& trial) {
      const auto same = [](const Buffer& a, const Buffer& b, Index row) {
        return std::ranges::equal(head_of<double>(a, 0, 0).row(row), head_of<double>(b, 0, 0).row(row));
      };
      for (const Mask& mask : {causal_mask(), window_mask(4)})
        for (const Index row : {0, 6, 12}) {
          HeadCase head = make_head(trial, {13, 13, 4}, mask);
          const verify::Answer before = gradients(trial, head, {4, 5});
          for (double& x : head_of<double>(head.in.dout, 0, 0).row(row)) x += 0.5;
          const verify::Answer after = gradients(trial, head, {4, 5});
          const std::string start = head.name + ": row " + std::to_string(row) + " of dout was changed, and ";
          for (Index i = 0; i < 13; ++i)
            if (i != row && !same(before.dq, after.dq, i))
              throw Wrong(sign::kValues, "visibility-of-dq", "{}dq of row {} changes", start, i);
          const auto a = static_cast<std::size_t>(row);
          for (Index j = 0; j < 13; ++j) {
            const bool seen = head.ranges.begin[a] <= j && j < head.ranges.end[a];
            if (seen == same(before.dv, after.dv, j))
              throw Wrong(sign::kValues, "visibility-of-dv", "{}dv of key {}{}", start, j,
                          seen ? ", which the row sees, stays" : ", which the row does not see, changes");
            if (!seen && !same(before.dk, after.dk, j))
              throw Wrong(sign::kValues, "visibility-of-dk",
                          "{}dk of key {}, which the row does not see, changes", start, j);
          }
        }
    }},
};

const Check kInputsUnchanged{
    .claim = "Only dq, dk and dv are written.",
    .id = "inputs-unchanged",
    .weight = 1,
    .needs = {"dv", "dq", "dk"},
    .hint = "The next tile, and the next step of the ring, read the same q, k, v, dout, lse and delta.",
    .run{[](Trial& trial) {
      constexpr const char* kNames[] = {"q", "k", "v", "dout", "lse", "delta", "ranges"};
      const HeadCase head = make_head(trial, {7, 9, 4}, causal_mask());
      verify::Answer answer = no_gradients(head);
      const std::uint32_t changed =
          add_gradients(trial, head, saved_by_forward(head), answer, 0, head.keys(), {3, 4});
      require_unchanged("your function", changed, kNames);
    }},
};

const Check kCaseTable{
    .claim = "Blocks of the harness's table, heads of a group adding to one dk and dv.",
    .id = "case-table",
    .weight = 2,
    .needs = {"masks", "blind-rows", "adds"},
    .hint = "Look at the case's name: which of its words does your function not handle?",
    .run{[](Trial& trial) {
      for (const TileSize tile : {TileSize{5, 3}, TileSize{}})
        require_backward(some_blocks(trial, tile.rows == 5 ? 0 : 1, 6), [&](const HeadBackward& h) {
          trial.call<BlockwiseBackward>(h.q, h.k, h.v, h.dout, h.lse, h.delta, h.ranges, h.softmax_scale,
                                        h.dq, h.dk, h.dv, tile);
        });
    }},
};

const Check kFloats{
    .claim = "float as well as double.",
    .id = "floats",
    .weight = 1,
    .needs = {"masks", "blind-rows", "adds", "hot-scores"},
    .hint =
        "T is float, too: 7 digits, and no exponential of a score above 88. Which line of yours knows that?",
    .precision = DType::kFloat32,
    .run{[](Trial& trial) {
      for (const Data data : {Data::kNormal, Data::kHot, Data::kNegative, Data::kGap}) {
        require_gradients(trial, make_head(trial, {9, 17, 6}, full_mask(), data), {4, 3});
        require_gradients(trial, make_head(trial, {15, 15, 6}, window_mask(5), data), {4, 4});
      }
      require_gradients(trial, make_head(trial, {12, 8, 3, 0, 5}, causal_mask()), {4, 3});
    }},
};

constexpr std::uint64_t kLittleMemory = 192 << 20;  // no 8000 x 8000 numbers, not even of float

const Check kLongSequence{
    .claim = "8000 tokens under a window in a process of 192 MB: their score matrix would take 512 MB.",
    .id = "long-sequence",
    .weight = 2,
    .needs = {"masks"},
    .hint = "What do you allocate? Two tiles are all that may grow with rows times keys, and they are given.",
    .workers = {.address_bytes = kLittleMemory},
    .run{[](Trial& trial) {
      constexpr Index kTokens = 8'000;
      constexpr Position kWindow = 12;
      const HeadCase head = make_head(trial, {kTokens, kTokens, 2}, window_mask(kWindow));
      const std::vector<Piece> pieces = pieces_of(head, kWindow);
      Saved saved;
      for (const Piece& piece : pieces) {
        const Index count = piece.last - piece.first;
        const auto lse =
            head_of<double>(piece.want.value.lse, 0, 0).slice(piece.first - piece.first_query, count);
        saved.lse.insert(saved.lse.end(), lse.data.begin(), lse.data.end());
        const auto out =
            head_of<double>(piece.want.value.out, 0, 0).slice(piece.first - piece.first_query, count);
        const auto delta = plain_delta(out, head.dout().slice(piece.first, count));
        saved.delta.insert(saved.delta.end(), delta.begin(), delta.end());
      }
      verify::Answer answer = no_gradients(head);
      add_gradients(trial, head, saved, answer, 0, kTokens, {64, 64});
      require_pieces(head.name, pieces, answer, kGradients);
    }},
};

// ---- for a diagnosis

// The growth of gradients that hold numbers before the call.
verify::Answer growth(Trial& trial, const HeadCase& head, verify::Answer& before) {
  before = no_gradients(head);
  for (Buffer* gradient : {&before.dq, &before.dk, &before.dv})
    std::iota(gradient->values<double>().begin(), gradient->values<double>().end(), 1.0);
  verify::Answer answer = verify::clone(before);
  add_gradients(trial, head, saved_by_forward(head), answer, 0, head.keys(), {4, 3});
  for (const auto& [gradient, held] :
       {std::pair{&answer.dq, &before.dq}, {&answer.dk, &before.dk}, {&answer.dv, &before.dv}})
    for (std::size_t i = 0; i < gradient->values<double>().size(); ++i)
      gradient->values<double>()[i] -= held->values<double>()[i];
  return answer;
}

verify::Exhibit interview(Trial& trial) {
  const HeadCase head = make_head(trial, {14, 14, 16}, causal_mask());
  if (verify::Exhibit wrong = exhibit_of_failure([&] { require_gradients(trial, head, {4, 3}); }))
    return wrong;
  verify::Answer before;
  verify::Answer grown = growth(trial, head, before);
  return exhibit_of_growth(head, std::move(grown), std::move(before));
}

}  // namespace

template <>
std::vector<Check> checks_of<RINGCRAFT_LESSON>() {
  std::vector<Check> checks{
      kDv,        kDq,           kDk,       kAnyTile,  kMasks,     kBlindRows, kAdds,
      kWholeRow,  kSums,         kOddSizes, kAnyScale, kHotScores, kLeaks,     kInputsUnchanged,
      kCaseTable, kLongSequence, kFloats};
  for (Check& check : checks) check.interview = interview;
  return checks;
}

}  // namespace ringcraft::judge
