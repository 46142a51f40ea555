// Computes the backward pass of a twisted ring: P is recomputed from lse, dS = P (dP - delta), and dk, dv are
// sums over the ranks whose parts the journey returns.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "verify/diagnose/twisted/twisted_ring_detail.hpp"
#include "verify/oracle/rounding.hpp"

namespace ringcraft::verify {
namespace {

// Whether keys that a mask hides keep weights, which autograd follows.
bool keeps_masked(const Twist& twist) {
  return twist.masked == MaskedTwist::kScoreZero || twist.masked == MaskedTwist::kSetLow ||
         twist.masked == MaskedTwist::kLowered;
}

}  // namespace

bool TwistedRing::slow(const Twist& twist) {
  return twist.weights == WeightTwist::kMaximum || twist.weights == WeightTwist::kBlockLse ||
         twist.delta == DeltaTwist::kBlockOut || twist.delta == DeltaTwist::kBlockShare ||
         twist.delta == DeltaTwist::kRawOut || twist.delta == DeltaTwist::kBeforeLast ||
         twist.delta == DeltaTwist::kFirstStep || twist.weights >= WeightTwist::kBeforeLast;
}

// Uses the right mask and scale: these mistakes concern the choice of sums, not of pairs.
const TwistedRing::BlockSums& TwistedRing::sums(const Query& query, int block) const {
  const Index row =
      (query.batch * problem_.heads + query.head) * static_cast<Index>(problem_.queries.size()) + query.row;
  const auto found = sums_.find({row, block});
  if (found != sums_.end()) return found->second;
  const BlockPartial part = partial({}, problem_.mask, query, {block, block, block, false}, false);
  BlockSums result{part.max, part.lse(), 0};
  if (part.max != kNoKey)
    result.delta = dot(row_of(in_.dout, query.batch, query.head, query.row), part.out) / part.sum;
  return sums_.emplace(std::pair{row, block}, result).first->second;
}

double TwistedRing::maximum(const Query& query) const {
  double largest = kNoKey;
  for (int block = 0; block < arrangement_.count(); ++block)
    largest = std::max(largest, sums(query, block).max);
  return largest;
}

// The number subtracted from a score before exp.
double TwistedRing::weight_shift(const Twist& twist, const Query& query, int block) const {
  const double lse = row_of(saved_.lse, query.batch, query.head, query.row)[0];
  const auto known = [](double early) { return early == kNoKey ? 0 : early; };  // lest exp be infinite
  switch (twist.weights) {
    case WeightTwist::kMaximum:
      return maximum(query);
    case WeightTwist::kBlockLse:
      return sums(query, block).lse;
    case WeightTwist::kBase2Lse:
      return lse / std::numbers::ln2;
    case WeightTwist::kLseInBFloat16:
      return rounded(lse, DType::kBFloat16);
    case WeightTwist::kLseInFloat16:
      return rounded(lse, DType::kFloat16);
    case WeightTwist::kBeforeLast:
      return known(early(query, arrangement_.count() - 1).lse);
    case WeightTwist::kBeforeLastSeen:
      return known(early(query, steps_before_last(query)).lse);
    case WeightTwist::kFirstStep:
      return known(early(query, 1).lse);
    case WeightTwist::kLastBlockLse:
      return sums(query, block_at(query, steps_before_last(query))).lse;
    default:
      return lse;
  }
}

Index TwistedRing::dout_row(const Twist& twist, const Query& query) const {
  // Returns the row itself: in tiles, a block of keys does not determine where a row is.
  if (twist.dout == DealTwist::kRight) return query.row;
  return dealt(twist.dout, query.rank, query.local);
}

// D and lse of the running state after so many steps.
const TwistedRing::Early& TwistedRing::early(const Query& query, int steps) const {
  const Index row =
      (query.batch * problem_.heads + query.head) * static_cast<Index>(problem_.queries.size()) + query.row;
  const auto known = early_.find({row, steps});
  if (known != early_.end()) return known->second;
  const Merged state = forward({}, {query.batch, query.head, query.row}, steps);
  const double delta = dot(row_of(in_.dout, query.batch, query.head, query.row), state.out);
  return early_.emplace(std::pair{row, steps}, Early{delta, state.lse}).first->second;
}

// The block that the rank of a query has in hand at a step.
int TwistedRing::block_at(const Query& query, int step) const {
  return arrangement_.ring ? arrangement_.wrapped(query.rank - step) : step;
}

// Number of steps before the one at which a row meets its last visible key.
int TwistedRing::steps_before_last(const Query& query) const {
  const int n = arrangement_.count();
  for (int step = n - 1; step > 0; --step)
    if (sums(query, block_at(query, step)).max != kNoKey) return step;
  return 0;
}

double TwistedRing::delta(const Twist& twist, const Query& query, int block) const {
  const auto rows = [&](Index row) {
    return dot(row_of(in_.dout, query.batch, query.head, row),
               row_of(saved_.out, query.batch, query.head, query.row));
  };
  const double right = rows(dout_row(twist, query));
  const double lse = row_of(saved_.lse, query.batch, query.head, query.row)[0];
  switch (twist.delta) {
    case DeltaTwist::kBeforeLast:
      return early(query, arrangement_.count() - 1).delta;
    case DeltaTwist::kFirstStep:
      return early(query, 1).delta;
    case DeltaTwist::kNone:
      return 0;
    case DeltaTwist::kRawOut:
      return right * std::exp(lse - maximum(query));
    case DeltaTwist::kBlockOut:
      return sums(query, block).delta;
    case DeltaTwist::kBlockShare: {
      const BlockSums& block_sums = sums(query, block);
      return block_sums.max == kNoKey ? 0 : block_sums.delta * std::exp(block_sums.lse - lse);
    }
    case DeltaTwist::kAdded:
      return -right;
    case DeltaTwist::kPlainRows:
      return rows(dealt(DealTwist::kPlain, query.rank, query.local));
    case DeltaTwist::kRight:
      break;
  }
  return right;
}

// P and dS of one pair; of a hidden one, if it keeps a weight. `block` is the one that the mask assigned to
// the key.
TwistedRing::PairTerms TwistedRing::terms(const Twist& twist, const Query& query, int block, Index key,
                                          double dout_v, bool seen) const {
  const double factor = twist.weights == WeightTwist::kUnscaled ? 1 : scale(twist);
  const double score =
      factor * dot(row_of(in_.q, query.batch, query.head, query.row),
                   row_of(in_.k, kv_batch(twist, query.batch), kv_head(twist, query.head), key));
  const double shift = weight_shift(twist, query, block);
  PairTerms result;
  result.p = shift == kNoKey ? 0 : range_.exp((seen ? score : masked_score(twist, score)) - shift);
  const bool constant = !seen && twist.masked != MaskedTwist::kLowered && twist.through == Done::kNo;
  result.ds = constant ? 0 : result.p * (dout_v - delta(twist, query, block));
  if (twist.negated == Done::kYes) result.ds = -result.ds;
  return result;
}

std::vector<double> TwistedRing::dq(const Twist& twist, const RowPlace& row) const {
  const RowPlace from = source(twist.rows, row, in_.q.extents());
  const Query at = query(from.batch, from.head, from.row);
  const Mask mask = mask_of(twist);
  const Index batch = kv_batch(twist, at.batch), head = kv_head(twist, at.head);
  const std::span<const double> dout = row_of(in_.dout, at.batch, at.head, dout_row(twist, at));
  std::vector<double> sum(static_cast<std::size_t>(in_.q.extents().width), 0.0);
  const int count = steps(twist) - (twist.dq == DqTwist::kOneShort ? 1 : 0);
  for (int step = twist.walk == WalkTwist::kOwnSkipped ? 1 : 0; step < count; ++step) {
    const View here = view(twist, at.rank, step);
    const int data = twist.stale == Done::kYes ? at.rank : here.keys;
    std::vector<double> part(sum.size(), 0.0);
    bool any = false;
    for (Index b = 0; takes(twist, at.rank, here.keys) && arrangement_.at(here.label, b) >= 0; ++b) {
      const Index key = key_row(twist, data, b),
                  value = value_row(twist, twist.stale == Done::kYes ? data : here.values, b);
      if (key < 0 || value < 0) break;
      const bool seen = sees(twist, mask, at, here.label, b);
      if (!seen && !keeps_masked(twist)) continue;
      any = any || seen;
      const PairTerms pair =
          terms(twist, at, here.label, key, dot(dout, row_of(in_.v, batch, head, value)), seen);
      add(part, pair.ds, row_of(in_.k, batch, head, key));
    }
    if (twist.dq == DqTwist::kLastStep || (twist.dq == DqTwist::kLastSeen && any))
      sum = part;
    else if (twist.dq != DqTwist::kLastSeen && (twist.dq != DqTwist::kOwnBlock || step == 0))
      add(sum, 1, part);
  }
  const double factor =
      std::pow(scale(twist), twist.dq_scales) * std::pow(arrangement_.count(), twist.dq_ranks);
  for (double& x : sum) x *= factor;
  return sum;
}

// The parts that end on `owner`: pairs of (block, rank that computed the part).
std::vector<std::pair<int, int>> TwistedRing::journey(const Twist& twist, int owner) const {
  if (!arrangement_.ring) return {{owner, 0}};
  const int n = arrangement_.count();
  const auto on = [&](int rank) { return arrangement_.wrapped(rank); };
  std::vector<std::pair<int, int>> parts;
  for (int t = 0; t < n; ++t) switch (twist.journey) {
      case JourneyTwist::kRight:
        parts.emplace_back(owner, on(owner + t));
        break;
      case JourneyTwist::kOneStepShort:
        if (t + 1 < n) parts.emplace_back(owner, on(owner + t));
        break;
      case JourneyTwist::kStay:
        parts.emplace_back(on(owner - t), owner);
        break;
      case JourneyTwist::kOneHopShort:
        parts.emplace_back(on(owner + 1), on(owner + 1 + t));
        break;
      case JourneyTwist::kOneHopLong:
        parts.emplace_back(on(owner - 1), on(owner - 1 + t));
        break;
      case JourneyTwist::kOpposite:
        parts.emplace_back(on(owner - 2 * t), on(owner - t));
        break;
      case JourneyTwist::kOppositeShort:
        parts.emplace_back(on(owner - 1 - 2 * t), on(owner - 1 - t));
        break;
      case JourneyTwist::kReset:
        if (t + 1 == n) parts.emplace_back(owner, on(owner + t));
        break;
      case JourneyTwist::kOwnOnly:
        if (t == 0) parts.emplace_back(owner, owner);
        break;
      case JourneyTwist::kLastRank:
        if (t == 0) parts.emplace_back(owner, n - 1);
        break;
    }
  return parts;
}

// Adds the contribution of the queries of `rank` to row b of `block`, over all heads that read this key head.
void TwistedRing::add_part(const Twist& twist, const Mask& mask, const RowPlace& row, int block, int rank,
                           KvRows& to) const {
  const BlockProblem& s = problem_;
  const Index b = arrangement_.local[static_cast<std::size_t>(row.row)];
  const int data = twist.stale == Done::kYes ? rank : block;
  // At step t rank r holds block r - t; the label's twist is evaluated at that step.
  const View here = view(twist, rank, arrangement_.ring ? arrangement_.wrapped(rank - block) : block);
  const Index key = key_row(twist, data, b), label = arrangement_.at(here.label, b);
  if (key < 0 || label < 0 || !takes(twist, rank, block)) return;
  for (Index head = 0; head < s.heads; ++head) {
    if (kv_head(twist, head) != row.head) continue;
    const bool first = head == 0 || kv_head(twist, head - 1) != row.head;
    const bool last = head + 1 == s.heads || kv_head(twist, head + 1) != row.head;
    if (twist.group == GroupTwist::kLastHead && !last) continue;
    if (twist.group == GroupTwist::kFirstHead && !first) continue;
    const double share = twist.group == GroupTwist::kAverage ? 1.0 / static_cast<double>(s.group()) : 1.0;
    const std::span<const double> value = row_of(in_.v, row.batch, row.head, value_row(twist, data, b));
    for (const Index a : arrangement_.shards[static_cast<std::size_t>(rank)]) {
      const Query at = query(row.batch, head, a);
      const bool seen = sees(twist, mask, at, here.label, b);
      if (!seen && !keeps_masked(twist)) continue;
      const std::span<const double> dout = row_of(in_.dout, at.batch, at.head, dout_row(twist, at));
      const PairTerms pair = terms(twist, at, here.label, key, dot(dout, value), seen);
      add(to.dk, share * pair.ds, row_of(in_.q, at.batch, at.head, at.row));
      add(to.dv, share * pair.p, dout);
    }
  }
}

// Adds row `row` of P dout and of dS q, where the transposes belong.
void TwistedRing::add_turned(const Twist& twist, const Mask& mask, const RowPlace& row, KvRows& to) const {
  const BlockProblem& s = problem_;
  for (Index head = 0; head < s.heads; ++head) {
    if (kv_head(twist, head) != row.head) continue;
    const Query at = query(row.batch, head, row.row);
    const std::span<const double> dout = row_of(in_.dout, at.batch, at.head, at.row);
    for (Index key = 0; key < static_cast<Index>(s.keys.size()); ++key) {
      if (!visible(mask, at.position, s.keys[static_cast<std::size_t>(key)])) continue;
      const int block = arrangement_.owner[static_cast<std::size_t>(key)];
      const PairTerms pair = terms(twist, at, block, key, dot(dout, row_of(in_.v, row.batch, row.head, key)));
      add(to.dk, pair.ds, row_of(in_.q, at.batch, at.head, key));
      add(to.dv, pair.p, row_of(in_.dout, at.batch, at.head, key));
    }
  }
}

KvRows TwistedRing::dkv(const Twist& twist, const RowPlace& row) const {
  const RowPlace from = source(twist.kv_rows, source(twist.rows, row, in_.k.extents()), in_.k.extents());
  const std::vector<double> zero(static_cast<std::size_t>(in_.q.extents().width), 0.0);
  KvRows sum{zero, zero};
  const Mask mask = mask_of(twist);
  const int owner = arrangement_.owner[static_cast<std::size_t>(from.row)];
  for (const auto& [block, rank] : journey(twist, owner)) add_part(twist, mask, from, block, rank, sum);
  if (twist.dv_turned == Done::kYes || twist.dk_turned == Done::kYes) {
    KvRows turned{zero, zero};
    add_turned(twist, mask, from, turned);
    if (twist.dv_turned == Done::kYes) sum.dv = turned.dv;
    if (twist.dk_turned == Done::kYes) sum.dk = turned.dk;
  }
  const double ranks = std::pow(arrangement_.count(), twist.dkv_ranks);
  const double factor = std::pow(scale(twist), twist.dk_scales) * ranks;
  for (double& x : sum.dk) x *= factor;
  for (double& x : sum.dv) x *= ranks;
  if (twist.swapped == Done::kYes) std::swap(sum.dk, sum.dv);
  return sum;
}

}  // namespace ringcraft::verify
