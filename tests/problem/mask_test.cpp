// Masks: the interval of keys of every query against the pair predicate, and its words.
#include "ringcraft/problem/mask.hpp"

#include <vector>

#include "support/catch.hpp"
#include "support/predicate.hpp"
#include "support/random_problem.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

// Compares every interval of a mask with the predicate; returns the number of wrong answers.
int wrong_intervals(const Mask& mask, Position seqlen) {
  MaskCursor cursor(mask, seqlen);
  KeyInterval previous{0, 0};
  int wrong = 0;
  for (Position p = 0; p < seqlen; ++p) {
    const KeyInterval interval = cursor.at(p);
    for (Position k = 0; k < seqlen; ++k) wrong += sees(mask, p, k) != (interval.lo <= k && k < interval.hi);
    wrong += interval.lo < previous.lo || interval.hi < previous.hi;  // neither end ever moves left
    wrong += interval.lo < 0 || interval.hi > seqlen;
    previous = interval;
  }
  return wrong;
}

}  // namespace

TEST_CASE("intervals agree with the predicate for random masks") {
  Random random(31);
  for (int i = 0; i < 500; ++i) {
    const Position seqlen = random.integer(1, 30);
    const Mask mask = random_mask(random, seqlen);
    CAPTURE(described(mask), seqlen);
    CHECK(wrong_intervals(mask, seqlen) == 0);
  }
}

TEST_CASE("limits near the largest number do not overflow") {
  for (const Position limit : {kNoLimit, kNoLimit - 1, kNoLimit / 2, Position{1} << 40}) {
    CAPTURE(limit);
    CHECK(wrong_intervals({.left = limit, .right = limit}, 9) == 0);
    CHECK(wrong_intervals({.left = limit, .right = 0}, 9) == 0);
    CHECK(wrong_intervals({.left = 0, .right = limit}, 9) == 0);
    CHECK(wrong_intervals({.left = limit, .right = limit, .cu_seqlens = {0, 4, 9}}, 9) == 0);
  }
}

TEST_CASE("a cursor may skip positions and see one twice") {
  const Mask mask{.left = 3, .right = 0, .cu_seqlens = {0, 2, 3, 9, 20}};
  MaskCursor cursor(mask, 20);
  for (const Position p : {1, 8, 8, 9, 19}) {
    const KeyInterval interval = cursor.at(p);
    for (Position k = 0; k < 20; ++k) CHECK(sees(mask, p, k) == (interval.lo <= k && k < interval.hi));
  }
}

TEST_CASE("masks in words") {
  CHECK(described(full_mask()) == "full");
  CHECK(described(causal_mask()) == "causal");
  CHECK(described(window_mask(5)) == "window 5");
  CHECK(described(Mask{.left = 5, .right = 0, .cu_seqlens = {0, 2, 3, 9}}) == "window 5, 3 sequences");
  CHECK(described(Mask{.left = kNoLimit, .right = 2}) == "left open, right 2");
  CHECK(described(Mask{.left = 1}) == "left 1, right open");
  CHECK(causal_mask() == Mask{.right = 0});
  CHECK(window_mask(3) == Mask{.left = 3, .right = 0});
  CHECK_FALSE(window_mask(3) == window_mask(4));
}
