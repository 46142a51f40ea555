// Tests the laws of reaches: two wrong readings at once, a cursor that is used for more than one pair of
// ranks, room for too few ranks, and time that grows with the square are told; right reaches have no cause.
#include <algorithm>
#include <functional>

#include "support/catch.hpp"
#include "verify/diagnose/diagnose.hpp"

namespace ringcraft::verify {
namespace {

using Sees = std::function<bool(const Problem&, const std::vector<Position>& queries,
                                const std::vector<Position>& keys)>;

// Whether a query sees a key, as the cursor answers.
bool sees_by(MaskCursor& cursor, const std::vector<Position>& queries, const std::vector<Position>& keys) {
  return std::ranges::any_of(queries, [&](Position query) {
    const auto [lo, hi] = cursor.at(query);
    return std::ranges::any_of(keys, [&, lo = lo, hi = hi](Position k) { return lo <= k && k < hi; });
  });
}

bool right_sees(const Problem& p, const std::vector<Position>& queries, const std::vector<Position>& keys) {
  MaskCursor cursor(p.mask, p.shape.seqlen);
  return sees_by(cursor, queries, keys);
}

std::vector<int> reaches_by(const Problem& p, const Sees& sees) {
  const int n = p.world_size;
  std::vector<int> reach;
  for (int s = 0; s < n; ++s) {
    int t = n - 1;
    while (t > 0 && !sees(p, p.sharding().positions((s + t) % n), p.sharding().positions(s))) --t;
    reach.push_back(t);
  }
  return reach;
}

std::vector<Problem> problems() {
  std::vector<Problem> all;
  for (const Layout layout : kLayouts)
    for (const std::vector<Position>& borders :
         {std::vector<Position>{}, {0, 5, 6, 19, 22}, {0, 10, 22}, {0, 4, 18, 22}})
      for (Mask mask :
           {causal_mask(), full_mask(), window_mask(1), window_mask(5), Mask{.left = 3, .right = 2}}) {
        mask.cu_seqlens = borders;
        all.push_back(make_problem({.seqlen = 22, .head_dim = 1}, mask, layout, 4));
      }
  return all;
}

// The first cause of these answers; `sees` is made anew for each problem.
Cause cause_of(const std::function<Sees(const Problem&)>& sees) {
  ReachExhibit x;
  for (const Problem& p : problems()) x.asked.push_back({p, reaches_by(p, sees(p))});
  const std::vector<Cause> causes = causes_of(x);
  return causes.empty() ? Cause{} : causes[0];
}

}  // namespace

TEST_CASE("right reaches have no cause") {
  CHECK(cause_of([](const Problem&) { return right_sees; }).id.empty());
}

TEST_CASE("two wrong readings of a mask are told together") {
  const auto misread = [](const Problem&) -> Sees {
    return [](Problem p, const auto& queries, const auto& keys) {
      p.mask.cu_seqlens.clear();
      if (p.mask.left != kNoLimit) --p.mask.left;
      return right_sees(p, queries, keys);
    };
  };
  CHECK(cause_of(misread).sentence ==
        "the window shows W keys with the query's own, instead of W + 1, and the borders of packed sequences "
        "are ignored");
}

TEST_CASE("a cursor that is used for more than one pair of ranks is found") {
  const auto one_cursor = [](const Problem& problem) -> Sees {
    return [cursor = MaskCursor(problem.mask, problem.shape.seqlen)](const Problem&, const auto& queries,
                                                                     const auto& keys) mutable {
      return sees_by(cursor, queries, keys);
    };
  };
  const Cause cause = cause_of(one_cursor);
  CHECK(cause.id == "solved-reach-cursor");
  CHECK(cause.sentence.starts_with("one MaskCursor is used for all pairs of ranks"));
}

TEST_CASE("room for too few ranks is found, and so is time that grows with the square") {
  ReachExhibit x;
  for (const int ranks : {1, 8, 32, 33, 64}) {
    const Problem p =
        make_problem({.seqlen = ranks, .head_dim = 1}, window_mask(1), Layout::kContiguous, ranks);
    x.asked.push_back({p, ranks > 32 ? std::nullopt : std::optional(reaches_by(p, right_sees))});
  }
  CHECK(causes_of(x)[0].sentence == "reaches does not return if there are more than 32 ranks");
  CHECK(causes_of(ReachExhibit{.timed = {{false, 0.01, 0.01}, {true, 1.0, 0.01}}})[0].id ==
        "solved-reach-borders");
  CHECK(causes_of(ReachExhibit{.timed = {{false, 1.0, 0.01}, {true, 1.0, 0.01}}})[0].id ==
        "solved-reach-time");
  CHECK(causes_of(ReachExhibit{.timed = {{false, 0.01, 0.01}, {true, 0.09, 0.01}}}).empty());
}

}  // namespace ringcraft::verify
