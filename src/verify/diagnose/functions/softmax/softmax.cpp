// Computes a softmax of one row in three passes with given mistakes, and searches the laws and guards that
// explain all rows of an exhibit.
#include <algorithm>
#include <cmath>
#include <optional>

#include "verify/diagnose/functions/agree.hpp"
#include "verify/diagnose/functions/softmax/softmax_law.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"

namespace ringcraft::verify {
namespace {

using Nothing = SoftmaxGuards::Nothing;
using Outside = SoftmaxGuards::Outside;

double maybe_float(double x, bool rounds) { return rounds ? static_cast<double>(static_cast<float>(x)) : x; }

// The number to subtract, given the treatment of a row in which nothing is found. Empty: all weights are 0.
std::optional<double> subtracted(double reference, Nothing nothing) {
  if (reference != kUnseenScore || nothing == Nothing::kNone) return reference;
  return nothing == Nothing::kZeros ? std::nullopt : std::optional(0.0);
}

// The scores that a range keeps.
std::vector<double> kept(std::span<const double> scores, const std::vector<double>& times) {
  std::vector<double> some;
  for (std::size_t j = 0; j < scores.size(); ++j)
    if (times[j] > 0) some.push_back(scores[j]);
  return some;
}

// Whether a row sees none of its scores.
bool is_empty_row(const ScoreScan& row) {
  return !row.scores.empty() && std::ranges::all_of(row.scores, [](double s) { return s == kUnseenScore; });
}

// One row on its way from the scores to the weights.
struct SoftmaxPass {
  const SoftmaxLaw& law;
  std::vector<double> scores, times, terms;
  double reference = 0;
  SoftmaxSums sums{};

  double difference(double score) const {
    return law.rounding->differences ? maybe_float(score - reference, true) + reference : score;
  }
  double weight_of(double score, double so_far) const {
    return maybe_float(law.term->weight({difference(score), reference, so_far}), law.rounding->terms);
  }
  // A score that counts -1 times counts as 1, whatever it is.
  double term_of(std::size_t j, double so_far) const {
    if (times[j] <= 0) return -times[j];
    return times[j] *
           maybe_float(law.term->summand({difference(scores[j]), reference, so_far}), law.rounding->terms);
  }
  void add_up() {
    const bool in_float = law.rounding->sum;
    double so_far = kUnseenScore;
    for (std::size_t j = 0; j < scores.size(); ++j) {
      so_far = std::max(so_far, scores[j]);
      terms.push_back(term_of(j, so_far));
      sums.all = maybe_float(sums.all + maybe_float(terms.back(), in_float), in_float);
      sums.squares += terms.back() * terms.back();
      sums.largest = std::max(sums.largest, terms.back());
      sums.last = terms.back();
      sums.scores += scores[j];
      sums.seen += scores[j] == kUnseenScore ? 0 : 1;
    }
    sums.reference = reference;
    sums.count = static_cast<double>(scores.size());
  }
  // Recomputes the sum after the first scores have been overwritten.
  void add_up_anew(std::span<const double> written) {
    std::ranges::copy(written, scores.begin());
    terms.clear();
    sums = {};
    add_up();
  }
  double divisor_at(std::size_t j) {
    sums.own = terms[j];
    sums.before = sums.so_far;
    sums.so_far += terms[j];
    return law.divisor->of(sums);
  }
};

}  // namespace

std::vector<double> softmax_weights(const SoftmaxLaw& law, const SoftmaxGuards& guards,
                                    const ScoreScan& row) {
  SoftmaxPass pass{law, row.scores, law.count->of(row.scores), {}};
  for (double& score : pass.scores) score = maybe_float(score, law.rounding->scores);
  std::vector<double> weights(pass.scores.size(), 0.0);
  if (law.nothing->of != nullptr && is_empty_row(row)) {
    for (std::size_t j = 0; j < weights.size(); ++j) weights[j] = law.nothing->of(j, weights.size());
    return weights;
  }
  const bool narrow = law.count->is_range && guards.outside != Outside::kSumOnly;
  const auto reference =
      subtracted(law.reference->of(narrow ? kept(pass.scores, pass.times) : pass.scores), guards.nothing);
  if (!reference) return weights;
  pass.reference = *reference;
  pass.add_up();
  double so_far = kUnseenScore;
  for (std::size_t j = 0; j < weights.size(); ++j) {
    if (row.shared && law.reread->sum_anew) pass.add_up_anew(std::span(weights).first(j));
    const double divisor = pass.divisor_at(j);
    so_far = std::max(so_far, pass.scores[j]);
    if (narrow && pass.times[j] == 0 && guards.outside != Outside::kWeighed) {
      weights[j] = guards.outside == Outside::kZero ? 0.0 : unwritten();
      continue;
    }
    const double score =
        row.shared ? law.reread->of(pass.scores[j], pass.reference, pass.sums.all) : pass.scores[j];
    const double weight = pass.weight_of(score, so_far);
    weights[j] = maybe_float(divisor == 0 && guards.sum ? weight : weight / divisor, law.rounding->weights);
  }
  return weights;
}

namespace {

constexpr const char* kSoftmaxQuestion =
    "Follow your code through a row of 3 scores, with pencil and paper: which number is the first wrong one?";
constexpr double kExactly = 1e-10, kVanishing = 1e-298;  // numbers below it lose digits

const SoftmaxLaw& right_softmax() {
  static const SoftmaxLaw law{&softmax_references()[0], &softmax_terms()[0],     &softmax_counts()[0],
                              &softmax_divisors()[0],   &softmax_roundings()[0], &softmax_rereads()[0],
                              &softmax_nothings()[0]};
  return law;
}

bool gives_row(const SoftmaxLaw& law, const SoftmaxGuards& guards, const ScoreScan& row) {
  const std::vector<double> want = softmax_weights(law, guards, row);
  for (std::size_t j = 0; j < want.size(); ++j)
    if (is_unwritten(want[j]) != is_unwritten(row.weights[j]) ||
        !agree_or_nan(row.weights[j], want[j], kExactly, kVanishing))
      return false;
  return true;
}

// Laws with other words at one place.
enum SoftmaxPlace : int { kReference, kTerm, kCount, kDivisor, kRounding, kNothing, kReread, kSoftmaxPlaces };
template <class Words, class Use>
void change(const SoftmaxLaw& law, const Words& words, const Use& use,
            const typename Words::value_type* SoftmaxLaw::*place) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    SoftmaxLaw other = law;
    other.*place = &words[i];
    use(other);
  }
}

template <class Use>
void change_at(int place, const SoftmaxLaw& law, const Use& use) {
  switch (place) {
    case kReference:
      return change(law, softmax_references(), use, &SoftmaxLaw::reference);
    case kTerm:
      return change(law, softmax_terms(), use, &SoftmaxLaw::term);
    case kCount:
      return change(law, softmax_counts(), use, &SoftmaxLaw::count);
    case kDivisor:
      return change(law, softmax_divisors(), use, &SoftmaxLaw::divisor);
    case kRounding:
      return change(law, softmax_roundings(), use, &SoftmaxLaw::rounding);
    case kNothing:
      return change(law, softmax_nothings(), use, &SoftmaxLaw::nothing);
    default:
      return change(law, softmax_rereads(), use, &SoftmaxLaw::reread);
  }
}

// The guards under which a law gives all rows, the right ones first.
std::optional<SoftmaxGuards> guards_for(const SoftmaxLaw& law, const std::vector<const ScoreScan*>& rows) {
  for (const Outside outside : {Outside::kSumOnly, Outside::kZero, Outside::kUnwritten, Outside::kWeighed}) {
    if (outside != Outside::kSumOnly && !law.count->is_range) break;
    for (const bool sum : {true, false})
      for (const Nothing nothing : {Nothing::kSubtractsZero, Nothing::kNone, Nothing::kZeros}) {
        const SoftmaxGuards guards{nothing, sum, outside};
        if (std::ranges::all_of(rows, [&](const ScoreScan* row) { return gives_row(law, guards, *row); }))
          return guards;
      }
  }
  return {};
}

std::string words_of_count(const SoftmaxCount& count, Outside outside) {
  if (!count.is_range) return count.words;
  switch (outside) {
    case Outside::kSumOnly:
      return "in the sum l " + count.words;
    case Outside::kWeighed:
      return "in the search for the maximum and in the sum l " + count.words;
    case Outside::kUnwritten:
      return count.words + ": its share of the weights is never written";
    case Outside::kZero:
      break;
  }
  return count.words + ": what is left out gets the weight 0";
}

// Whether these guards, and not the law, turn a required 0 into NaN.
bool is_unguarded(const SoftmaxGuards& guards, const std::vector<const ScoreScan*>& rows) {
  const auto is_empty = [](const ScoreScan* row) { return is_empty_row(*row); };
  return (!guards.sum || guards.nothing == Nothing::kNone) && std::ranges::any_of(rows, is_empty);
}

Cause cause_of_softmax(const SoftmaxLaw& law, const SoftmaxGuards& guards,
                       const std::vector<const ScoreScan*>& rows) {
  Cause cause{"", "", kSoftmaxQuestion};
  const auto add = [&](const std::string& id, const std::string& words) {
    if (words.empty()) return;
    if (cause.id.empty()) cause.id = id;
    cause.sentence += (cause.sentence.empty() ? "" : "; and ") + words;
  };
  add(law.reference->id, law.reference->words);
  add(law.term->id, law.term->words);
  add(law.count->id, words_of_count(*law.count, guards.outside));
  add(law.divisor->id, law.divisor->words);
  add(law.rounding->id, law.rounding->words);
  add(law.nothing->id, law.nothing->words);
  if (law.reference == right_softmax().reference && law.nothing->of == nullptr && is_unguarded(guards, rows))
    add("scan-finish",
        "a row without a visible score is not treated apart: -inf - (-inf) and 0 / 0 are no numbers");
  add(law.reread->id, law.reread->words);
  return cause;
}

// This law of rows with separate memory, plus the re-reading of overwritten scores if only that is missing to
// explain the in-place rows.
SoftmaxLaw with_reread(const SoftmaxLaw& law, const SoftmaxGuards& guards,
                       const std::vector<const ScoreScan*>& in_place) {
  if (in_place.empty()) return law;
  SoftmaxLaw other = law;
  for (const SoftmaxReread& reread : softmax_rereads()) {  // the first one is right
    other.reread = &reread;
    if (std::ranges::all_of(in_place, [&](const ScoreScan* row) { return gives_row(other, guards, *row); }))
      return other;
  }
  return law;
}

}  // namespace

std::vector<Cause> causes_of_softmax(const std::vector<const ScoreScan*>& rows,
                                     const std::vector<const ScoreScan*>& in_place, int mistakes) {
  std::vector<Cause> causes;
  const auto try_law = [&](const SoftmaxLaw& law) {
    if (const auto guards = guards_for(law, rows))
      causes.push_back(cause_of_softmax(with_reread(law, *guards, in_place), *guards, rows));
  };
  if (mistakes == 1) try_law(right_softmax());  // if only a guard is missing, nothing else is reported
  if (!causes.empty()) return causes;
  const int places = std::ranges::any_of(rows, &ScoreScan::shared) ? kSoftmaxPlaces : kReread;
  for (int place = 0; place < places; ++place)
    change_at(place, right_softmax(), [&](const SoftmaxLaw& once) {
      if (mistakes == 1) return try_law(once);
      for (int other = place + 1; other < places; ++other) change_at(other, once, try_law);
    });
  return causes;
}

std::vector<Cause> causes_of_float_softmax(const std::vector<const ScoreScan*>& rows) {
  constexpr double kDigit = 1.2e-7;  // of float
  double most = 0;
  bool weights_are_float = true, one_factor = true;
  for (const ScoreScan* row : rows) {
    const std::vector<double> want = softmax_weights(right_softmax(), {}, *row);
    const double shift = std::fabs(softmax_references()[0].of(row->scores));
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (std::size_t j = 0; j < want.size(); ++j) {
      const double got = row->weights[j], score = row->scores[j];
      weights_are_float = weights_are_float && got == static_cast<double>(static_cast<float>(got));
      const double digits =
          4 + static_cast<double>(want.size()) + (want[j] == 0 ? 0 : std::fabs(score) + shift);
      if (kDigit * digits > 0.1) continue;  // float has no digits of such scores
      if (!agree(got, want[j], kDigit * digits, 1e-30)) return {};
      if (want[j] < 1e-30) continue;
      low = std::min(low, got / want[j] - 1), high = std::max(high, got / want[j] - 1);
    }
    if (low <= high) one_factor = one_factor && high - low < 1e-12, most = std::max({most, high, -low});
  }
  if (most < 1e-10) return {};
  return {{"scan-float",
           weights_are_float ? "the weights are computed in float, or rounded to it: they have no more digits"
           : one_factor
               ? "l is summed in float: the weights of a row are right among themselves, and right to "
                 "the digits of float in all"
               : "the exponentials, or what they are made of, are computed in float",
           "In which type is each step computed, and how many digits has it?"}};
}

std::vector<Cause> causes_of_dropped_weights(const std::vector<const ScoreScan*>& rows) {
  double largest_lost = 0, smallest_kept = HUGE_VAL;
  for (const ScoreScan* row : rows) {
    const std::vector<double> want = softmax_weights(right_softmax(), {}, *row);
    for (std::size_t j = 0; j < want.size(); ++j)
      if (row->weights[j] == 0)
        largest_lost = std::max(largest_lost, want[j]);
      else if (agree(row->weights[j], want[j], kExactly, kVanishing))
        smallest_kept = std::min(smallest_kept, want[j]);
      else
        return {};
  }
  if (!(largest_lost > kVanishing) || largest_lost > smallest_kept) return {};
  return {{"scan-dropped", "weights below about " + short_number(smallest_kept) + " are set to 0",
           kSoftmaxQuestion}};
}

}  // namespace ringcraft::verify
