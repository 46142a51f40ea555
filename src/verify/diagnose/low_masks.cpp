// Solves for a finite number that stands for minus infinity. Far below ordinary scores, it shows in those
// rows alone whose visible scores are lower still. The hidden keys of a row have the
// weight
//   w = E exp(number) / (S + E exp(number)),
// where S sums exp over the visible scores and E over the hidden ones: a row of out gives w, its lse the sum.
#include <algorithm>
#include <cmath>
#include <optional>

#include "verify/diagnose/diagnose_detail.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

constexpr double kHighest = -60;       // above it hidden keys keep a weight beside ordinary scores
constexpr double kSure = 20;           // errors within which nothing is concluded
constexpr double kNearOne = 1 - 1e-9;  // a weight above it tells no more

// The softmax of some keys.
struct Softmax {
  double lse = -HUGE_VAL;
  std::vector<double> mean;  // of their values
};

struct Keys {
  std::vector<double> scores;
  std::vector<std::span<const double>> values;
};

Softmax softmax_of(const Keys& keys, std::size_t width) {
  Softmax result;
  result.mean.assign(width, 0.0);
  if (keys.scores.empty()) return result;
  const double max = std::ranges::max(keys.scores);
  double sum = 0;
  for (std::size_t i = 0; i < keys.scores.size(); ++i) {
    const double weight = std::exp(keys.scores[i] - max);
    sum += weight;
    add(result.mean, weight, keys.values[i]);
  }
  for (double& x : result.mean) x /= sum;
  result.lse = max + std::log(sum);
  return result;
}

double log_odds(double weight) { return std::log(weight) - std::log1p(-weight); }

// The least and the greatest number that rows allow, and the number where a row gives it.
struct Limits {
  double low = -HUGE_VAL, high = HUGE_VAL, number = 0, error = HUGE_VAL;

  void give(double value, double uncertain) {
    if (uncertain < error) number = value, error = uncertain;
  }
  void stay_below(double value) { high = std::min(high, value); }
  void stay_above(double value) { low = std::max(low, value); }
  bool is_given() const { return error < 1; }
};

// The rows of a claim under one law of hidden scores.
class HiddenKeys {
 public:
  HiddenKeys(const Evidence& e, MaskedTwist masked) : e_(e), masked_(masked) {}

  Limits limits() const {
    constexpr double kMostWork = 1e8;  // multiplications
    const double of_row = static_cast<double>(e_.problem.head_dim * std::ssize(e_.problem.keys)) * 4;
    const auto rows = std::clamp<Index>(static_cast<Index>(kMostWork / std::max(of_row, 1.0)), 8, 64);
    Limits all;
    for (const RowPlace& row : sample_of(e_, TensorGroup::kForward, rows, rows).rows) add(row, all);
    return all;
  }

 private:
  std::pair<Softmax, Softmax> seen_and_hidden(const RowPlace& row) const {
    const Setting setting{.scale = e_.problem.softmax_scale};
    const Position query = e_.problem.queries[static_cast<std::size_t>(row.row)];
    Keys seen, hidden;
    for (Index key = 0; key < static_cast<Index>(e_.problem.keys.size()); ++key) {
      const bool sees = visible(e_.problem.mask, query, e_.problem.keys[static_cast<std::size_t>(key)]);
      const bool constant = !sees && masked_ == MaskedTwist::kSetLow;
      Keys& to = sees ? seen : hidden;
      to.scores.push_back(
          constant ? 0 : setting.scale * product_of(e_, setting, row.batch, row.head, row.row, key));
      to.values.push_back(value_of(e_, setting, row.batch, row.head, row.row, key));
    }
    const auto width = static_cast<std::size_t>(e_.inputs.v.extents().width);
    return {softmax_of(seen, width), softmax_of(hidden, width)};
  }

  void add(const RowPlace& row, Limits& all) const {
    const auto [seen, hidden] = seen_and_hidden(row);
    if (!std::isfinite(hidden.lse)) return;
    if (e_.has("lse")) add_lse(row, seen.lse, hidden.lse, all);
    if (e_.has("out") && std::isfinite(seen.lse)) add_out(row, seen, hidden, all);
  }

  void add_lse(const RowPlace& row, double seen, double hidden, Limits& all) const {
    const double claimed = row_of(e_.claim.lse, row.batch, row.head, row.row)[0];
    if (!std::isfinite(claimed)) return;
    const double t =
        tolerance_of(e_, e_.claim.lse, e_.units().lse, e_.oracle.scale.lse, row.batch, row.head, row.row)[0];
    if (!std::isfinite(seen)) return all.give(claimed - hidden, t);
    const double more = claimed - seen, share = -std::expm1(-more);  // of the hidden keys
    if (more > kSure * t)
      all.give(claimed - hidden + std::log(share), t / share);
    else if (kSure * t < 1)
      all.stay_below(seen - hidden + std::log(std::expm1(kSure * t)));
  }

  void add_out(const RowPlace& row, const Softmax& seen, const Softmax& hidden, Limits& all) const {
    const auto out = row_of(e_.claim.out, row.batch, row.head, row.row);
    const auto t =
        tolerance_of(e_, e_.claim.out, e_.units().out, e_.oracle.scale.out, row.batch, row.head, row.row);
    double product = 0, square = 0;
    for (std::size_t c = 0; c < out.size(); ++c) {
      const double x = (hidden.mean[c] - seen.mean[c]) / t[c];
      product += x * (out[c] - seen.mean[c]) / t[c], square += x * x;
    }
    const double weight = product / square, error = 1 / std::sqrt(square), apart = seen.lse - hidden.lse;
    const double least = weight - kSure * error, most = weight + kSure * error;
    if (!std::isfinite(weight) || least > 1 || most < 0) return;
    if (least > 0) all.stay_above(apart + log_odds(std::min(least, kNearOne)));
    if (most < 1) all.stay_below(apart + log_odds(std::max(most, 1 - kNearOne)));
    if (least > 0 && most < 1) all.give(apart + log_odds(weight), error / (weight * (1 - weight)));
  }

  const Evidence& e_;
  MaskedTwist masked_;
};

// A number within the limits: a common one, if they allow it.
std::optional<double> number_within(const Limits& limits) {
  const double high = std::min(limits.high, kHighest);
  if (limits.is_given()) return limits.number < kHighest ? std::optional(limits.number) : std::nullopt;
  if (!std::isfinite(limits.low) || !(limits.low < high)) return {};
  return limits.low < kLow && kLow < high ? kLow : (limits.low + high) / 2;
}

// The number, as far as the rows tell it: given, one of many, or between limits.
std::string words_of(MaskedTwist masked, const Limits& limits, double number, double scale) {
  std::string what = "a finite number", also;
  if (limits.is_given()) {
    what += ", about " + short_number(number) + " (after the softmax scale";
    what += (scale != 0 ? "; " + short_number(number / scale) + " before it)," : "),");
  } else {
    if (number == kLow) what += ", such as -1e4,";
    also = ", and after the softmax scale it is ";
    also += std::isfinite(limits.high)
                ? "between " + short_number(limits.low) + " and " + short_number(limits.high)
                : "above " + short_number(limits.low);
  }
  return (masked == MaskedTwist::kSetLow ? "masked scores are " + what + " instead of minus infinity"
                                         : what + " is added to masked scores instead of minus infinity") +
         also;
}

}  // namespace

std::vector<Suspect> low_mask_suspects(const Evidence& e) {
  if (e.problem.mask == full_mask() || (!e.has("out") && !e.has("lse"))) return {};
  std::vector<Suspect> all;
  for (const Suspect& known : forward_suspects()) {
    const MaskedTwist masked = known.twist.masked;
    if (!known.example || (masked != MaskedTwist::kSetLow && masked != MaskedTwist::kLowered)) continue;
    const Limits limits = HiddenKeys(e, masked).limits();
    const std::optional<double> number = number_within(limits);
    if (!number) continue;
    Suspect solved{.cause = known.cause, .twist = known.twist};
    solved.twist.low = *number;
    solved.cause.sentence = words_of(masked, limits, *number, e.problem.softmax_scale);
    all.push_back(std::move(solved));
  }
  return all;
}

}  // namespace ringcraft::verify
