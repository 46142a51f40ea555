// Counts the work and the exchanges of a run.
#include "tool/attention/long_run.hpp"

#include <cmath>
#include <cstdio>
#include <numeric>

#include "ringcraft/core/error.hpp"

namespace ringcraft::tool {
namespace {

// How often all ranks together send keys and values, forward: blocks, or parcels of heads.
Index exchanges_of(const Method& method, const Problem& problem, const MethodOptions& options) {
  const Theory theory = method.theory(problem, options, Pass::kForward, {1, 1});
  return std::accumulate(theory.messages_sent.begin(), theory.messages_sent.end(), Index{0}) / 2;
}

}  // namespace

std::vector<Index> work_of(const Method& method, const Problem& problem, const MethodOptions& options,
                           Pass last) {
  std::vector<Index> work = method.theory(problem, options, Pass::kForward, {1, 1}).pairs;
  for (Index& pairs : work)
    pairs *= products_per_pair(Pass::kForward) +
             (last == Pass::kBackward ? products_per_pair(Pass::kBackward) : 0);
  return work;
}

void warn_of_exchanges(const Method& method, const Problem& problem, const MethodOptions& options) {
  constexpr Index kMany = 500'000;  // take some seconds
  const Index exchanges = exchanges_of(method, problem, options);
  if (exchanges < kMany) return;
  std::fprintf(
      stderr,
      "ringcraft: %d ranks send keys and values %lld times, however few tokens they hold; fewer ranks, or a "
      "--window, take less time\n",
      problem.world_size, static_cast<long long>(exchanges));
}

void require_recordable(const char* flag, const Method& method, const Problem& problem,
                        const MethodOptions& options) {
  constexpr Index kMost = 50'000;  // exchanges
  const Index exchanges = exchanges_of(method, problem, options);
  if (exchanges > kMost)
    throw Error(flag, "ranks that send keys and values at most " + std::to_string(kMost) + " times",
                std::to_string(exchanges),
                "record it with fewer ranks, or with a --window that needs fewer hops");
}

double trace_bytes(const Method& method, const Problem& problem, const MethodOptions& options, Pass last) {
  const double of_an_exchange = last == Pass::kBackward ? 9100 : 3000;  // measured with 20 to 200 ranks
  return of_an_exchange * static_cast<double>(exchanges_of(method, problem, options));
}

std::string warning_of_trace(const Method& method, const Problem& problem, const MethodOptions& options,
                             Pass last) {
  constexpr double kLarge = 100e6;  // bytes
  const double bytes = trace_bytes(method, problem, options, last);
  if (bytes <= kLarge) return {};
  return "the trace will take about " + std::to_string(std::llround(bytes / 1e6)) +
         " MB: it grows with the messages of all ranks; fewer ranks, or a --window that needs fewer hops, "
         "make "
         "it smaller";
}

}  // namespace ringcraft::tool
