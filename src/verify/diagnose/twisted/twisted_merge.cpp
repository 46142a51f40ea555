// Merges partial results in right and wrong ways. Each variant is a few lines over a running state (O, m, l),
// over normalised partials with their lse, or over plain sums.
#include "verify/diagnose/twisted/twisted_merge.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "verify/oracle/rounding.hpp"

namespace ringcraft::verify {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

using Vector = std::vector<double>;
using Partials = std::vector<BlockPartial>;

// to = a to + b from
void combine(Vector& to, double a, double b, const Vector& from) {
  for (std::size_t c = 0; c < to.size(); ++c) to[c] = a * to[c] + b * from[c];
}

Vector times(Vector v, double x) {
  for (double& value : v) value *= x;
  return v;
}

// The running state (O, m, l).
struct State {
  Vector out;
  double max = kNoKey, sum = 0;

  // Adds a block with the given factors of the old O and l; the new factors are right.
  template <class Factors>
  void add(const BlockPartial& block, Factors factors) {
    const double larger = std::max(max, block.max);
    const auto [for_out, for_sum] = factors(max == kNoKey ? 0.0 : std::exp(max - larger));
    const double from = std::exp(block.max - larger);
    combine(out, for_out, from, block.out);
    sum = for_sum * sum + from * block.sum;
    max = larger;
  }
  Merged finished() const {
    if (max == kNoKey) return {out, kNoKey};
    return {times(out, 1 / sum), max + std::log(sum)};
  }
};

State empty_state(const Partials& partials) { return {Vector(partials.at(0).out.size(), 0.0)}; }

struct Factors {
  double out, sum;
};

Factors rescaling(MergeTwist merge, double f) {
  switch (merge) {
    case MergeTwist::kSumNotRescaled:
      return {f, 1};
    case MergeTwist::kOutNotRescaled:
      return {1, f};
    case MergeTwist::kNoRescale:
      return {1, 1};
    case MergeTwist::kInverseFactor:
      return {f == 0 ? 0 : 1 / f, f == 0 ? 0 : 1 / f};
    default:
      return {f, f};
  }
}

Merged running(MergeTwist merge, const Partials& partials) {
  State state = empty_state(partials);
  for (const BlockPartial& block : partials) {
    if (block.max == kNoKey) continue;
    state.add(block, [&](double f) { return rescaling(merge, f); });
    if (merge == MergeTwist::kDividedEachStep) state.out = times(state.out, 1 / state.sum);
  }
  Merged result = state.finished();
  if (merge == MergeTwist::kDividedEachStep || merge == MergeTwist::kNotDivided) result.out = state.out;
  return result;
}

Merged begun_anew(MergeTwist merge, const Partials& partials) {
  State state = empty_state(partials);
  for (const BlockPartial& block : partials)
    if (merge == MergeTwist::kLastStep || block.max != kNoKey) {
      state = empty_state(partials);
      if (block.max != kNoKey) state.add(block, [](double f) { return Factors{f, f}; });
    }
  return state.finished();
}

// Weighted sums of o = O / l over the blocks with a visible key.
Merged weighted(MergeTwist merge, const Partials& partials, const ExponentRange& range) {
  Merged result{Vector(partials.at(0).out.size(), 0.0), running(MergeTwist::kRight, partials).lse};
  double total = 0, keys = 0;
  int seen = 0;
  for (const BlockPartial& block : partials) {
    if (block.max == kNoKey) continue;
    const Vector o = times(block.out, 1 / block.sum);
    double weight = 1;
    if (merge == MergeTwist::kByCount) weight = block.keys;
    if (merge == MergeTwist::kUnshifted) weight = range.exp(block.lse());
    if (merge == MergeTwist::kRunningAverage)
      combine(result.out, seen == 0 ? 0 : 0.5, seen == 0 ? 1 : 0.5, o);
    else if (merge == MergeTwist::kRawBlocks)
      combine(result.out, 1, std::exp(block.lse() - result.lse), block.out);
    else
      combine(result.out, 1, weight, o);
    total += weight;
    keys += block.keys;
    ++seen;
  }
  if (merge == MergeTwist::kRunningAverage || merge == MergeTwist::kRawBlocks) return result;
  if (merge == MergeTwist::kAverageOfAll) total = static_cast<double>(partials.size());
  if (seen > 0) result.out = times(result.out, 1 / total);
  if (merge == MergeTwist::kUnshifted && seen > 0) result.lse = std::log(total);
  return result;
}

// Merges two normalised results at a time.
Merged pairwise(MergeTwist merge, const Partials& partials, const ExponentRange& range) {
  Merged result{Vector(partials.at(0).out.size(), 0.0), kNoKey};
  for (const BlockPartial& block : partials) {
    if (block.max == kNoKey) continue;
    const Vector o = times(block.out, 1 / block.sum);
    if (result.lse == kNoKey) {
      result = {o, block.lse()};
      continue;
    }
    const double a = result.lse, b = block.lse(), larger = std::max(a, b);
    const double right = larger + std::log(std::exp(a - larger) + std::exp(b - larger));
    const double lse = merge == MergeTwist::kLogOnePlusExp ? a + std::log(1 + range.exp(b - a)) : right;
    double old_weight = std::exp(a - lse), new_weight = std::exp(b - lse);
    if (merge == MergeTwist::kSwapped) std::swap(old_weight, new_weight);
    combine(result.out, old_weight, new_weight, o);
    result.lse = lse;
  }
  return result;
}

// Sums of o = O / l with weights by an lse to a wrong base: each block's, or that of the sums.
Merged to_wrong_base(MergeTwist merge, const Partials& partials) {
  const bool blocks = merge == MergeTwist::kBase2Blocks;
  const auto level = [=](const BlockPartial& block) {  // a natural logarithm
    return blocks ? block.lse() / std::numbers::ln2 : block.lse() * std::numbers::ln2;
  };
  Merged result{Vector(partials.at(0).out.size(), 0.0), kNoKey};
  double largest = kNoKey, total = 0;
  for (const BlockPartial& block : partials)
    if (block.max != kNoKey) largest = std::max(largest, level(block));
  if (largest == kNoKey) return result;
  for (const BlockPartial& block : partials) {
    if (block.max == kNoKey) continue;
    const double weight = std::exp(level(block) - largest);
    combine(result.out, 1, weight / block.sum, block.out);
    total += weight;
  }
  result.out = times(result.out, 1 / total);
  result.lse = (largest + std::log(total)) / (blocks ? 1 : std::numbers::ln2);
  return result;
}

// Merges two normalised results at a time, stored in a 16-bit type between the steps.
Merged rounded_between(MergeTwist merge, const Partials& partials) {
  using M = MergeTwist;
  const bool is_float16 = merge == M::kLseInFloat16 || merge == M::kNewInFloat16 ||
                          merge == M::kOutInFloat16 || merge == M::kBothInFloat16;
  const auto narrow = [type = is_float16 ? DType::kFloat16 : DType::kBFloat16](double x) {
    return rounded(x, type);
  };
  const bool out = merge >= M::kOutInBFloat16,
             first = merge == M::kNewInBFloat16 || merge == M::kNewInFloat16;
  const bool lse = merge != M::kOutInBFloat16 && merge != M::kOutInFloat16;
  Merged result{Vector(partials.at(0).out.size(), 0.0), kNoKey};
  for (const BlockPartial& block : partials) {
    if (block.max == kNoKey) continue;
    const double a = result.lse, b = block.lse(), larger = std::max(a, b);
    double joined = larger + std::log(std::exp(a - larger) + std::exp(b - larger));
    const bool begins = a == kNoKey;
    if (first && !begins) joined = narrow(joined);
    combine(result.out, begins ? 0 : std::exp(a - joined), begins ? 1 : std::exp(b - joined),
            times(block.out, 1 / block.sum));
    if (out)
      for (double& x : result.out) x = narrow(x);
    result.lse = lse ? narrow(joined) : joined;
  }
  return result;
}

// Rounds the right result.
Merged rounded_once(MergeTwist merge, const Partials& partials) {
  using M = MergeTwist;
  const bool is_float16 = merge == M::kOutOnceInFloat16 || merge == M::kBothOnceInFloat16;
  const DType type = is_float16 ? DType::kFloat16 : DType::kBFloat16;
  Merged result = running(M::kRight, partials);
  for (double& x : result.out) x = rounded(x, type);
  if (merge == M::kBothOnceInBFloat16 || merge == M::kBothOnceInFloat16)
    result.lse = rounded(result.lse, type);
  return result;
}

// Lets blocks without a visible key count like a key of zeros.
Merged with_voting_blocks(Partials partials) {
  for (BlockPartial& block : partials)
    if (block.max == kNoKey) block.max = 0, block.sum = 1;
  return running(MergeTwist::kRight, partials);
}

// Sums whose maxima are lost, fixed or those of one block: O = sum of f O_b, over a divisor.
Merged summed(MergeTwist merge, const Partials& partials, const ExponentRange& range) {
  Vector out(partials.at(0).out.size(), 0.0);
  double largest = kNoKey, total = 0, keys = 0, one_sum = 0;
  for (const BlockPartial& block : partials) largest = std::max(largest, block.max);
  if (largest == kNoKey) return {out, kNoKey};
  double reference = largest;
  if (merge == MergeTwist::kNoMaximum || merge == MergeTwist::kNoMaximumZeroed) reference = 0;
  if (merge == MergeTwist::kMaximumFromZero) reference = std::max(largest, 0.0);
  for (const BlockPartial& block : partials) {
    if (block.max == kNoKey) continue;
    const double factor = merge == MergeTwist::kMaximumLost ? 1 : range.exp(block.max - reference);
    combine(out, 1, factor, block.out);
    total += factor * block.sum;
    keys += block.keys;
    if (merge != MergeTwist::kFirstSum || one_sum == 0) one_sum = block.sum;
  }
  if (merge == MergeTwist::kDividedByCount) return {times(out, 1 / keys), reference + std::log(total)};
  if (merge == MergeTwist::kFirstSum || merge == MergeTwist::kLastSum) total = one_sum;
  Merged result{times(out, 1 / total), reference + std::log(total)};
  if (merge == MergeTwist::kNoMaximumZeroed)
    for (double& x : result.out) x = std::isfinite(x) ? x : 0;
  return result;
}

// Running O and l over blocks that were divided by their own l.
Merged divided_blocks(Partials partials) {
  const double lse = running(MergeTwist::kRight, partials).lse;
  State state = empty_state(partials);
  for (BlockPartial& block : partials) {
    if (block.max == kNoKey) continue;
    block.out = times(block.out, 1 / block.sum);
    state.add(block, [](double f) { return Factors{f, f}; });
  }
  return {state.finished().out, lse};
}

Merged with_nan(MergeTwist merge, const Partials& partials) {
  Merged result = running(MergeTwist::kRight, partials);
  bool poisoned = false;
  for (const BlockPartial& block : partials) {
    poisoned = poisoned || block.max == kNoKey;
    if (merge == MergeTwist::kNanForFirst) break;
  }
  if (poisoned) {
    std::fill(result.out.begin(), result.out.end(), kNan);
    result.lse = kNan;
  }
  return result;
}

Merged result_of(MergeTwist merge, const Partials& partials, const ExponentRange& range) {
  switch (merge) {
    case MergeTwist::kAverage:
    case MergeTwist::kAverageOfAll:
    case MergeTwist::kRunningAverage:
    case MergeTwist::kByCount:
    case MergeTwist::kUnshifted:
    case MergeTwist::kRawBlocks:
      return weighted(merge, partials, range);
    case MergeTwist::kSwapped:
    case MergeTwist::kLogOnePlusExp:
      return pairwise(merge, partials, range);
    case MergeTwist::kBase2Blocks:
    case MergeTwist::kBase2Joined:
      return to_wrong_base(merge, partials);
    case MergeTwist::kMaximumLost:
    case MergeTwist::kNoMaximum:
    case MergeTwist::kNoMaximumZeroed:
    case MergeTwist::kMaximumFromZero:
    case MergeTwist::kDividedByCount:
    case MergeTwist::kFirstSum:
    case MergeTwist::kLastSum:
      return summed(merge, partials, range);
    case MergeTwist::kDividedBlocks:
      return divided_blocks(partials);
    case MergeTwist::kLastSeen:
    case MergeTwist::kLastStep:
      return begun_anew(merge, partials);
    case MergeTwist::kEmptyLseZero:
      return with_voting_blocks(partials);
    case MergeTwist::kLseInBFloat16:
    case MergeTwist::kLseInFloat16:
    case MergeTwist::kNewInBFloat16:
    case MergeTwist::kNewInFloat16:
    case MergeTwist::kOutInBFloat16:
    case MergeTwist::kOutInFloat16:
    case MergeTwist::kBothInBFloat16:
    case MergeTwist::kBothInFloat16:
      return rounded_between(merge, partials);
    case MergeTwist::kOutOnceInBFloat16:
    case MergeTwist::kOutOnceInFloat16:
    case MergeTwist::kBothOnceInBFloat16:
    case MergeTwist::kBothOnceInFloat16:
      return rounded_once(merge, partials);
    case MergeTwist::kNanForEmpty:
    case MergeTwist::kNanForFirst:
      return with_nan(merge, partials);
    default:
      return running(merge, partials);
  }
}

double lse_of(LseTwist twist, const Partials& partials, double lse, int own) {
  double largest = kNoKey, sum_of_lse = 0;
  const BlockPartial* last = nullptr;
  for (const BlockPartial& block : partials) {
    if (block.max == kNoKey) continue;
    largest = std::max(largest, block.max);
    sum_of_lse += block.lse();
    last = &block;
  }
  if (last == nullptr) return lse;
  switch (twist) {
    case LseTwist::kOwnBlock:
      for (const BlockPartial& block : partials)
        if (block.source == own) return block.lse();
      return lse;
    case LseTwist::kLastBlock:
      return last->lse();
    case LseTwist::kLastMaximum:
      return last->max + lse - largest;
    case LseTwist::kAdded:
      return sum_of_lse;
    case LseTwist::kPlusLogBlocks:
      return lse + std::log(static_cast<double>(partials.size()));
    default:
      return twisted_lse(twist, lse, largest);
  }
}

}  // namespace

double ExponentRange::exp(double x) const {
  if (x > high) return std::numeric_limits<double>::infinity();
  return x < low ? 0.0 : std::exp(x);
}

double twisted_lse(LseTwist twist, double lse, double max) {
  switch (twist) {
    case LseTwist::kBase2:
      return lse / std::numbers::ln2;
    case LseTwist::kMaximum:
      return max;
    case LseTwist::kSum:
      return std::exp(lse - max);
    case LseTwist::kLogSum:
      return lse - max;
    case LseTwist::kLog2OfSum:
      return max + (lse - max) / std::numbers::ln2;
    case LseTwist::kExp:
      return std::exp(lse);
    case LseTwist::kZero:
      return 0;
    case LseTwist::kNegative:
      return -lse;
    default:
      return lse;
  }
}

double BlockPartial::lse() const { return max == kNoKey ? kNoKey : max + std::log(sum); }

Merged merged(MergeTwist merge, LseTwist lse, const std::vector<BlockPartial>& partials, int own,
              const ExponentRange& range) {
  Merged result = result_of(merge, partials, range);
  if (lse != LseTwist::kRight) result.lse = lse_of(lse, partials, result.lse, own);
  return result;
}

}  // namespace ringcraft::verify
