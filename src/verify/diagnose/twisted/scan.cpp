// Executes an online softmax over the parts of a row with given mistakes in every place of the scan.
#include "verify/diagnose/twisted/scan.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace ringcraft::verify {
namespace {

constexpr double kLowest = -std::numeric_limits<double>::infinity();

using Part = std::vector<ScanKey>;

// The maxima around one part.
struct Maxima {
  double old, part, now;
  double before;  // the score before the part; -inf if there is none
};

double maximum(const Part& part, bool hidden_too, bool magnitude) {
  double max = kLowest;
  for (const ScanKey& key : part)
    if (key.seen || hidden_too) max = std::max(max, magnitude ? std::fabs(key.score) : key.score);
  return max;
}

double new_maximum(ScanTwist::Max twist, const Part& part, double old, double own, double before) {
  std::vector<double> seen;
  for (const ScanKey& key : part)
    if (key.seen) seen.push_back(key.score);
  if (seen.empty() && twist != ScanTwist::Max::kOfHidden) return old;
  switch (twist) {
    case ScanTwist::Max::kNever:
      return old;
    case ScanTwist::Max::kOfPart:
      return own;
    case ScanTwist::Max::kOfFirst:
      return old == kLowest ? own : old;
    case ScanTwist::Max::kOfHidden:
      return std::max(old, maximum(part, true, false));
    case ScanTwist::Max::kMagnitude:
      return std::max(old, maximum(part, false, true));
    case ScanTwist::Max::kSmaller:
      return std::min(old == kLowest ? HUGE_VAL : old, *std::ranges::min_element(seen));
    case ScanTwist::Max::kFirstKey:
      return std::max(old, seen.front());
    case ScanTwist::Max::kLastKey:
      return std::max(old, seen.back());
    case ScanTwist::Max::kFirstLost:
      return std::max(old, seen.size() == 1 ? old : *std::max_element(seen.begin() + 1, seen.end()));
    case ScanTwist::Max::kLastLost:
      return std::max(old, seen.size() == 1 ? old : *std::max_element(seen.begin(), seen.end() - 1));
    case ScanTwist::Max::kEnds:
      return std::max({old, part.front().score, part.back().score});
    case ScanTwist::Max::kRising:
      return own > (before == kLowest ? old : before) ? own : old;
    case ScanTwist::Max::kRisingBare:
      return own > before ? own : old;
    case ScanTwist::Max::kFromZero:
    case ScanTwist::Max::kFromLowest:
    case ScanTwist::Max::kLarger:
      break;
  }
  return std::max(old, own);
}

double factor_of(ScanTwist::Factor twist, const Maxima& m, const ExponentRange& range) {
  if (m.old == kLowest && twist == ScanTwist::Factor::kInverseBare) return HUGE_VAL;  // times 0: NaN
  if (twist == ScanTwist::Factor::kQuotient && !(m.now > m.old)) return 1;
  if (twist == ScanTwist::Factor::kQuotient || twist == ScanTwist::Factor::kQuotientAlways)
    return range.exp(m.old) / range.exp(m.now);
  if (m.old == kLowest) return twist == ScanTwist::Factor::kOne ? 1 : 0;
  switch (twist) {
    case ScanTwist::Factor::kOne:
      return 1;
    case ScanTwist::Factor::kInverse:
    case ScanTwist::Factor::kInverseBare:
      return range.exp(m.now - m.old);
    case ScanTwist::Factor::kZero:
      return 0;
    case ScanTwist::Factor::kOfPart:
      return range.exp(m.part - m.now);
    case ScanTwist::Factor::kOldToPart:
      return range.exp(m.old - m.part);
    case ScanTwist::Factor::kBase2:
      return std::exp2(m.old - m.now);
    case ScanTwist::Factor::kSquared:
      return range.exp(2 * (m.old - m.now));
    case ScanTwist::Factor::kLost:
      return m.now > m.old ? 0 : 1;
    case ScanTwist::Factor::kRising:
      return m.part > m.before && m.before != kLowest ? range.exp(m.before - m.now)
                                                      : range.exp(m.old - m.now);
    case ScanTwist::Factor::kQuotient:
    case ScanTwist::Factor::kQuotientAlways:
    case ScanTwist::Factor::kRight:
      break;
  }
  return range.exp(m.old - m.now);
}

double weight_of(ScanTwist::Weight twist, double score, const Maxima& m, const ExponentRange& range) {
  const double shift = m.now == kLowest ? 0 : m.now;  // code subtracts nothing while m is -inf
  const double right = range.exp(score - shift);
  switch (twist) {
    case ScanTwist::Weight::kOfPart:
      return range.exp(score - m.part);
    case ScanTwist::Weight::kOfOld:
      return range.exp(score - (m.old == kLowest ? m.now : m.old));
    case ScanTwist::Weight::kBare:
      return range.exp(score);
    case ScanTwist::Weight::kRescaled:
      return right * factor_of(ScanTwist::Factor::kRight, m, range);
    case ScanTwist::Weight::kRescaledOn:
      return m.old == kLowest ? right : right * factor_of(ScanTwist::Factor::kRight, m, range);
    case ScanTwist::Weight::kBase2:
      return std::exp2(score - m.now);
    case ScanTwist::Weight::kScore:
      return score;
    case ScanTwist::Weight::kOne:
      return 1;
    case ScanTwist::Weight::kTwice:
      return 2 * right;
    case ScanTwist::Weight::kPlus:
      return range.exp(score + shift);
    case ScanTwist::Weight::kMinus:
      return range.exp(shift - score);
    case ScanTwist::Weight::kQuotient:
      return range.exp(score) / range.exp(shift);
    case ScanTwist::Weight::kBareStill:
      return score >= m.now ? right : range.exp(score);
    case ScanTwist::Weight::kRight:
      break;
  }
  return right;
}

bool adds(ScanTwist::When when, const Maxima& m, std::size_t part, std::size_t parts) {
  switch (when) {
    case ScanTwist::When::kAlways:
      break;
    case ScanTwist::When::kNever:
      return false;
    case ScanTwist::When::kGrown:
      return m.now > m.old;
    case ScanTwist::When::kNotGrown:
      return !(m.now > m.old);
    case ScanTwist::When::kNotFirst:
      return part > 0;
    case ScanTwist::When::kNotLast:
      return part + 1 < parts;
    case ScanTwist::When::kFirst:
      return part == 0;
  }
  return true;
}

// Multiplicity of a visible key in l and in O.
std::pair<int, int> count_of(ScanTwist::Keys keys, std::size_t at, bool last, bool tie, bool grows) {
  using Keys = ScanTwist::Keys;
  const bool first = at == 0;
  if (keys == Keys::kNewTwice && grows) return {2, 2};
  if (keys == Keys::kNewTwiceSum && grows) return {2, 1};
  if (keys == Keys::kOfOneLane) return {at % 32 == 0 ? 1 : 0, 1};
  if (keys == Keys::kLastTwice && last) return {2, 2};
  const bool lost =
      ((keys == Keys::kFirstLost || keys == Keys::kFirstLostSum || keys == Keys::kFirstLostOut) && first) ||
      ((keys == Keys::kLastLost || keys == Keys::kLastLostSum || keys == Keys::kLastLostOut) && last) ||
      ((keys == Keys::kTiesLost || keys == Keys::kTiesLostSum) && tie);
  if (!lost) return {1, 1};
  if (keys == Keys::kFirstLostSum || keys == Keys::kLastLostSum || keys == Keys::kTiesLostSum) return {0, 1};
  if (keys == Keys::kFirstLostOut || keys == Keys::kLastLostOut) return {1, 0};
  return {0, 0};
}

// Contribution of a hidden key to l and to O.
std::pair<double, double> of_hidden(ScanTwist::Hidden hidden, double score, const Maxima& m,
                                    const ExponentRange& range) {
  switch (hidden) {
    case ScanTwist::Hidden::kNothing:
      break;
    case ScanTwist::Hidden::kInSum:
      return {range.exp(score - m.now), 0};
    case ScanTwist::Hidden::kInOut:
      return {0, range.exp(score - m.now)};
    case ScanTwist::Hidden::kScore:
    case ScanTwist::Hidden::kScoreAlone:
      return {0, score};
    case ScanTwist::Hidden::kZeroOut:
      return {0, range.exp(-m.now)};
    case ScanTwist::Hidden::kZeroSum:
      return {range.exp(-m.now), 0};
    case ScanTwist::Hidden::kOneOut:
      return {0, 1};
    case ScanTwist::Hidden::kOneSum:
      return {1, 0};
    case ScanTwist::Hidden::kEnds:
      break;
  }
  return {0, 0};
}

void add_to(std::vector<double>& out, double weight, std::span<const double> value) {
  if (weight == 0) return;  // right values never produce 0 times infinity
  for (std::size_t c = 0; c < value.size(); ++c) out[c] += weight * value[c];
}

// Scans one part. Returns the sum of its weights.
double scan_part(const ScanTwist& twist, const Part& part, std::size_t at, std::size_t parts,
                 ScanState& state, const ExponentRange& range) {
  const double own = maximum(part, false, false);
  const double before = std::exchange(state.previous, part.empty() ? state.previous : part.back().score);
  const bool any = std::ranges::any_of(part, &ScanKey::seen);
  if (!any && twist.empty == ScanTwist::Empty::kNan && state.max == kLowest && !part.empty()) {
    state.sum = std::numeric_limits<double>::quiet_NaN();
    std::ranges::fill(state.out, state.sum);
    return state.sum;
  }
  if (!any && twist.hidden == ScanTwist::Hidden::kNothing && twist.max != ScanTwist::Max::kOfHidden) return 0;
  const Maxima m{state.max, own, new_maximum(twist.max, part, state.max, own, before), before};
  const double out_factor = any ? factor_of(twist.out_factor, m, range) : 1;
  const bool rescales = any && !(m.now - m.old <= twist.slack && twist.slack > 0);
  state.sum *= rescales ? factor_of(twist.sum_factor, m, range) : 1;
  for (double& x : state.out) x *= out_factor;
  const bool to_sum = adds(twist.sum_when, m, at, parts), to_out = adds(twist.out_when, m, at, parts);
  double added = 0;
  for (std::size_t j = 0; j < part.size(); ++j) {
    const ScanKey& key = part[j];
    double sum = 0, out = 0;
    if (key.seen) {
      const auto [in_sum, in_out] = count_of(twist.keys, j, j + 1 == part.size(), key.score == m.old,
                                             m.now > m.old && key.score == m.now);
      if (in_sum != 0) sum = in_sum * weight_of(twist.sum_weight, key.score, m, range);
      if (in_out != 0) out = in_out * weight_of(twist.out_weight, key.score, m, range);
    } else if (!any || twist.hidden != ScanTwist::Hidden::kScoreAlone) {
      std::tie(sum, out) = of_hidden(twist.hidden, key.score, m, range);
    }
    if (to_sum) added += sum;
    if (to_out) add_to(state.out, out, key.value);
  }
  state.sum += added;
  state.max = m.now;
  return added;
}

// m before the first part.
double first_maximum(ScanTwist::Max twist, double given) {
  if (twist == ScanTwist::Max::kFromZero) return std::max(given, 0.0);
  if (twist == ScanTwist::Max::kFromLowest) return std::max(given, std::numeric_limits<double>::lowest());
  return given;
}

// The parts, each extended by the keys of the other parts that it includes.
std::vector<Part> widened(ScanTwist::Keys keys, const std::vector<Part>& parts) {
  std::vector<Part> wide = parts;
  for (std::size_t p = 0; p < parts.size(); ++p)
    for (std::size_t other = 0; other < parts.size() && !parts[p].empty(); ++other) {
      const bool taken = other > p ? keys != ScanTwist::Keys::kBackward : keys != ScanTwist::Keys::kOnward;
      if (other == p || !taken) continue;
      for (const ScanKey& key : parts[other])
        if (key.seen) wide[p].push_back(key);
    }
  return wide;
}

// The parts that the scan visits.
std::vector<Part> looked_at(const ScanTwist& twist, std::vector<Part> parts) {
  using Keys = ScanTwist::Keys;
  if (twist.keys == Keys::kOnward || twist.keys == Keys::kBackward || twist.keys == Keys::kEverywhere)
    parts = widened(twist.keys, parts);
  if (twist.hidden != ScanTwist::Hidden::kEnds) return parts;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const auto hidden = std::ranges::find(parts[p], false, &ScanKey::seen);
    if (hidden == parts[p].end()) continue;
    parts[p].erase(hidden, parts[p].end());
    parts.resize(p + 1);
  }
  return parts;
}

}  // namespace

ScanState scanned(const ScanTwist& twist, const std::vector<Part>& all, ScanState state,
                  const ExponentRange& range) {
  const std::vector<Part> parts = looked_at(twist, all);
  state.max = first_maximum(twist.max, state.max);
  for (std::size_t p = 0; p < parts.size(); ++p) scan_part(twist, parts[p], p, parts.size(), state, range);
  return state;
}

Merged scan_result(const ScanTwist& twist, const std::vector<Part>& all, std::size_t width, bool partial,
                   const ExponentRange& range) {
  const std::vector<Part> parts = looked_at(twist, all);
  ScanState state{std::vector<double>(width, 0.0), first_maximum(twist.max, kLowest)};
  double last = 0, before = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const double so_far = state.sum;
    const double added = scan_part(twist, parts[p], p, parts.size(), state, range);
    if (added != 0) last = added, before = so_far;
  }
  const bool nothing = state.max == kLowest && !std::isnan(state.sum);
  if (nothing || (partial && state.sum == 0)) return {std::move(state.out), state.max};
  const double lse = state.max + std::log(state.sum);
  double divisor = state.sum;
  switch (twist.divisor) {
    case ScanTwist::Divisor::kSum:
      break;
    case ScanTwist::Divisor::kSumUnless:
      divisor = state.sum == 0 ? 1 : state.sum;
      break;
    case ScanTwist::Divisor::kOfLast:
      divisor = last;
      break;
    case ScanTwist::Divisor::kSquared:
      divisor = state.sum * state.sum;
      break;
    case ScanTwist::Divisor::kSumRoot:
      divisor = std::sqrt(state.sum);
      break;
    case ScanTwist::Divisor::kMax:
      divisor = state.max;
      break;
    case ScanTwist::Divisor::kLse:
      divisor = lse;
      break;
    case ScanTwist::Divisor::kBeforeOf:
      divisor = before;
      break;
  }
  for (double& x : state.out) x /= divisor;
  return {std::move(state.out), lse};
}

}  // namespace ringcraft::verify
