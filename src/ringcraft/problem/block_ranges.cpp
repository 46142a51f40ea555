// Counts the visible pairs of a block from the runs of its two shards.
#include "ringcraft/problem/block_ranges.hpp"

#include <algorithm>

#include "ringcraft/problem/problem.hpp"

namespace ringcraft {
namespace {

Position floor_of(Position a, Position b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

// The positions of the run from `begin` to before `end`.
PositionRun clipped(const PositionRun& run, Position begin, Position end) {
  const auto index = [&](Position p) {  // of the first one that is at least p
    return std::clamp<Index>(floor_of(p - run.first + run.stride - 1, run.stride), 0, run.count);
  };
  const Index from = index(begin);
  return {run.first + from * run.stride, run.stride, std::max<Index>(0, index(end) - from)};
}

// The sum of min(y, most) over 0 <= y < x.
Index capped_sum(Index x, Index most) {
  if (x <= 0) return 0;
  const Index rising = std::min(x - 1, most);
  return rising * (rising + 1) / 2 + most * (x - 1 - rising);
}

// Pairs of a query and a key with query - left <= key <= query + right. Both runs have one stride, so that
// this is a condition on the difference of the two indices.
Index pairs_of(const PositionRun& queries, const PositionRun& keys, Position left, Position right) {
  const Index n = queries.count, m = keys.count;
  if (n <= 0 || m <= 0) return 0;
  const Position apart = queries.first - keys.first, stride = queries.stride;
  const auto up_to = [&](Position difference) {  // pairs whose key index exceeds the query's by at most this
    const Index first = std::clamp<Index>(difference + 1, -n, m);
    return capped_sum(first + n, m) - capped_sum(first, m);
  };
  return up_to(floor_of(apart + right, stride)) - up_to(-floor_of(left - apart, stride) - 1);
}

// The first sequence that ends after this position.
std::size_t sequence_at(const std::vector<Position>& cu, Position p) {
  return static_cast<std::size_t>(std::upper_bound(cu.begin() + 1, cu.end() - 1, p) - cu.begin()) - 1;
}

struct Hull {  // all positions of a shard lie in [begin, end)
  explicit Hull(const std::vector<PositionRun>& runs) {
    for (const PositionRun& run : runs) {
      if (run.count <= 0) continue;
      begin = std::min(begin, run.first);
      end = std::max(end, run.first + (run.count - 1) * run.stride + 1);
    }
  }
  Position begin = kNoLimit, end = 0;
};

constexpr Position kShort = Position{1} << 14;

}  // namespace

Index counted_pairs(const Problem& problem, int rank, int source) {
  const Sharding sharding = problem.sharding();
  const std::vector<PositionRun> queries = sharding.runs(rank), keys = sharding.runs(source);
  const std::vector<Position>& cu = problem.mask.cu_seqlens;
  const Position seqlen = problem.shape.seqlen;
  const Position left = std::min(problem.mask.left, seqlen), right = std::min(problem.mask.right, seqlen);
  Index pairs = 0;
  if (cu.empty() || problem.per_sequence) {  // the runs of one sequence, then those of the next
    const std::size_t runs = sharding.runs_of_a_sequence();
    for (std::size_t i = 0; i < queries.size(); i += runs)
      for (std::size_t q = i; q < i + runs; ++q)
        for (std::size_t k = i; k < i + runs; ++k) pairs += pairs_of(queries[q], keys[k], left, right);
    return pairs;
  }
  const Hull of_queries(queries), of_keys(keys);
  const Position begin = std::max(of_queries.begin, of_keys.begin),
                 end = std::min(of_queries.end, of_keys.end);
  for (std::size_t i = sequence_at(cu, begin); i + 1 < cu.size() && cu[i] < end; ++i)
    for (const PositionRun& q : queries)
      for (const PositionRun& k : keys)
        pairs += pairs_of(clipped(q, cu[i], cu[i + 1]), clipped(k, cu[i], cu[i + 1]), left, right);
  return pairs;
}

Index BlockRanges::pairs() const {
  const bool counts = problem_ != nullptr && problem_->shape.seqlen > kShort;
  if (!pairs_) pairs_ = counts ? counted_pairs(*problem_, rank_, source_) : by_row().pairs();
  return *pairs_;
}

const KeyRanges& BlockRanges::by_row() const {
  if (!ranges_) {
    const Sharding sharding = problem_->sharding();
    ranges_ = ranges_of(problem_->mask, problem_->shape.seqlen, sharding.positions(rank_),
                        sharding.positions(source_));
  }
  return *ranges_;
}

}  // namespace ringcraft
