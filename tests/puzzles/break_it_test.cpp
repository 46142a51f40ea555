// The rings of 303.break_it: the right one is right, and a search over all smaller
// cases confirms the smallest sizes.
#include <algorithm>

#include "303_ring_forward/puzzles/break_it/rings.hpp"
#include "judge/tree/config.hpp"
#include "support/catch.hpp"

namespace ringcraft::judge {
namespace {

using verify::Case;

// Calls `action` with every case of this size, ranks x tokens x heads, on at most 8 ranks; until it returns
// true.
template <class Action>
bool any_case(Index size, Action action) {
  for (int ranks = 1; ranks <= std::min<Index>(8, size); ++ranks)
    for (Index heads = 1; heads <= 16 && size % ranks == 0 && heads * ranks <= size; ++heads) {
      if (size % (ranks * heads) != 0) continue;
      const Position tokens = size / ranks / heads;
      std::vector<Mask> masks{full_mask(), causal_mask()};
      for (Position window = 0; window < tokens; ++window) masks.push_back(window_mask(window));
      for (Index kv_heads = 1; kv_heads <= heads; ++kv_heads)
        for (const Mask& mask : masks)
          for (const Layout layout : kLayouts) {
            if (heads % kv_heads != 0) continue;
            const Problem p = make_problem({1, heads, kv_heads, tokens, 4}, mask, layout, ranks);
            if (action(verify::make_case(p, verify::Data::kNormal, 1))) return true;
          }
    }
  return false;
}

Index smallest_for(const WrongRing& ring) {
  for (Index size = 1;; ++size)
    if (any_case(size, [&](const Case& c) { return !flaw_of(ring.habit, c).empty(); })) return size;
}

bool tells_all_apart(const Case& c) {
  return std::ranges::all_of(wrong_rings(),
                             [&](const WrongRing& ring) { return !flaw_of(ring.habit, c).empty(); });
}

}  // namespace

TEST_CASE("the right ring of 303.break_it is right on every small case") {
  for (Index size = 1; size <= 12; ++size)
    any_case(size, [](const Case& c) {
      INFO(c.name);
      CHECK(flaw_of({}, c) == "");
      return false;
    });
}

TEST_CASE("each wrong ring of 303.break_it is told apart by a case of its smallest size and by none below") {
  for (const WrongRing& ring : wrong_rings()) {
    INFO(ring.name << " " << ring.does);
    CHECK(smallest_for(ring) == ring.smallest);
  }
}

TEST_CASE("no case below the smallest tells all five rings apart") {
  // The needs of single rings, known from the search above, are not searched again: three ranks at least, and
  // four heads.
  Index smallest = 3 * 4;
  while (!any_case(smallest, [](const Case& c) {
    return c.problem.world_size >= 3 && c.problem.shape.heads >= 4 && tells_all_apart(c);
  }))
    ++smallest;
  CHECK(smallest == kSmallestForAll);
}

}  // namespace ringcraft::judge
