// Explains wrong clocks of a ring: tries every law of one wrong word, then of two, on the same costs.
#include <algorithm>
#include <cmath>
#include <string>

#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/functions/clocks/clock_law.hpp"

namespace ringcraft::verify {
namespace {

bool near(const std::vector<double>& got, const std::vector<double>& want, double within) {
  return std::ranges::equal(got, want, [within](double a, double b) {
    return std::fabs(a - b) <= within * std::max(1.0, std::fabs(b));  // NaN is not
  });
}

// Whether this law gives all answers.
bool explains(const ClockLaw& law, const ClockExhibit& x, double within = 1e-9) {
  return std::ranges::all_of(x.asked, [&](const ClockExhibit::Asked& asked) {
    const RingClocks want = played(law, asked.costs);
    return near(asked.clocks.ends, want.ends, within) && near(asked.clocks.exposed, want.exposed, within) &&
           std::ranges::equal(asked.clocks.steps, want.steps,
                              [within](const auto& a, const auto& b) { return near(a, b, within); });
  });
}

Cause cause_of(const ClockWord& word) {
  return {std::string("solved-clocks-") + word.id, word.sentence, word.question};
}

}  // namespace

std::vector<Cause> causes_of(const ClockExhibit& x) {
  if (x.asked.empty() || explains({}, x)) return {};
  if (explains({}, x, 1e-5))
    return {{"solved-clocks-digits", "the clocks are right to float's digits only",
             "Which type do your clocks have?"}};
  const std::span<const ClockWord> words = clock_words();
  for (const ClockWord& word : words) {
    ClockLaw law;
    word.change(law);
    if (explains(law, x)) return {cause_of(word)};
  }
  for (const ClockWord& first : words)
    for (const ClockWord& second : words) {
      if (&second <= &first) continue;
      ClockLaw law;
      first.change(law);
      second.change(law);
      if (explains(law, x)) return together({cause_of(first), cause_of(second)});
    }
  return {};
}

}  // namespace ringcraft::verify
