// Counts the work and the exchanges of a run.
#include "tool/attention/long_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "ringcraft/core/error.hpp"
#include "ringcraft/parallel/gather/head_slices.hpp"
#include "ringcraft/parallel/hybrid/dealt_heads.hpp"
#include "ringcraft/parallel/hybrid/hybrid_theory.hpp"
#include "ringcraft/parallel/hybrid/rank_grid.hpp"
#include "verify/schedule/schedule.hpp"

namespace ringcraft::tool {
namespace {

// How often all ranks together send keys and values, forward: blocks, or parcels of heads.
Index exchanges_of(const Method& method, const Problem& problem, const MethodOptions& options) {
  const Theory theory = method.theory(problem, options, Pass::kForward, {1, 1});
  return std::accumulate(theory.messages_sent.begin(), theory.messages_sent.end(), Index{0}) / 2;
}

// Copies of all ranks, and the runs of neighbouring bytes that they move.
struct Copies {
  Index events = 0, runs = 0;
};

// Each rank takes and puts slices of whole tensors: a run of all rows for each head.
Copies copies_of_slices(const Shape& shape, const HeadSlices& slices, int ranks, Pass last) {
  const bool backward = last == Pass::kBackward;
  const Index query = 3 + (backward ? 5 : 0), kv = 2 + (backward ? 4 : 0);
  return {ranks * slices.count() * (query + kv),
          ranks * shape.batch * (query * shape.heads + kv * shape.kv_heads)};
}

// Each rank packs parcels for its neighbours, and puts theirs where their rows stand together.
Copies copies_of_parcels(const Problem& problem, int degree, Pass last) {
  const Index ranks = problem.world_size, query = problem.shape.heads / degree,
              kv = std::max<Index>(1, problem.shape.kv_heads / degree);
  Index together = 0;  // runs of all ranks' rows
  for (int rank = 0; rank < problem.world_size; ++rank) {
    const std::vector<Index> rows = joined_rows(problem.sharding(), degree, rank);
    for (std::size_t a = 0; a < rows.size(); ++a) together += a == 0 || rows[a] != rows[a - 1] + 1 ? 1 : 0;
  }
  // To heads: q, k and v, dout; and back: out and lse, dq, dk and dv, which may be added to those of others.
  Index to_heads = 3, to_rows = 2, heads = 3 * query + 2 * kv;
  if (last == Pass::kBackward) to_heads += 1, to_rows += 3, heads += 2 * query + 2 * kv;
  const Index added = last == Pass::kBackward && problem.shape.kv_heads < degree ? 4 * (degree - kv) : 0;
  return {ranks * ((2 * degree - 1) * to_heads + 2 * degree * to_rows + added),
          problem.shape.batch * (degree * heads * (together + ranks) + ranks * added)};
}

Copies copies_of(const Method& method, const Problem& problem, const MethodOptions& options, Pass last) {
  if (!verify::moves_heads(method, problem, options)) return {};
  if ((method.takes & kTakesUlysses) != 0)
    return copies_of_parcels(problem, degree_of(problem, options), last);
  return copies_of_slices(problem.shape, HeadSlices(problem.shape, options.gather_heads), problem.world_size,
                          last);
}

}  // namespace

Index copied_runs(const Method& method, const Problem& problem, const MethodOptions& options, Pass last) {
  return copies_of(method, problem, options, last).runs;
}

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
  constexpr double kOfACopy = 930, kOfARun = 11;                        // with the messages of a parcel
  const Copies copies = copies_of(method, problem, options, last);
  const int degree = verify::dealing_degree(method, problem, options);
  const Index exchanges = degree == 1 ? exchanges_of(method, problem, options)
                                      : degree * exchanges_of(kRing, column_problem(problem, degree), {});
  return of_an_exchange * static_cast<double>(exchanges) + kOfACopy * static_cast<double>(copies.events) +
         kOfARun * static_cast<double>(copies.runs);
}

std::string warning_of_trace(const Method& method, const Problem& problem, const MethodOptions& options,
                             Pass last) {
  constexpr double kLarge = 100e6;  // bytes
  const double bytes = trace_bytes(method, problem, options, last);
  if (bytes <= kLarge) return {};
  return "the trace will take about " + std::to_string(std::llround(bytes / 1e6)) +
         " MB: it grows with the messages and copies of all ranks; fewer ranks, or a --window that needs "
         "fewer hops, "
         "make "
         "it smaller";
}

}  // namespace ringcraft::tool
