// Explains a wrong kernel of the values, O' = exp(m - m') O + P v, by wrong addresses, loops and factors.
#include <cmath>

#include "verify/diagnose/functions/agree.hpp"
#include "verify/diagnose/tiles/kernel_stages.hpp"
#include "verify/diagnose/tiles/law_search.hpp"

namespace ringcraft::verify {
namespace {

constexpr double kValuesNear = 2e-5;

struct EndOfValues {
  const char* words;
  double (*of)(double rescale, double old, double sum, double first_rescale);
};
constexpr EndOfValues kEndsOfValues[] = {
    {"the old O is not rescaled", [](double, double o, double s, double) { return o + s; }},
    {"the old O is lost", [](double, double, double s, double) { return s; }},
    {"the new keys are not added to O", [](double r, double o, double, double) { return r * o; }},
    {"the new keys are rescaled as well as the old O",
     [](double r, double o, double s, double) { return r * (o + s); }},
    {"the new keys are rescaled instead of the old O",
     [](double r, double o, double s, double) { return o + r * s; }},
    {"the old O is divided by its factor instead of multiplied by it",
     [](double r, double o, double s, double) { return o / r + s; }},
    {"the old O is rescaled twice", [](double r, double o, double s, double) { return r * r * o + s; }},
    {"the old O is rescaled by the factor of row 0",
     [](double, double o, double s, double f) { return f * o + s; }},
    {"P v is subtracted from O", [](double r, double o, double s, double) { return r * o - s; }},
    {"P v is added to O twice", [](double r, double o, double s, double) { return r * o + 2 * s; }}};

enum PlaceOfValues : std::size_t { kValueP, kValueV, kValueO, kValueKeys, kValueNumbers, kValueEnd };

struct ValuesLaws {
  const StepExhibit& x;
  std::vector<AddressWord> p = address_words(TensorRole::kWeights), v = address_words(TensorRole::kValue),
                           out = address_words(TensorRole::kOut);
  std::vector<KeyWord> keys = key_words();
  std::vector<NumberWord> numbers = number_words("O");

  std::pair<double, double> number(const LawChoice& law, Index a, Index d) const {
    const StepExhibit::Memory& before = x.after[2];
    double sum = 0, size = 0;
    for (Index b = 0; b < x.keys; ++b) {
      if (!(law[kValueKeys] > 0 ? keys[law[kValueKeys] - 1].of(key_of(x, a, b)) : is_seen(x, a, b))) continue;
      Spot of_v = spot_of(b, d, x.keys, x.width, x.rows), of_p = spot_of(a, b, x.rows, x.keys, x.width);
      of_v.other = a, of_v.begin = x.begin[static_cast<std::size_t>(a)];
      const Index p_at = law[kValueP] > 0 ? p[law[kValueP] - 1].of(of_p) : a * x.keys + b;
      const Index v_at = law[kValueV] > 0 ? v[law[kValueV] - 1].of(of_v) : b * x.width + d;
      const double term = number_or_zero(before.scores, p_at) * number_or_zero(x.v, v_at);
      sum += term, size += std::fabs(term);
    }
    const auto row = static_cast<std::size_t>(a);
    const double old = before.out[static_cast<std::size_t>(a * x.width + d)], factor = before.rescale[row];
    const double end = law[kValueEnd] > 0
                           ? kEndsOfValues[law[kValueEnd] - 1].of(factor, old, sum, before.rescale[0])
                           : factor * old + sum;
    return std::pair{end, size + std::fabs(factor * old) + std::fabs(old)};
  }
  bool visits(const LawChoice& law, Index a, Index d) const {
    const bool blind = x.begin[static_cast<std::size_t>(a)] >= x.end[static_cast<std::size_t>(a)];
    return !blind &&
           (law[kValueNumbers] == 0 || numbers[law[kValueNumbers] - 1].of(a, d, x.rows, x.width, x.keys));
  }

  bool gives(const LawChoice& law) const {
    const std::vector<double>&before = x.after[2].out, &after = x.after[3].out;
    std::vector<std::pair<double, double>> there;
    for (const double number_before : before) there.emplace_back(number_before, 0);
    for (Index a = 0; a < x.rows; ++a)
      for (Index d = 0; d < x.width; ++d) {
        const auto right = static_cast<std::size_t>(a * x.width + d);
        if (!visits(law, a, d)) {
          if (law[kValueO] == 0 && !agree_or_nan(after[right], before[right], 0)) return false;
          continue;
        }
        const auto want = number(law, a, d);
        if (law[kValueO] == 0) {
          if (!agree_or_nan(after[right], want.first, kValuesNear, want.second)) return false;
          continue;
        }
        const Index place = out[law[kValueO] - 1].of(spot_of(a, d, x.rows, x.width, x.keys));
        if (place < 0 || place >= static_cast<Index>(before.size())) return false;
        there[static_cast<std::size_t>(place)] = want;
      }
    for (std::size_t at = 0; at < before.size() && law[kValueO] > 0; ++at)
      if (!agree_or_nan(after[at], there[at].first, kValuesNear, there[at].second)) return false;
    return true;
  }
};

}  // namespace

std::vector<Cause> causes_of_values(const StepExhibit& x) {
  const ValuesLaws laws{x};
  // If no number is wrong in a specific way (NaN is not), nothing can be explained.
  const LawChoice right(kValueEnd + 1, 0);
  bool told = false;
  for (Index a = 0; a < x.rows; ++a)
    for (Index d = 0; d < x.width; ++d) {
      const double got = x.after[3].out[static_cast<std::size_t>(a * x.width + d)];
      const auto [want, size] = laws.number(right, a, d);
      told = told || (laws.visits(right, a, d) && std::isfinite(got) && !agree(got, want, kValuesNear, size));
    }
  if (!told) return {};
  const char* const kPlace =
      "Write down the place in memory of one number: what does each index of it count, and how far is it to "
      "the next?";
  return causes_by_law(
      {{"kernel-P", kPlace, texts_of(laws.p)},
       {"kernel-v", kPlace, texts_of(laws.v)},
       {"kernel-O", kPlace, texts_of(laws.out)},
       {"kernel-O-keys",
        "Row a sees the keys from begin[a] up to, not including, end[a]: does the loop over the values "
        "visit just these?",
        words_of_loop(laws.keys, "the loop over the values")},
       {"kernel-O-numbers", "Which thread computes the last number of O, and which row and column are its?",
        texts_of(laws.numbers)},
       {"kernel-O-end",
        "What is the old O multiplied by when the maximum grows, and what the new part?",
        texts_of(kEndsOfValues),
        {{1, "OS2"}, {2, "scan-factor-zero-out"}}}},
      [&](const LawChoice& law) { return laws.gives(law); });
}

}  // namespace ringcraft::verify
