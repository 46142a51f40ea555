// Counts the work and the exchanges of a run.
#include "tool/attention/long_run.hpp"

#include <cmath>
#include <cstdio>

#include "ringcraft/core/error.hpp"
#include "ringcraft/problem/reach.hpp"

namespace ringcraft::tool {
namespace {

// How often all ranks together pass a block on, forward.
Index exchanges_of(const Problem& problem) { return Index{problem.world_size} * hops(problem); }

}  // namespace

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
  const Index exchanges = exchanges_of(problem);
  if (exchanges < kMany) return;
  std::fprintf(
      stderr,
      "ringcraft: %d ranks pass blocks on %lld times, however few tokens they hold: the number of ranks "
      "times that of hops (%d); fewer ranks, or a --window, take less time\n",
      problem.world_size, static_cast<long long>(exchanges), hops(problem));
}

void require_recordable(const Problem& problem) {
  constexpr Index kMost = 50'000;  // exchanges
  const Index exchanges = exchanges_of(problem);
  if (exchanges > kMost)
    throw Error(
        "--trace", "at most " + std::to_string(kMost) + " exchanges, the number of ranks times that of hops",
        std::to_string(exchanges), "record it with fewer ranks, or with a --window that needs fewer hops");
}

double trace_bytes(const Problem& problem, Pass last) {
  const double of_an_exchange = last == Pass::kBackward ? 9100 : 3000;  // measured with 20 to 200 ranks
  return of_an_exchange * static_cast<double>(exchanges_of(problem));
}

std::string warning_of_trace(const Problem& problem, Pass last) {
  constexpr double kLarge = 100e6;  // bytes
  const double bytes = trace_bytes(problem, last);
  if (bytes <= kLarge) return {};
  return "the trace will take about " + std::to_string(std::llround(bytes / 1e6)) +
         " MB: it grows with the number of ranks times that of hops; fewer ranks, or a --window that needs "
         "fewer "
         "hops, make it smaller";
}

}  // namespace ringcraft::tool
