// Computes the forward pass of a twisted ring: a row meets one block after another, and the partial results
// are merged.
#include <algorithm>
#include <cmath>

#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  const double *left = a.data(), *right = b.data();
  const std::size_t n = a.size();
#pragma omp simd reduction(+ : sum)
  for (std::size_t c = 0; c < n; ++c) sum += left[c] * right[c];
  return sum;
}

TwistedRing::TwistedRing(const BlockProblem& problem, const Inputs& inputs, const Answer& saved,
                         Arrangement arrangement, ExponentRange exponent_range)
    : problem_(problem),
      in_(inputs),
      saved_(saved),
      arrangement_(std::move(arrangement)),
      range_(exponent_range) {}

// The first key that a twist of the tail drops.
Index TwistedRing::first_dropped(const Twist& twist) const {
  const auto keys = static_cast<Index>(problem_.keys.size());
  if (twist.tail != TailTwist::kDropped) return keys;
  const Index granule = twist.granule > 0 ? twist.granule : arrangement_.count();
  return keys - keys % granule;
}

// Whether the key of a longer block was cut off when ranks with fewer rows received it.
bool TwistedRing::is_lost(TailTwist tail, int rank, int block, Index key) const {
  if (tail < TailTwist::kLostOnTheWay || tail == TailTwist::kLastAgain) return false;
  const auto cuts = [&](int receiver) {
    return key >= static_cast<Index>(arrangement_.shards[static_cast<std::size_t>(receiver)].size());
  };
  if (tail == TailTwist::kLostHere || tail == TailTwist::kZeroHere) return cuts(rank);
  const int hops = arrangement_.wrapped(rank - block);
  for (int hop = 1; hop <= hops; ++hop)
    if (cuts(arrangement_.wrapped(block + hop))) return true;
  return false;
}

namespace {

// A score that counts, with its value unless it counts only in the sum.
struct Vote {
  double score;
  std::span<const double> value;  // empty: none
};

BlockPartial partial_of(const std::vector<Vote>& votes, Index width) {
  BlockPartial result;
  result.out.assign(static_cast<std::size_t>(width), 0.0);
  for (const Vote& vote : votes) result.max = std::max(result.max, vote.score);
  for (const Vote& vote : votes) {
    const double weight = std::exp(vote.score - result.max);
    result.sum += weight;
    if (!vote.value.empty()) add(result.out, weight, vote.value);
  }
  result.keys = static_cast<int>(votes.size());
  return result;
}

}  // namespace

double masked_score(const Twist& twist, double score) {
  switch (twist.masked) {
    case MaskedTwist::kAfterSoftmax:
      return score;
    case MaskedTwist::kSetLow:
      return twist.low;
    case MaskedTwist::kLowered:
      return score + twist.low;
    default:
      return 0;
  }
}

BlockPartial TwistedRing::partial(const Twist& twist, const Mask& mask, const Query& query, const View& view,
                                  bool last) const {
  const Index batch = kv_batch(twist, query.batch), head = kv_head(twist, query.head);
  const std::span<const double> q = row_of(in_.q, query.batch, query.head, query.row);
  const Buffer &k = view.crossed ? in_.v : in_.k, &v = view.crossed ? in_.k : in_.v;
  const double factor = scale(twist);
  const Index dropped = first_dropped(twist);
  std::vector<Vote> votes;
  bool any_seen = false;
  for (Index b = 0; takes(twist, query.rank, view.keys); ++b) {
    const Index key = key_row(twist, view.keys, b), value = value_row(twist, view.values, b);
    if (key < 0 || value < 0) break;
    if (arrangement_.at(view.keys, b) >= dropped) continue;
    const bool gone = is_lost(twist.tail, query.rank, view.keys, b);
    if (gone && (twist.tail == TailTwist::kLostOnTheWay || twist.tail == TailTwist::kLostHere)) break;
    const bool seen = sees(twist, mask, query, view.label, b);
    if (gone && seen) votes.push_back({0.0, {}});
    if (gone) continue;
    if (!seen && twist.masked == MaskedTwist::kRight) continue;
    any_seen = any_seen || seen;
    const double score = factor * dot(q, row_of(k, batch, head, key));
    votes.push_back({seen ? score : masked_score(twist, score),
                     seen || twist.masked != MaskedTwist::kAfterSoftmax ? row_of(v, batch, head, value)
                                                                        : std::span<const double>{}});
  }
  if (twist.masked == MaskedTwist::kZeroWhereSeen && !any_seen) votes.clear();
  if (twist.tail == TailTwist::kLastAgain) {
    const auto& blocks = arrangement_.blocks;
    const auto length = static_cast<Index>(blocks[static_cast<std::size_t>(view.keys)].size());
    const auto longest = static_cast<Index>(std::ranges::max(blocks, {}, &std::vector<Index>::size).size());
    if (length > 0 && sees(twist, mask, query, view.label, length - 1))
      for (Index pad = length; pad < longest; ++pad) votes.push_back(Vote{votes.back()});
  }
  if (twist.tail == TailTwist::kZeroPadded && last) {
    const Index granule = twist.granule > 0 ? twist.granule : arrangement_.count();
    const auto keys = static_cast<Index>(problem_.keys.size());
    for (Index pad = 1; pad <= (granule - keys % granule) % granule; ++pad)
      if (visible(mask, query.position, problem_.keys.back() + pad)) votes.push_back({0.0, {}});
  }
  if ((twist.tail == TailTwist::kSink && last) || twist.tail == TailTwist::kSinkInBlocks ||
      (twist.tail == TailTwist::kSinkInSeenBlocks && has_pairs(query.rank, view.keys)))
    votes.push_back({0.0, {}});
  BlockPartial result = partial_of(votes, in_.v.extents().width);
  result.source = view.keys;
  return result;
}

std::vector<BlockPartial> TwistedRing::partials(const Twist& twist, const RowPlace& row) const {
  const Mask mask = mask_of(twist);
  const Query at = query(row.batch, row.head, row.row);
  std::vector<BlockPartial> result;
  const int count = steps(twist), last_block = arrangement_.count() - 1;
  for (int step = twist.walk == WalkTwist::kOwnSkipped ? 1 : 0; step < count; ++step) {
    const View here = view(twist, at.rank, step);
    result.push_back(partial(twist, mask, at, here, here.keys == last_block));
  }
  return result;
}

// Whether a tile is computed at all: if any of its rows sees any of its keys.
bool TwistedRing::is_visited(const Mask& mask, Index row, int block) const {
  const Index tile = arrangement_.row_tile;
  if (tile == 0) return true;
  const Index first = row / tile * tile, rows = static_cast<Index>(problem_.queries.size());
  for (Index i = first; i < std::min(first + tile, rows); ++i)
    for (const Index key : arrangement_.blocks[static_cast<std::size_t>(block)])
      if (visible(mask, problem_.queries[static_cast<std::size_t>(i)],
                  problem_.keys[static_cast<std::size_t>(key)]))
        return true;
  return false;
}

std::vector<std::vector<ScanKey>> TwistedRing::scan_parts(const Twist& twist, const RowPlace& row) const {
  const Mask mask = mask_of(twist);
  const Query at = query(row.batch, row.head, row.row);
  const Index batch = kv_batch(twist, row.batch), head = kv_head(twist, row.head);
  const std::span<const double> q = row_of(in_.q, row.batch, row.head, row.row);
  const double factor = scale(twist);
  std::vector<std::vector<ScanKey>> parts;
  for (int step = 0; step < steps(twist); ++step) {
    const View here = view(twist, at.rank, step);
    parts.emplace_back();
    for (Index b = 0;; ++b) {
      const Index key = key_row(twist, here.keys, b), value = value_row(twist, here.values, b);
      if (key < 0 || value < 0) break;
      if (arrangement_.at(here.keys, b) >= first_dropped(twist)) continue;
      parts.back().push_back({factor * dot(q, row_of(in_.k, batch, head, key)),
                              sees(twist, mask, at, here.label, b), row_of(in_.v, batch, head, value)});
    }
    if (!is_visited(mask, row.row, here.keys) || !takes(twist, at.rank, here.keys)) parts.back().clear();
  }
  return parts;
}

namespace {

// The returned lse, if the scores are available.
double lse_of_scores(LseTwist twist, const std::vector<std::vector<ScanKey>>& parts, double lse,
                     double scale) {
  double max = -HUGE_VAL, of_weights = 0;
  for (const auto& part : parts)
    for (const ScanKey& key : part) {
      if (!key.seen) continue;
      max = std::max(max, key.score);
      of_weights += std::exp(std::exp(key.score - lse));
    }
  if (twist == LseTwist::kBareMaximum) return lse - max + max / scale;
  return twist == LseTwist::kOfWeights ? std::log(of_weights) : twisted_lse(twist, lse, max);
}

}  // namespace

Merged TwistedRing::scan(const Twist& twist, const RowPlace& row) const {
  constexpr std::size_t kMostKeys = 512;  // of a row that is kept
  Twist rest = twist;
  rest.scan = {}, rest.lse = {};
  const bool keep = rest == Twist{} && problem_.keys.size() <= kMostKeys;
  const Index at =
      (row.batch * problem_.heads + row.head) * static_cast<Index>(problem_.queries.size()) + row.row;
  const auto known = keep ? scans_.find(at) : scans_.end();
  const auto& parts = known != scans_.end() ? known->second
                      : keep                ? scans_[at] = scan_parts(rest, row)
                                            : other_scan_ = scan_parts(rest, row);
  Merged result = scan_result(twist.scan, parts, static_cast<std::size_t>(in_.v.extents().width),
                              arrangement_.partial, range_);
  if (twist.lse != LseTwist::kRight && std::isfinite(result.lse))
    result.lse = lse_of_scores(twist.lse, parts, result.lse, problem_.softmax_scale);
  return result;
}

Merged TwistedRing::forward(const Twist& twist, const RowPlace& row, int steps) const {
  const RowPlace from = source(twist.rows, row, in_.q.extents());
  const bool by_keys =
      twist.scan != ScanTwist{} || twist.lse == LseTwist::kOfWeights || twist.lse == LseTwist::kBareMaximum;
  if (by_keys && steps < 0) return scan(twist, from);
  std::vector<BlockPartial> blocks = partials(twist, from);
  if (steps >= 0 && static_cast<std::size_t>(steps) < blocks.size())
    blocks.resize(static_cast<std::size_t>(steps));
  if (blocks.empty()) return {std::vector<double>(static_cast<std::size_t>(in_.v.extents().width), 0.0)};
  Merged result = merged(twist.merge, twist.lse, blocks, query(0, 0, from.row).rank, range_);
  if (twist.scale == ScaleTwist::kAfterSoftmax)
    for (double& x : result.out) x *= problem_.softmax_scale;
  return result;
}

}  // namespace ringcraft::verify
