// Diagnoses by the numbers alone: rounding in a lower precision, from the size and direction of the errors,
// and values that are NaN or infinite.
#include <algorithm>
#include <cmath>
#include <set>

#include "ringcraft/core/shown.hpp"
#include "verify/diagnose/diagnose_detail.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"
#include "verify/oracle/rounding.hpp"

namespace ringcraft::verify {
namespace {

// Root mean square of error / scale, by the number of blocks with a visible key that a row of out meets.
std::string growth_of(const Evidence& e) {
  std::vector<double> squares(static_cast<std::size_t>(e.place.count() + 1)), counts(squares.size());
  for (Index row = 0; row < e.claim.out.extents().rows; ++row) {
    const Position position = e.problem.queries[static_cast<std::size_t>(row)];
    std::size_t blocks = 0;
    for (const auto& block : e.place.blocks)
      blocks += std::any_of(block.begin(), block.end(), [&](Index key) {
        return visible(e.problem.mask, position, e.problem.keys[static_cast<std::size_t>(key)]);
      });
    const auto got = row_of(e.claim.out, 0, 0, row), want = row_of(e.oracle.value.out, 0, 0, row),
               scale = row_of(e.oracle.scale.out, 0, 0, row);
    for (std::size_t c = 0; c < got.size(); ++c) {
      const double error = scale[c] > 0 ? (got[c] - want[c]) / scale[c] : 0;
      squares[blocks] += error * error;
      ++counts[blocks];
    }
  }
  std::string text;
  for (std::size_t n = 1; n < squares.size(); ++n)
    if (counts[n] > 0)
      text += (text.empty() ? "" : ", ") + short_number(std::sqrt(squares[n] / counts[n])) +
              " in rows that meet " + counted(n, "block");
  return text;
}

// Errors of one tensor, relative to the scales of their elements.
struct Errors {
  double squares = 0, worst = 0;  // the sum of all squares, and the largest
  double balance = 0;             // share of positive errors minus share of negative ones
  double alike = 0;               // cosine of errors and values: rounding errors have no direction
  double large = 0;               // number of large values, on which this cosine rests
};
Errors errors_of(const Buffer& claim, const Buffer& want, const Buffer& scale) {
  Errors errors;
  double product = 0, values = 0, fourth = 0, plain = 0, count = 0;
  const auto got = claim.values<double>(), wants = want.values<double>(), scales = scale.values<double>();
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = got[i] == wants[i] ? 0 : got[i] - wants[i];
    const double share = error / (scales[i] + 1e-288);
    errors.squares += share * share;
    errors.worst = std::max(errors.worst, std::fabs(share));
    errors.balance += error > 0 ? 1 : error < 0 ? -1 : 0;
    count += error != 0;
    product += error * wants[i];
    const double square = wants[i] * wants[i];
    values += square;
    fourth += square * square;
    plain += error * error;
  }
  errors.balance /= std::max(count, 1.0);
  errors.large = values * values / std::max(fourth, 1e-300);
  errors.alike = product / std::max(std::sqrt(values * plain), 1e-300);
  return errors;
}

// Whether errors point in one direction more than random ones do.
bool has_direction(const Errors& errors, Index elements) {
  return std::fabs(errors.balance) > 0.2 + 4 / std::sqrt(static_cast<double>(elements)) ||
         std::fabs(errors.alike) > 0.1 + 4 / std::sqrt(errors.large);
}

// A type narrower than the claim's that represents every value of this tensor; empty if there is none.
std::string rounded_to(const Buffer& tensor, DType claim) {
  const auto values = tensor.values<double>();
  const auto all = [&](DType type) {
    return std::ranges::all_of(values, [&](double x) { return !std::isfinite(x) || rounded(x, type) == x; });
  };
  if (is_half(claim) || std::ranges::all_of(values, [](double x) { return x == 0; })) return "";
  if (all(DType::kBFloat16)) return "bfloat16";
  if (all(DType::kFloat16)) return "float16";
  if (claim == DType::kFloat64 && all(DType::kFloat32)) return "float32";
  return "";
}

// The precision whose rounding is about as large; empty if the errors are smaller or larger than any. The
// largest error of rounding is some units in the last place: 2^-8 in bfloat16, 2^-11 in the others.
std::string precision_of(double rms, double worst, DType claim) {
  if (claim == DType::kFloat64 && rms > 1e-11 && rms < 2e-6) return "float32";
  if (!is_half(claim) && rms > 3e-6 && rms < 2e-4 && worst < 0x1p-7) return "a type of 16 bits or TF32";
  if (claim != DType::kFloat64 && rms >= 2e-4 && rms < 2e-2 && worst < 0x1p-4) return "bfloat16";
  return "";
}

std::string place_words(const Evidence& e, Position row) {
  if (e.ring == nullptr) return "row " + std::to_string(row);
  const Sharding sharding = e.ring->sharding();
  return "position " + std::to_string(row) + " (rank " + std::to_string(sharding.owner_of(row)) +
         ", local row " + std::to_string(sharding.local_from_global(row)) + ")";
}

}  // namespace

bool all_zero(const Buffer& tensor) {
  const Buffer numbers = converted(tensor, DType::kFloat64);
  return std::ranges::all_of(numbers.values<double>(), [](double x) { return x == 0; });
}

bool is_without_numbers(const Evidence& e, TensorGroup group) {
  if (e.no_numbers == NoNumbers::kTell) return false;
  bool any = false;
  for (const auto& [name, tensor] : named(e.claim)) {
    if (group_of(name) != group || !e.has(name)) continue;
    any = true;
    if (std::ranges::any_of(tensor.values<double>(), [](double x) { return std::isfinite(x); })) return false;
  }
  return any;
}

std::optional<Cause> cause_of_unwritten(const Evidence& e, TensorGroup group) {
  const std::pair<const Position, Difference>* first = nullptr;
  std::string name;
  std::set<Position> rows;
  for (const TensorComparison& tensor : e.comparison.tensors) {
    if (group_of(tensor.name) != group) continue;
    const bool unwritten =
        std::ranges::all_of(tensor.wrong_rows, [](const auto& row) { return is_unwritten(row.second.got); });
    if (!unwritten) continue;
    for (const auto& row : tensor.wrong_rows) {
      if (first == nullptr) first = &row, name = tensor.name;
      rows.insert(row.first);
    }
  }
  if (first == nullptr) return {};
  for (const TensorComparison& tensor : e.comparison.tensors)  // other tensors may be wrong only there, too
    if (group_of(tensor.name) == group)
      for (const auto& row : tensor.wrong_rows)
        if (!rows.contains(row.first)) return {};
  return Cause{
      "unwritten",
      name + " is never set at " + place_words(e, first->first) + ": it holds what the memory held before",
      "Which path through your code leaves this row without writing it?"};
}

std::optional<Cause> cause_of_lost_start(const Evidence& e, const Answer& before) {
  std::string names;
  for (std::size_t t = 2; t < kAnswerNames.size(); ++t) {
    if (!e.is_wrong(kAnswerNames[t])) continue;
    const Buffer& held = named(before)[t].tensor;
    if (held.empty()) return {};
    const auto got = named(e.claim)[t].tensor.values<double>(),
               right = named(e.oracle.value)[t].tensor.values<double>(), start = held.values<double>();
    for (std::size_t i = 0; i < got.size(); ++i)
      if (!(std::fabs(got[i] + start[i] - right[i]) <= 1e-5 * (1 + std::fabs(start[i])))) return {};
    names += (names.empty() ? "" : ", ") + std::string(kAnswerNames[t]);
  }
  if (names.empty()) return {};
  return Cause{"lost-start",
               names +
                   ": what earlier calls have added is lost: set to zero first, or stored over where the new "
                   "part must be "
                   "added",
               "The next block of keys comes with the same dq, the next head of the group with the same dk "
               "and dv: what "
               "must not be lost?"};
}

std::vector<Cause> causes_by_numbers(const Evidence& e, TensorGroup group) {
  const bool forward = group == TensorGroup::kForward;
  double squares = 0, elements = 0, wrong = 0, worst = 0;
  bool directed = false;
  std::string narrow;
  for (const TensorComparison& tensor : e.comparison.tensors) {
    if (group_of(tensor.name) != group || tensor.wrong == 0) continue;
    const auto bad = std::find_if(tensor.wrong_rows.begin(), tensor.wrong_rows.end(), [](const auto& row) {
      return !std::isfinite(row.second.got) && std::isfinite(row.second.want);
    });
    if (bad != tensor.wrong_rows.end()) {
      return {{"NaN", tensor.name + " is no number first at " + place_words(e, bad->first),
               "Does this row meet a block without a visible key (-inf - (-inf)), a score that exp cannot "
               "hold, or memory that nobody wrote?"}};
    }
    const auto t = static_cast<std::size_t>(std::find(kAnswerNames.begin(), kAnswerNames.end(), tensor.name) -
                                            kAnswerNames.begin());
    if (all_zero(named(e.claim)[t].tensor))
      return {{"ZERO", tensor.name + " is zero everywhere", "Which buffer was written, and which returned?"}};
    const Errors errors =
        errors_of(named(e.claim)[t].tensor, named(e.oracle.value)[t].tensor, named(e.oracle.scale)[t].tensor);
    directed = directed || has_direction(errors, tensor.total);
    if (narrow.empty()) narrow = rounded_to(named(e.claim)[t].tensor, e.precision);
    squares += errors.squares;
    elements += static_cast<double>(tensor.total);
    wrong += static_cast<double>(tensor.wrong);
    worst = std::max(worst, errors.worst);
  }
  const double rms = std::sqrt(squares / std::max(elements, 1.0));
  const std::string by_size = precision_of(rms, worst, e.precision);
  const std::string precision = by_size.empty() || narrow.empty() ? by_size : narrow;
  // In float64 rounding affects almost every element, and puts none of them far off; in a claim of low
  // precision many elements pass.
  const double share = e.precision == DType::kFloat64 ? 0.5 : is_half(e.precision) ? 0.01 : 0.1;
  if (precision.empty() || (narrow.empty() && (directed || worst > 30 * rms || wrong < share * elements)))
    return {};
  // One device has no place to lose digits, unless it computes in float instead of double.
  if (narrow.empty() && e.ring == nullptr && e.precision != DType::kFloat64) return {};
  const bool guess = narrow.empty();  // a small mistake may be as large
  std::string sentence = narrow.empty() ? "the errors are of the size of rounding to " + precision +
                                              " (RMS " + short_number(rms) + " of the scale)"
                                        : "every number fits into " + precision;
  sentence += ": something is kept in it that should not be";
  if (forward && e.has("out")) sentence += "; error: " + growth_of(e);
  if (guess) sentence += " (only a guess, by their size)";
  Cause cause{
      forward ? "RF12" : "BW13", sentence,
      forward ? "Which quantities travel or add up, and in which precision: the running out, lse, the scores?"
              : "Where do small numbers meet a large sum: in which precision do dk and dv travel?"};
  cause.guess = guess;
  return {cause};
}

}  // namespace ringcraft::verify
