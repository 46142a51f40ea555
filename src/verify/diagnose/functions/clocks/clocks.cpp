// Explains wrong clocks of a ring: tries every law of one wrong word, then of two, on the same costs. As
// `exposed` moves no clock, its own words are tried when steps and ends are explained.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>

#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/functions/clocks/clock_law.hpp"

namespace ringcraft::verify {
namespace {

using Asked = ClockExhibit::Asked;

// A wrong choice that a law can be changed by.
struct ClockChoice {
  Cause cause;
  std::function<void(ClockLaw&)> change;
};
using ClockChoices = std::vector<ClockChoice>;

template <class Law>
Cause cause_of(const WordOf<Law>& word) {
  return {std::string("solved-clocks-") + word.id, word.sentence, word.question};
}

// The same said of one kind of messages.
Cause cause_of_kind(const MessageWord& word, const std::string& kind) {
  constexpr std::string_view kMessage = "message";
  Cause cause = cause_of(word);
  for (auto at = cause.sentence.find(kMessage); at != std::string::npos;
       at = cause.sentence.find(kMessage, at))
    cause.sentence.replace(at, kMessage.size(), kind);
  return cause;
}

ClockChoices choices_of_clocks() {
  ClockChoices all;
  for (const MessageWord& word : message_words())
    all.push_back(
        {cause_of(word), [&word](ClockLaw& law) { word.change(law.blocks), word.change(law.sums); }});
  for (const ClockWord& word : clock_words()) all.push_back({cause_of(word), word.change});
  for (const ReadingWord& word : reading_words())
    all.push_back({cause_of(word), [&word](ClockLaw& law) { law.readings.push_back(word.change); }});
  for (const MessageWord& word : message_words()) {
    all.push_back({cause_of_kind(word, "block"), [&word](ClockLaw& law) { word.change(law.blocks); }});
    all.push_back({cause_of_kind(word, "sum"), [&word](ClockLaw& law) { word.change(law.sums); }});
  }
  return all;
}

ClockChoices choices_of_exposed() {
  ClockChoices all;
  for (const ClockWord& word : exposed_words()) all.push_back({cause_of(word), word.change});
  return all;
}

constexpr double kWithin = 1e-9;

bool near(const std::vector<double>& got, const std::vector<double>& want, double within) {
  return std::ranges::equal(got, want, [within](double a, double b) {
    return std::fabs(a - b) <= within * std::max(1.0, std::fabs(b));  // NaN is not
  });
}

bool same_clocks(const RingClocks& got, const RingClocks& want, double within) {
  return near(got.ends, want.ends, within) &&
         std::ranges::equal(got.steps, want.steps,
                            [within](const auto& a, const auto& b) { return near(a, b, within); });
}

bool same(const RingClocks& got, const RingClocks& want, double within) {
  return same_clocks(got, want, within) && near(got.exposed, want.exposed, within);
}

// A law, and the choices that make it.
struct ChosenLaw {
  ClockLaw law;
  std::vector<const ClockChoice*> choices;
};

// Calls visit(law) for all laws that change this one by `words` choices, until it returns true.
template <class Visit>
bool any_law(const ChosenLaw& from, std::span<const ClockChoice> choices, int words, const Visit& visit) {
  if (words == 0) return visit(from);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    ChosenLaw next = from;
    choices[i].change(next.law);
    next.choices.push_back(&choices[i]);
    if (any_law(next, choices.subspan(i + 1), words - 1, visit)) return true;
  }
  return false;
}

bool depends_on_order(const ClockLaw& law) {
  return law.sums_posted == ClockLaw::SumsPosted::kLastAtWait ||
         std::ranges::any_of(std::array{law.blocks, law.sums}, [](const MessageLaw& message) {
           return message.sets != MessageLaw::Sets::kLatest || message.in_turn ||
                  message.begins == MessageLaw::Begins::kWait;
         });
}

constexpr ClockStyle kStyles[] = {{ClockStyle::Order::kSumsFirst, false},
                                  {ClockStyle::Order::kByList, true},
                                  {ClockStyle::Order::kSumsFirst, true},
                                  {ClockStyle::Order::kBlocksFirst, false},
                                  {ClockStyle::Order::kBlocksFirst, true}};

class ClockSearch {
 public:
  // The smallest rings with wrong answers come first: they reject most laws.
  explicit ClockSearch(const ClockExhibit& x) {
    for (const Asked& asked : x.asked) rings_.push_back(&asked);
    std::ranges::stable_sort(rings_, {}, [](const Asked* asked) {
      const bool right = same(asked->clocks, ring_clocks(asked->costs), kWithin);
      return std::pair(right, asked->costs.transfers.size());
    });
  }

  // The fewest choices that give all answers; empty if three do not.
  std::vector<Cause> causes() const {
    const ClockChoices of_clocks = choices_of_clocks(), of_exposed = choices_of_exposed();
    std::vector<ChosenLaw> laws;
    int words = 0;
    for (; laws.empty() && words <= 2; ++words)
      any_law({}, of_clocks, words, [&](const ChosenLaw& chosen) {
        if (gives_clocks(chosen.law)) laws.push_back(chosen);
        return false;
      });
    std::vector<Cause> causes;
    for (int more = 0; more <= std::min(2, 4 - words); ++more)
      for (const ChosenLaw& law : laws)
        if (any_law(law, of_exposed, more, [&](const ChosenLaw& chosen) {
              if (!gives_all(chosen.law)) return false;
              for (const ClockChoice* choice : chosen.choices) causes.push_back(choice->cause);
              return true;
            }))
          return together(std::move(causes));
    return {};
  }

 private:
  bool gives_clocks(const ClockLaw& law) const {
    const std::size_t styles = depends_on_order(law) ? std::size(kStyles) : 1;
    return std::ranges::any_of(std::span(kStyles).first(styles),
                               [&](const ClockStyle& style) { return gives(law, style, same_clocks); });
  }

  bool gives_all(const ClockLaw& law) const {
    return std::ranges::any_of(kStyles, [&](ClockStyle style) {
      if (gives(law, style, same)) return true;
      style.by_difference = true;
      return gives(law, style, same);
    });
  }

  template <class Same>
  bool gives(const ClockLaw& law, const ClockStyle& style, const Same& same) const {
    return std::ranges::all_of(rings_, [&](const Asked* asked) {
      return same(asked->clocks, played(law, style, asked->costs), kWithin);
    });
  }

  std::vector<const Asked*> rings_;
};

bool all_right(const ClockExhibit& x, double within) {
  return std::ranges::all_of(
      x.asked, [within](const Asked& asked) { return same(asked.clocks, ring_clocks(asked.costs), within); });
}

}  // namespace

std::vector<Cause> causes_of(const ClockExhibit& x) {
  if (x.asked.empty()) return {};
  if (all_right(x, kWithin)) {
    if (std::ranges::none_of(x.asked, &Asked::changed)) return {};
    return {{"solved-clocks-changed", "the clocks are right, and the costs are written to on the way",
             "Whose list is it?"}};
  }
  if (all_right(x, 1e-5))
    return {{"solved-clocks-digits", "the clocks are right to float's digits only",
             "Which type do your clocks have?"}};
  return ClockSearch(x).causes();
}

}  // namespace ringcraft::verify
