// Counts the work and the exchanges of a run.
#include "tool/attention/long_run.hpp"

#include <cstdio>

#include "ringcraft/problem/reach.hpp"

namespace ringcraft::tool {

Index work_of(const Problem& problem, int rank, Pass last) {
  MaskCursor cursor(problem.mask, problem.shape.seqlen);
  Index pairs = 0;
  for (const Position p : problem.sharding().positions(rank)) {
    const KeyInterval keys = cursor.at(p);
    pairs += keys.hi - keys.lo;
  }
  return pairs * (products_per_pair(Pass::kForward) +
                  (last == Pass::kBackward ? products_per_pair(Pass::kBackward) : 0));
}

void warn_of_exchanges(const Problem& problem) {
  constexpr Index kMany = 500'000;  // take some seconds
  const Index exchanges = Index{problem.world_size} * hops(problem);
  if (exchanges < kMany) return;
  std::fprintf(
      stderr,
      "ringcraft: %d ranks pass blocks on %lld times, however few tokens they hold: the number of ranks "
      "times that of hops (%d); fewer ranks, or a --window, take less time\n",
      problem.world_size, static_cast<long long>(exchanges), hops(problem));
}

}  // namespace ringcraft::tool
