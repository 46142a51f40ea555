// The solves of single functions: right exhibits have no cause, and each family of mistakes has its own.
#include <algorithm>
#include <cmath>
#include <functional>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/matrix.hpp"
#include "ringcraft/core/random.hpp"
#include "support/catch.hpp"
#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/first_cause.hpp"
#include "verify/diagnose/tiles/tile_head.hpp"
#include "verify/diagnose/twisted/scan.hpp"
#include "verify/oracle/cases.hpp"

namespace ringcraft::verify {
namespace {

std::vector<double> random_scores(Random& random, std::size_t count) {
  std::vector<double> scores;
  for (std::size_t j = 0; j < count; ++j) scores.push_back(2 * random.normal());
  return scores;
}

// Rows that a scan with this mistake went through, in parts of one length.
ScanExhibit scans_with(const ScanTwist& twist, std::size_t length, std::uint64_t seed) {
  Random random(seed);
  ScanExhibit scans;
  for (const std::size_t count : {1u, 2u, 5u, 9u, 12u}) {
    ScoreScan row{.scores = random_scores(random, count), .max_before = random.normal(), .sum_before = 1.5};
    std::vector<std::vector<ScanKey>> parts;
    for (std::size_t j = 0; j < count; ++j) {
      if (j % length == 0) parts.emplace_back();
      parts.back().push_back({row.scores[j], true, {}});
    }
    const ScanState state = scanned(twist, parts, {{}, row.max_before, row.sum_before}, {});
    row.state = std::pair{state.max, state.sum};
    scans.rows.push_back(std::move(row));
  }
  return scans;
}

TEST_CASE("a right scan has no cause") {
  for (const std::size_t length : {1u, 4u, 100u}) CHECK(causes_of(scans_with({}, length, 3)).empty());
}

TEST_CASE("every mistake of the grammar is found from its results, for any seed") {
  for (const ScanMistake& mistake : scan_mistakes()) {
    ScanTwist of_scores = mistake.twist;
    of_scores.out_factor = {}, of_scores.out_weight = {}, of_scores.out_when = {}, of_scores.divisor = {};
    if (of_scores != mistake.twist || mistake.twist.hidden != ScanTwist::Hidden::kNothing) continue;
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      const ScanExhibit scans = scans_with(mistake.twist, 4, seed);
      const bool shows = std::ranges::any_of(scans.rows, [](const ScoreScan& row) {
        SoftmaxState<double> right{row.max_before, row.sum_before};
        right = online_scan<double>(row.scores, right);
        return std::fabs(right.max + std::log(right.sum) - row.state->first - std::log(row.state->second)) >
               1e-9;
      });
      if (!shows) continue;
      const std::vector<Cause> causes = causes_of(scans);
      INFO(mistake.id << ", seed " << seed);
      CHECK(std::ranges::find(causes, mistake.id, &Cause::id) != causes.end());
    }
  }
}

TEST_CASE("hidden keys far above the others, hidden scores as weights, and keys of other parts") {
  const std::vector<double> one{1.0};
  const auto out_of = [&](const ScanTwist& twist, const std::vector<std::vector<ScanKey>>& parts) {
    return scan_result(twist, parts, 1, false, {}).out[0];
  };
  const std::vector<std::vector<ScanKey>> hot{{{0.5, true, one}, {5000, false, one}}};
  CHECK(std::isnan(out_of({.max = ScanTwist::Max::kOfHidden}, hot)));
  CHECK(out_of({.max = ScanTwist::Max::kOfHidden, .divisor = ScanTwist::Divisor::kSumUnless}, hot) == 0);
  const std::vector<std::vector<ScanKey>> alone{{{0, true, one}, {7, false, one}}, {{3, false, one}}};
  CHECK(out_of({.hidden = ScanTwist::Hidden::kScoreAlone}, alone) == 4);
  CHECK(out_of({.hidden = ScanTwist::Hidden::kScore}, alone) == 11);
  const std::vector<double> two{2.0};
  const std::vector<std::vector<ScanKey>> parts{{{0, true, one}}, {{0, true, two}}};
  CHECK(out_of({.keys = ScanTwist::Keys::kOnward}, parts) == 5.0 / 3);
  CHECK(out_of({.keys = ScanTwist::Keys::kBackward}, parts) == 4.0 / 3);
  CHECK(out_of({.keys = ScanTwist::Keys::kEverywhere}, parts) == 1.5);
}

TEST_CASE("two mistakes of a scan are told together") {
  const ScanTwist twist{.sum_factor = ScanTwist::Factor::kOne, .keys = ScanTwist::Keys::kLastLostSum};
  const std::vector<Cause> causes = causes_of(scans_with(twist, 4, 5));
  REQUIRE(!causes.empty());
  CHECK(causes[0].sentence.find("; and ") != std::string::npos);
}

TEST_CASE("numbers that no mistake leaves have no cause") {
  ScanExhibit scans = scans_with({}, 4, 7);
  Random random(11);
  for (ScoreScan& row : scans.rows) row.state->second += 0.1 + std::fabs(random.normal());
  CHECK(causes_of(scans).empty());
}

// ---- softmax

ScanExhibit softmax_with(double epsilon) {
  Random random(5);
  ScanExhibit all;
  for (const std::size_t count : {1u, 3u, 8u}) {
    ScoreScan row{.scores = random_scores(random, count)};
    const SoftmaxState<double> state = online_scan<double>(row.scores);
    for (const double score : row.scores)
      row.weights.push_back(std::exp(score - state.max) / (state.sum + epsilon));
    all.rows.push_back(std::move(row));
  }
  return all;
}

TEST_CASE("an epsilon in the denominator is solved for") {
  CHECK(causes_of(softmax_with(0)).empty());
  const std::vector<Cause> causes = causes_of(softmax_with(3e-5));
  REQUIRE(!causes.empty());
  CHECK(causes[0].sentence == "the weights are divided by l + 3e-05 instead of l");
}

TEST_CASE("weights that are never written are not taken for computed ones") {
  ScanExhibit all = softmax_with(0);
  all.rows.push_back({.scores = {-HUGE_VAL, -HUGE_VAL}, .weights = {unwritten(), unwritten()}});
  REQUIRE(!causes_of(all).empty());
  CHECK(causes_of(all)[0].sentence.find("never written") != std::string::npos);
  all.rows.back().weights = {std::nan(""), std::nan("")};
  const std::vector<Cause> causes = causes_of(all);
  CHECK(std::ranges::any_of(
      causes, [](const Cause& c) { return c.sentence.find("no number") != std::string::npos; }));
  CHECK(std::ranges::none_of(
      causes, [](const Cause& c) { return c.sentence.find("never written") != std::string::npos; }));
}

// ---- softmax over ranks

using State = SoftmaxState<double>;

// Three ranks whose weights and states follow `used(rank, row)` and `returned(rank, row)`.
template <class Used, class Returned>
SharedScanExhibit shared_with(Used used, Returned returned) {
  Random random(17);
  SharedScanExhibit x;
  constexpr Index kRows = 4;
  for (const Index cols : {3, 2, 4})
    x.ranks.push_back(
        {kRows, cols, random_scores(random, static_cast<std::size_t>(kRows * cols)), {}, {}, {}});
  const auto own = [&](std::size_t rank, Index row) {
    const auto& part = x.ranks[rank];
    return online_scan<double>(
        std::span<const double>(part.scores)
            .subspan(static_cast<std::size_t>(row * part.cols), static_cast<std::size_t>(part.cols)));
  };
  for (std::size_t r = 0; r < x.ranks.size(); ++r)
    for (Index i = 0; i < kRows; ++i) {
      auto& part = x.ranks[r];
      const State state = used(own, r, i), back = returned(own, r, i);
      for (Index j = 0; j < part.cols; ++j)
        part.weights.push_back(
            std::exp(part.scores[static_cast<std::size_t>(i * part.cols + j)] - state.max) / state.sum);
      part.max.push_back(back.max), part.sum.push_back(back.sum);
    }
  return x;
}

const auto kWhole = [](const auto& own, std::size_t, Index i) {
  return merged(merged(own(0, i), own(1, i)), own(2, i));
};
const auto kOwn = [](const auto& own, std::size_t r, Index i) { return own(r, i); };
const auto kUpToOwn = [](const auto& own, std::size_t r, Index i) {
  State sum;
  for (std::size_t rank = 0; rank <= r; ++rank) sum = merged(sum, own(rank, i));
  return sum;
};
const auto kFromOwn = [](const auto& own, std::size_t r, Index i) {
  return merged(merged(own(r, i), own((r + 1) % 3, i)), own((r + 2) % 3, i));
};

TEST_CASE("a softmax over ranks: which state is used, and which is returned") {
  CHECK(causes_of(shared_with(kWhole, kWhole)).empty());
  const std::vector<Cause> of_weights = causes_of(shared_with(kOwn, kWhole));
  CHECK(first_of(of_weights) == "shared-own");
  CHECK(of_weights.size() == 1);
  CHECK(first_of(causes_of(shared_with(kWhole, kUpToOwn))) == "shared-up-to-own");
  CHECK(causes_of(shared_with(kOwn, kUpToOwn)).size() == 2);
}

// ---- traffic

TravelExhibit travel(int hops, std::vector<Index> sent) {
  std::vector<Index> theory(16, 0);
  for (int r = 0; r < 4; ++r) theory[static_cast<std::size_t>(r * 4 + (r + 1) % 4)] = 10 * hops;
  return {4, hops, std::move(sent), theory, {10, 10, 10, 10}};
}

TEST_CASE("traffic is diagnosed by its law over the ranks") {
  CHECK(causes_of(travel(3, travel(3, {}).theory)).empty());
  std::vector<Index> straight(16, 10);
  for (int r = 0; r < 4; ++r) straight[static_cast<std::size_t>(r * 5)] = 0;
  CHECK(first_of(causes_of(travel(3, straight))) == "travel-owner");
  CHECK(first_of(causes_of(travel(2, travel(3, {}).theory))) == "travel-count");
  CHECK(first_of(causes_of(travel(3, std::vector<Index>(16, 0)))) == "travel-nothing");
  TravelExhibit labelled = travel(3, travel(3, {}).theory), padded = labelled;
  for (Index& bytes : labelled.sent) bytes += bytes > 0 ? 3 * 8 : 0;
  CHECK(first_of(causes_of(labelled)) == "travel-extra");
  padded.block = {10, 10, 10, 12};
  for (Index& bytes : padded.sent) bytes = bytes > 0 ? 3 * 12 : 0;
  CHECK(first_of(causes_of(padded)) == "travel-largest");
  CHECK(first_of(causes_of(TravelExhibit{.world_size = 4, .hops = 3, .handed = {2, 3, 0, 1}})) ==
        "travel-handed");
  CHECK(first_of(causes_of(TravelExhibit{.world_size = 4, .hops = 3, .handed = {1, 2, 3, 0}})).empty());
  CHECK(first_of(causes_of(TravelExhibit{.world_size = 4, .hops = 3, .handed = {3, 0, 1, 2}})) ==
        "travel-reversed");
  CHECK(first_of(causes_of(TravelExhibit{.world_size = 4, .hops = 3, .handed = {-1, -1, -1, -1}})) ==
        "travel-handed-none");
}

// ---- merges of (out, lse)

TEST_CASE("a merge of normalised results: weights, lse and columns") {
  Random random(23);
  MergeExhibit right{5, 6, {}, {}, {}, DType::kFloat32};
  for (PartialNumbers* part : {&right.acc, &right.block}) {
    part->out = random_scores(random, 30);
    part->max = random_scores(random, 5);
  }
  right.result = right.acc;
  for (std::size_t i = 0; i < 5; ++i) {
    const double lse = std::log(std::exp(right.acc.max[i]) + std::exp(right.block.max[i]));
    for (std::size_t c = 0; c < 6; ++c)
      right.result.out[i * 6 + c] = std::exp(right.acc.max[i] - lse) * right.acc.out[i * 6 + c] +
                                    std::exp(right.block.max[i] - lse) * right.block.out[i * 6 + c];
    right.result.max[i] = lse;
  }
  CHECK(causes_of(right).empty());
  MergeExhibit wrong = right;
  for (std::size_t i = 0; i < 5; ++i)
    wrong.result.max[i] = std::max(wrong.acc.max[i], wrong.block.max[i]) +
                          std::log2(1 + std::exp(-std::fabs(wrong.acc.max[i] - wrong.block.max[i])));
  CHECK(first_of(causes_of(wrong)) == "solved-merge-m");
  wrong = right;
  for (std::size_t i = 0; i < 5; ++i) wrong.result.out[i * 6 + 5] = wrong.acc.out[i * 6 + 5];
  CHECK(first_of(causes_of(wrong)) == "solved-merge-columns");
}

// ---- wrong indices of tiles

// An answer that was computed in tiles of 3 x 2 with this slip, in float64.
AttentionExhibit tiles_with(const TileSlip& slip, TensorGroup pass) {
  const BlockProblem problem{.batch = 1,
                             .heads = 2,
                             .kv_heads = 1,
                             .head_dim = 5,
                             .mask = causal_mask(),
                             .queries = {3, 4, 5, 6, 7, 8, 9},
                             .keys = {0, 1, 2, 3, 4, 5, 6, 7},
                             .softmax_scale = 0.4};
  const Inputs inputs = make_inputs(BlockCase{"tiles", problem, {}, Data::kNormal, 3}, DType::kFloat64);
  const Oracle right = oracle(problem, inputs);
  AttentionExhibit x{problem, tiled_arrangement(7, 8, 2, 3), {}, clone(inputs), clone(right.value), {}};
  const Evidence e{problem, x.place, nullptr, x.inputs, x.claim, right, x.comparison, DType::kFloat64};
  Answer made = clone(right.value);
  const auto copy = [](Buffer& to, Index head, const TileRows& rows, bool add) {
    for (std::size_t row = 0; row < rows.size(); ++row)
      for (std::size_t c = 0; c < rows[row].size(); ++c) {
        double& number = head_of<double>(to, 0, head)(static_cast<Index>(row), static_cast<Index>(c));
        number = (add ? number : 0) + rows[row][c];
      }
  };
  for (Index head = 0; head < 2; ++head) {
    TileHead computed(e, 0, head, {3, 2}, slip);
    if (pass == TensorGroup::kForward) {
      const auto forward = computed.forward();
      REQUIRE(forward);
      copy(made.out, head, forward->first, false);
      for (std::size_t row = 0; row < 7; ++row)
        head_of<double>(made.lse, 0, head)(static_cast<Index>(row), 0) = forward->second[row];
    } else {
      const auto backward = computed.backward();
      REQUIRE(backward);
      copy(made.dq, head, backward->dq, false);
      copy(made.dk, 0, backward->dk, head > 0);
      copy(made.dv, 0, backward->dv, head > 0);
    }
  }
  x.claim = std::move(made);
  x.comparison =
      compare_exact(x.claim, right, pass == TensorGroup::kForward ? Expect::kForward : Expect::kAll);
  return x;
}

TEST_CASE("an index that counts from the tile is told apart from one that counts from the head") {
  using Operand = TileOperand;
  const auto check = [](const TileSlip& slip, TensorGroup pass) {
    const AttentionExhibit x = tiles_with(slip, pass);
    REQUIRE(!x.comparison.good);
    const std::vector<Cause> causes = causes_of(x);
    INFO(cause_of_slip(slip).sentence);
    INFO(described(x.comparison, Sharding{}));
    REQUIRE(!causes.empty());
    CHECK(causes[0].sentence == cause_of_slip(slip).sentence);
  };
  for (const Operand operand : {Operand::kSum, Operand::kOutScaled, Operand::kQuery})
    check({operand, operand, TileIndex::kWithinTile}, TensorGroup::kForward);
  for (const Operand operand : {Operand::kLse, Operand::kDelta, Operand::kDkQuery, Operand::kDvDout})
    check({operand, operand, TileIndex::kWithinTile}, TensorGroup::kBackward);
  for (const Operand operand : {Operand::kDq, Operand::kDk, Operand::kDv})
    check({operand, operand, TileIndex::kStored}, TensorGroup::kBackward);
  check({Operand::kLse, Operand::kDelta, TileIndex::kFirstOfTile}, TensorGroup::kBackward);
}

// ---- gradients whose parts land in the wrong sum

// A causal zig-zag ring of 3 ranks, and its right answer.
struct ZigzagScene {
  Problem problem = make_problem({2, 4, 2, 31, 5}, causal_mask(), Layout::kZigzag, 3);
  Inputs inputs;
  Oracle right;

  explicit ZigzagScene(std::uint64_t seed)
      : inputs(make_inputs(Case{.name = "zigzag", .problem = problem, .data = Data::kNormal, .seed = seed},
                           DType::kFloat64)),
        right(oracle(problem, inputs)) {}

  std::vector<Cause> causes(const Answer& claim) const {
    return diagnose(problem, inputs, claim, right, compare_exact(claim, right)).causes();
  }
};

TEST_CASE("a sum that begins with that of the batch entry or head before is solved for") {
  for (const std::uint64_t seed : {1u, 2u}) {
    const ZigzagScene scene(seed);
    CHECK(scene.causes(scene.right.value).empty());
    Answer by_batch = clone(scene.right.value), by_head = clone(scene.right.value);
    for (Index row = 0; row < 31; ++row)
      for (Index c = 0; c < 5; ++c) {
        for (Index h = 0; h < 2; ++h)
          head_of<double>(by_batch.dk, 1, h)(row, c) += head_of<double>(by_batch.dk, 0, h)(row, c);
        for (Index b = 0; b < 2; ++b)
          for (Index h = 1; h < 4; ++h)
            head_of<double>(by_head.dq, b, h)(row, c) += head_of<double>(by_head.dq, b, h - 1)(row, c);
      }
    const std::vector<Cause> batch = scene.causes(by_batch), head = scene.causes(by_head);
    CHECK(first_of(batch) == "solved-carried");
    CHECK(first_of(head) == "solved-carried");
    REQUIRE(!batch.empty());
    CHECK(batch[0].sentence.find("batch entry") != std::string::npos);
  }
}

TEST_CASE("parts that are added to the other half of a zig-zag rank, or more than once, are solved for") {
  const ZigzagScene scene(3);
  const Sharding sharding = scene.problem.sharding();
  // dv of the keys of rank 0, by the rows of rank 2 alone: a ring of which only these rows have a dout.
  Inputs of_rank_two = clone(scene.inputs);
  for (Index row = 0; row < 31; ++row)
    if (sharding.owner_of(row) != 2)
      for (Index b = 0; b < 2; ++b)
        for (Index h = 0; h < 4; ++h)
          std::ranges::fill(head_of<double>(of_rank_two.dout, b, h).row(row), 0.0);
  const Oracle part = oracle(scene.problem, of_rank_two);
  const std::vector<Position> keys = sharding.positions(0);
  const auto middle = (keys.size() + 1) / 2;
  Answer moved = clone(scene.right.value), twice = clone(scene.right.value);
  for (Index b = 0; b < 2; ++b)
    for (Index h = 0; h < 2; ++h)
      for (Index c = 0; c < 5; ++c) {
        const auto of_part = [&](std::size_t n) { return head_of<double>(part.value.dv, b, h)(keys[n], c); };
        for (std::size_t n = 0; n < keys.size(); ++n)
          head_of<double>(twice.dv, b, h)(keys[n], c) += of_part(n);
        for (std::size_t n = 0; n + middle < keys.size(); ++n) {
          head_of<double>(moved.dv, b, h)(keys[n], c) -= of_part(n);
          head_of<double>(moved.dv, b, h)(keys[middle + n], c) += of_part(n);
        }
        for (std::size_t n = keys.size() - middle; n < middle; ++n)
          head_of<double>(moved.dv, b, h)(keys[n], c) -= of_part(n);
      }
  CHECK(first_of(scene.causes(moved)) == "solved-shares-half");
  const std::vector<Cause> causes = scene.causes(twice);
  REQUIRE(!causes.empty());
  CHECK(causes[0].sentence.find("rank 2") != std::string::npos);
}

}  // namespace

// ---- products

namespace {

// The result of a kernel for a product whose element (n, w) this function computes.
using Element = std::function<double(const ProductExhibit::Call&, Index n, Index w)>;

double product_of(const ProductExhibit::Call& call, Index n, Index w, Index steps) {
  double sum = call.keeps ? call.before[static_cast<std::size_t>(n * call.width + w)] : 0;
  for (Index k = 0; k < steps; ++k)
    sum += call.panel[static_cast<std::size_t>(k * call.width + w)] *
           call.b[static_cast<std::size_t>(k * call.rows + n)];
  return sum;
}

ProductExhibit products_with(const Element& element) {
  ProductExhibit x;
  Random random(11);
  for (const bool keeps : {false, true})
    for (const Index depth : {4, 7}) {
      ProductExhibit::Call call{depth, 13, 20, 6, 8, 4, keeps, {}, {}, {}, {}};
      for (Index i = 0; i < depth * call.width; ++i) call.panel.push_back(random.normal());
      for (Index i = 0; i < depth * call.rows; ++i) call.b.push_back(random.normal());
      for (Index i = 0; i < call.rows * call.width; ++i)
        call.before.push_back(keeps ? random.normal() : std::nan(""));
      for (Index n = 0; n < call.rows; ++n)
        for (Index w = 0; w < call.width; ++w) call.after.push_back(element(call, n, w));
      x.calls.push_back(std::move(call));
    }
  return x;
}

}  // namespace

TEST_CASE("a right product has no cause, and a wrong one that of its place") {
  using Call = ProductExhibit::Call;
  CHECK(causes_of(products_with([](const Call& c, Index n, Index w) {
          return product_of(c, n, w, c.depth);
        })).empty());
  const auto first_id = [](const Element& element) {
    const std::vector<Cause> causes = causes_of(products_with(element));
    return causes.empty() ? std::string("none") : causes.front().id;
  };
  const auto before = [](const Call& c, Index n, Index w) {
    return c.before[static_cast<std::size_t>(n * c.width + w)];
  };
  CHECK(first_id([&](const Call& c, Index n, Index w) {
          return product_of(c, n, w, c.depth) + (c.keeps ? before(c, n, w) : 0);
        }) == "solved-product-start");
  CHECK(first_id([](const Call& c, Index n, Index w) { return product_of(c, n, w, c.depth / 2 * 2); }) ==
        "solved-product-terms");
  CHECK(first_id([&](const Call& c, Index n, Index w) {
          return n < 12 ? product_of(c, n, w, c.depth) : before(c, n, w);
        }) == "solved-product-written");
  CHECK(first_id([](const Call& c, Index n, Index w) {
          return product_of(c, n, w, c.depth) - product_of(c, n, w, 0) + product_of(c, n % 6, w, 0);
        }) == "none");  // nothing identifies old numbers at other places
  // Two at once: the last step is lost, and the rows after the last whole tile.
  const std::vector<Cause> both = causes_of(products_with([&](const Call& c, Index n, Index w) {
    return n < 12 ? product_of(c, n, w, c.depth - 1) : before(c, n, w);
  }));
  REQUIRE(!both.empty());
  CHECK(both.front().sentence ==
        "the last step is left out; and rows of c after the last whole tile are never written");
}

}  // namespace ringcraft::verify
