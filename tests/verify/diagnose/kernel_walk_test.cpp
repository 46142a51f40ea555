// Kernels with one mistake, computed here, and their diagnosis.
#include <cmath>

#include "ringcraft/core/random.hpp"
#include "support/catch.hpp"
#include "verify/diagnose/kernels/fragments.hpp"
#include "verify/diagnose/kernels/gradient_walk.hpp"
#include "verify/diagnose/kernels/merge_walk.hpp"
#include "verify/diagnose/kernels/tile_walk.hpp"
#include "verify/suspects_support.hpp"

namespace ringcraft::verify {
namespace {

std::vector<double> random_numbers(std::size_t count, Random& random) {
  std::vector<double> all(count);
  for (double& x : all) x = to_bf16(random.normal());
  return all;
}

// S of one tile, each score computed alone, from q and k as fragments hold them.
template <class Query, class Key>
TileExhibit tile_of(Query query, Key key) {
  Random random(5);
  TileExhibit t{.rows = 64,
                .keys = 64,
                .width = 16,
                .scale = 0.25,
                .q = {},
                .k = {},
                .v = {},
                .seen = {},
                .scores = {},
                .values = {},
                .out = {}};
  t.q = random_numbers(64 * 16, random);
  t.k = random_numbers(64 * 16, random);
  for (Index b = 0; b < 64; ++b) {
    t.seen.push_back(b);
    for (Index a = 0; a < 64; ++a) {
      double sum = 0;
      for (Index d = 0; d < 16; ++d) sum += query(t, a, d) * key(t, b, d);
      t.scores.push_back(t.scale * sum);
    }
  }
  return t;
}
double q_at(const TileExhibit& t, Index a, Index d) { return t.q[static_cast<std::size_t>(16 * a + d)]; }
double k_at(const TileExhibit& t, Index b, Index d) { return t.k[static_cast<std::size_t>(16 * b + d)]; }

std::string id_of(const std::optional<Cause>& cause) { return cause ? cause->id : "none"; }

AttentionExhibit exhibit_of_problem(const BlockProblem& p, bool gradients) {
  Random random(9);
  Inputs in{Buffer(p.q_extents(), DType::kFloat64), Buffer(p.kv_extents(), DType::kFloat64),
            Buffer(p.kv_extents(), DType::kFloat64), Buffer(p.q_extents(), DType::kFloat64)};
  for (Buffer* tensor : {&in.q, &in.k, &in.v, &in.dout})
    for (double& x : tensor->values<double>()) x = random.normal();
  if (!gradients) in.dout = Buffer();
  Answer right = clone(oracle(p, in).value);
  return {p, one_block(p), {}, std::move(in), std::move(right), {}, {}, DType::kFloat64};
}

BlockProblem block_problem(Index rows, Index keys, Mask mask, Position first_query = 0) {
  BlockProblem p{.batch = 1,
                 .heads = 1,
                 .kv_heads = 1,
                 .head_dim = 6,
                 .mask = std::move(mask),
                 .queries = {},
                 .keys = {},
                 .softmax_scale = 0.4};
  for (Index i = 0; i < rows; ++i) p.queries.push_back(first_query + i);
  for (Index i = 0; i < keys; ++i) p.keys.push_back(i);
  return p;
}

void compare(AttentionExhibit& x, Expect expect) {
  x.comparison = compare_exact(x.claim, oracle(x.problem, x.inputs), expect);
}

}  // namespace

TEST_CASE("fragments of a tile are solved for") {
  CHECK(id_of(cause_of_scores({tile_of(q_at, k_at)})) == "none");
  const auto other_eight = [](const TileExhibit& t, Index b, Index d) { return k_at(t, b ^ 8, d); };
  CHECK(id_of(cause_of_scores({tile_of(q_at, other_eight)})) == "fragment-accumulators");
  const auto turned = [](const TileExhibit& t, Index b, Index d) {
    return k_at(t, b / 8 * 8 + d % 8, d / 8 * 8 + b % 8);
  };
  CHECK(id_of(cause_of_scores({tile_of(q_at, turned)})) == "fragment-turned");
  const auto one_turned = [&](const TileExhibit& t, Index b, Index d) {
    return b % 16 < 8 && d % 16 < 8 ? turned(t, b, d) : k_at(t, b, d);
  };
  const auto of_one = cause_of_scores({tile_of(q_at, one_turned)});
  REQUIRE(id_of(of_one) == "fragment-turned");
  CHECK(of_one->sentence.find("holds its 8 x 8 matrix transposed") != std::string::npos);
  const auto exchanged = [](const TileExhibit& t, Index a, Index d) {
    return q_at(t, a / 16 * 16 + d / 8 * 8 + a % 8, a % 16 / 8 * 8 + d % 8);
  };
  CHECK(id_of(cause_of_scores({tile_of(exchanged, k_at)})) == "fragment-registers");
  CHECK(id_of(cause_of_scores({tile_of(exchanged, turned)})) == "fragment-registers");
  const auto first_half = [](const TileExhibit& t, Index a, Index d) { return d < 8 ? q_at(t, a, d) : 0; };
  CHECK(id_of(cause_of_scores({tile_of(first_half, k_at)})) == "fragment-columns");
  TileExhibit scaled = tile_of(q_at, k_at);
  for (double& x : scaled.scores) x *= 4;
  CHECK(id_of(cause_of_scores({scaled})) == "none");
}

TEST_CASE("a walk over tiles of keys is solved for") {
  Mask packed = full_mask();
  packed.cu_seqlens = {0, 70, 200};
  const auto id_with = [](const TileWalk& walk, const Mask& mask = window_mask(30)) {
    AttentionExhibit x = exhibit_of_problem(block_problem(130, 200, mask, 60), false);
    const WalkHead head(x);
    Answer claim = clone(x.claim);
    for (Index row = 0; row < 130; ++row) {
      const WalkedRow got = walked(head, 0, 0, row, walk);
      put(claim.out, {0, 0, row}, got.out);
      put(claim.lse, {0, 0, row}, {got.lse});
    }
    x.claim = std::move(claim);
    compare(x, Expect::kForward);
    return id_of(cause_of_walk({&x}));
  };
  CHECK(id_with({}) == "none");
  CHECK(id_with({.masked = TileWalk::Masked::kFromZero}) == "walk-mask");
  for (const auto masked :
       {TileWalk::Masked::kBehindFirst, TileWalk::Masked::kBehindLast, TileWalk::Masked::kBeforeLast})
    CHECK(id_with({.masked = masked}, packed) == "walk-mask");
  CHECK(id_with({.values = TileWalk::Data::kBefore}) == "walk-data");
  CHECK(id_with({.visits = TileWalk::Visits::kSkipsFirst}) == "walk-visits");
  CHECK(id_with({.carry = TileWalk::Carry::kNoOut}) == "walk-carry");
  CHECK(id_with({.columns = TileWalk::Columns::kFours}) == "walk-columns");
}

TEST_CASE("a walk of a backward kernel is solved for") {
  const auto id_with = [](const GradientWalk& walk, bool of_keys) {
    AttentionExhibit x = exhibit_of_problem(block_problem(96, 70, full_mask()), true);
    const GradientScene scene(x);
    Answer claim = clone(x.claim);
    for (Index row = 0; row < 96 && !of_keys; ++row)
      put(claim.dq, {0, 0, row}, walked_dq(scene, 0, 0, row, walk).value);
    for (Index key = 0; key < 70 && of_keys; ++key) {
      const auto [dk, dv] = walked_dkv(scene, 0, 0, key, walk);
      put(claim.dk, {0, 0, key}, dk.value);
      put(claim.dv, {0, 0, key}, dv.value);
    }
    x.claim = std::move(claim);
    compare(x, Expect::kAll);
    return id_of(cause_of_gradients({&x}));
  };
  CHECK(id_with({}, false) == "none");
  CHECK(id_with({}, true) == "none");
  CHECK(id_with({.dp = GradientWalk::Sum::kAddsUp}, false) == "gradient-sums");
  CHECK(id_with({.lse_place = GradientWalk::Place::kWithinTile}, true) == "gradient-place");
  CHECK(id_with({.factor = GradientWalk::Factor::kNone}, true) == "gradient-factor");
  CHECK(id_with({.visits = GradientWalk::Visits::kSkipsLast}, true) == "gradient-visits");
}

TEST_CASE("a merge kernel is solved for") {
  const auto id_with = [](const MergeWalk& walk, bool normalized) {
    Random random(3);
    const auto numbers = [&] {
      PartialNumbers n;
      for (int i = 0; i < 18 * 10; ++i) n.out.push_back(random.normal());
      for (int i = 0; i < 18; ++i) n.max.push_back(2 * random.normal());
      for (int i = 0; i < 18 && !normalized; ++i) n.sum.push_back(1 + std::fabs(random.normal()));
      return n;
    };
    MergeExhibit x{18, 10, numbers(), numbers(), {}, DType::kFloat32};
    for (Index row = 0; row < 18; ++row) {
      const MergedRow got = merged_row(x, row, walk);
      x.result.out.insert(x.result.out.end(), got.out.begin(), got.out.end());
      x.result.max.push_back(got.max);
      if (!normalized) x.result.sum.push_back(got.sum);
    }
    return id_of(cause_of_merges({x}));
  };
  CHECK(id_with({}, false) == "none");
  CHECK(id_with({}, true) == "none");
  CHECK(id_with({.sum = MergeWalk::Sum::kAccSixteen}, false) == "merge-sum");
  CHECK(id_with({.columns = MergeWalk::Columns::kFours}, false) == "merge-columns");
  CHECK(id_with({.row = MergeWalk::Row::kFirst, .of = MergeWalk::Of::kOut}, false) == "merge-row");
  CHECK(id_with({.lse = MergeWalk::Lse::kTimes}, true) == "merge-lse");
}

}  // namespace ringcraft::verify
