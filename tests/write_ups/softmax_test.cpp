// Softmax and merge as popular write-ups have them: averages, missing guards, clamps and sentinels.
#include <algorithm>
#include <set>

#include "head.hpp"
#include "support/catch.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

// Rows that become NaN in a causal ring whose ranks take each block's weights relative to the block's own
// maximum, and merge without the guard.
std::set<Position> nan_rows(Layout layout) {
  constexpr int kRanks = 4;
  const Head head(16, 3, true, 1);
  const Sharding sharding{layout, 16, kRanks};
  std::set<Position> rows;
  for (int rank = 0; rank < kRanks; ++rank)
    for (const Position query : sharding.positions(rank)) {
      State state{kNothing, 0, std::vector<double>(3)};
      for (int t = 0; t < kRanks; ++t) {
        const Positions keys = sharding.positions((rank - t + kRanks) % kRanks);
        State block{kNothing, 0, std::vector<double>(3)};
        for (const Position key : keys) block.m = std::max(block.m, head.score(query, key));
        for (const Position key : keys) block.l += std::exp(head.score(query, key) - block.m);
        state = merged_unguarded(state, block);
      }
      if (std::isnan(state.l)) rows.insert(query);
    }
  return rows;
}

}  // namespace

TEST_CASE("the mean of the parts' outputs is not attention") {
  const Head head(12, 4, false, 2);
  const Table want = forward(head).out;
  Table mean(12, 4), weighted(12, 4);
  for (Position i = 0; i < 12; ++i) {
    State all{kNothing, 0, std::vector<double>(4)};
    for (int rank = 0; rank < 3; ++rank) {
      const State part = partial(head, i, Sharding{Layout::kContiguous, 12, 3}.positions(rank));
      for (Index c = 0; c < 4; ++c) mean(i, c) += part.o[static_cast<std::size_t>(c)] / part.l / 3;
      all = merged(all, part);
    }
    for (Index c = 0; c < 4; ++c) weighted(i, c) = all.o[static_cast<std::size_t>(c)] / all.l;
  }
  CHECK(relative_error(mean, want) > 0.1);
  CHECK(relative_error(weighted, want) <= 1e-14);
}

TEST_CASE("rows that see nothing of a block become NaN forever where weights are relative to the block") {
  CHECK(nan_rows(Layout::kContiguous).size() == 12);
  CHECK(nan_rows(Layout::kZigzag).size() == 6);
  CHECK(nan_rows(Layout::kZigzagToken) == std::set<Position>{0, 1, 2});  // one row of each of three ranks
  CHECK(nan_rows(Layout::kStriped).size() == 3);
}

TEST_CASE("two sides that have seen nothing merge to NaN without a guard") {
  const State nothing{kNothing, 0, {0}};
  CHECK(std::isnan(merged_unguarded(nothing, nothing).l));
  CHECK(merged(nothing, nothing).l == 0);
  CHECK(merged(nothing, nothing).m == kNothing);
}

TEST_CASE("l is at least 1 for every row that has seen a key, and a clamp keeps a NaN") {
  double smallest = 1e300;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Head head(20, 2, true, seed);
    for (Position i = 0; i < 20; ++i) {
      State state{kNothing, 0, std::vector<double>(2)};
      for (int rank = 0; rank < 5; ++rank)
        state = merged(state, partial(head, i, Sharding{Layout::kStriped, 20, 5}.positions(rank)));
      smallest = std::min(smallest, state.l);
    }
  }
  CHECK(smallest >= 1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(nan < 1e-6 ? 1e-6 : nan));  // clamp(l, min = 1e-6)
}

TEST_CASE("a maximum that starts at -1e4 loses rows of lower scores") {
  const auto sum_from = [](float start, float score) {
    const float m = std::max(start, score);
    return std::exp(score - m);  // the only key's weight
  };
  CHECK(sum_from(-1e4F, -10050.0F) < 1e-6F);  // it should be 1
  CHECK(sum_from(-1e4F, -10120.0F) == 0.0F);  // then O / l is 0 / 0
  CHECK(sum_from(-std::numeric_limits<float>::infinity(), -10120.0F) == 1.0F);
}

TEST_CASE("weights of e to the lse overflow and vanish without a shift") {
  const auto merged_lse = [](float a, float b) { return std::log(std::exp(a) + std::exp(b)); };
  CHECK(std::isinf(merged_lse(89, 88)));
  CHECK(merged_lse(-105, -104) == -std::numeric_limits<float>::infinity());
  const auto shifted = [](float a, float b) {
    return std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
  };
  CHECK(shifted(1000, 1000) == Approx(1000.693147));
  CHECK(shifted(-1000, -1000) == Approx(-999.306853));
}

TEST_CASE("after the shift no exponent is positive, so nothing overflows") {
  const Head head(30, 8, true, 3);
  for (Position i = 0; i < 30; ++i) {
    const State state = partial(head, i, everything(30));
    for (Position j = 0; j <= i; ++j) CHECK(head.score(i, j) - state.m <= 0);
  }
}

TEST_CASE("weights recomputed from l instead of lse do not add up to 1") {
  const Head head(10, 4, true, 4);
  double right = 0, wrong = 0;
  const State state = partial(head, 9, everything(10));
  for (Position j = 0; j < 10; ++j) {
    right += std::exp(head.score(9, j) - (state.m + std::log(state.l)));
    wrong += std::exp(head.score(9, j) - state.l);
  }
  CHECK(std::fabs(right - 1) <= 1e-14);
  CHECK(std::fabs(wrong - 1) > 0.1);
}

TEST_CASE("results of different world sizes agree to rounding and not bit by bit") {
  const Head head(24, 8, false, 5);
  Table results[2] = {Table(24, 8), Table(24, 8)};
  for (const int which : {0, 1})
    for (Position i = 0; i < 24; ++i) {
      State state{kNothing, 0, std::vector<double>(8)};
      const int ranks = which == 0 ? 2 : 6;
      for (int rank = 0; rank < ranks; ++rank)
        state = merged(state, partial(head, i, Sharding{Layout::kContiguous, 24, ranks}.positions(rank)));
      for (Index c = 0; c < 8; ++c) results[which](i, c) = state.o[static_cast<std::size_t>(c)] / state.l;
    }
  CHECK(results[0].numbers != results[1].numbers);
  CHECK(relative_error(results[0], results[1]) <= 1e-14);
}

TEST_CASE("a largest error that is found with std::max lets NaN pass") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  double largest = 0;
  bool all_within = true;
  for (const double error : {0.0, nan, 0.0}) {
    largest = std::max(largest, error);
    all_within = all_within && error <= 1e-6;
  }
  CHECK(largest <= 1e-6);   // the usual test passes
  CHECK_FALSE(all_within);  // each element against the bound does not
}
