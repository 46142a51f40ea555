// Explains a wrong deal of single tokens. Splits the calls by layout and by whether their round is reversed,
// under any of the rules below; in each part the answer is a formula, which is solved for.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <utility>

#include "ringcraft/core/shown.hpp"
#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/functions/formula.hpp"

namespace ringcraft::verify {
namespace {

// A call of either function: token_position gets a rank in a round, token_owner a seat.
struct DealCall {
  bool zigzag;
  Index n, round, place, answer;

  Index token() const { return round * n + place; }
};

struct TurnRule {
  const char* words;
  bool (*turned)(const DealCall&);
};

// The right one first.
constexpr TurnRule kTurnRules[] = {
    {"if their number is odd", [](const DealCall& c) { return c.round % 2 == 1; }},
    {"if their number is odd and the number of ranks is even",
     [](const DealCall& c) { return c.round % 2 == 1 && c.n % 2 == 0; }},
    {"if their number is odd and the number of ranks is odd",
     [](const DealCall& c) { return c.round % 2 == 1 && c.n % 2 == 1; }},
    {"if their number is 1: only the second one", [](const DealCall& c) { return c.round == 1; }},
    {"if their number is above 0: all but the first one", [](const DealCall& c) { return c.round > 0; }},
    {"in pairs, the third and fourth of every four", [](const DealCall& c) { return c.round / 2 % 2 == 1; }},
    {"every third time", [](const DealCall& c) { return c.round % 3 == 1; }},
    {"every fourth time, the second of four", [](const DealCall& c) { return c.round % 4 == 1; }},
    {"every fourth time, the fourth of four", [](const DealCall& c) { return c.round % 4 == 3; }},
    {"where the position in the sequence is odd", [](const DealCall& c) { return c.token() % 2 == 1; }},
    {"where the position in the sequence is even", [](const DealCall& c) { return c.token() % 2 == 0; }},
    {"where the rank or seat is odd", [](const DealCall& c) { return c.place % 2 == 1; }},
    {"where the rank or seat is even", [](const DealCall& c) { return c.place % 2 == 0; }},
    {"where the sum of round and rank (or seat) is odd",
     [](const DealCall& c) { return (c.round + c.place) % 2 == 1; }},
    {"if the number of ranks is odd", [](const DealCall& c) { return c.n % 2 == 1; }},
    {"if the number of ranks is even", [](const DealCall& c) { return c.n % 2 == 0; }},
    {"if round mod N is odd", [](const DealCall& c) { return c.round % c.n % 2 == 1; }},
    {"if round * N is odd", [](const DealCall& c) { return c.round * c.n % 2 == 1; }},
    {"where the position divided by N + 1 is odd",
     [](const DealCall& c) { return c.token() / (c.n + 1) % 2 == 1; }},
    {"where the position divided by N - 1 is odd",
     [](const DealCall& c) { return c.n > 1 && c.token() / (c.n - 1) % 2 == 1; }},
    {"where the position + 1, divided by N, is odd",
     [](const DealCall& c) { return (c.token() + 1) / c.n % 2 == 1; }},
    {"where the position - 1, divided by N, is odd",
     [](const DealCall& c) { return (c.token() - 1) / c.n % 2 == 1; }},
    {"where the position mod 2N is above N", [](const DealCall& c) { return c.token() % (2 * c.n) > c.n; }},
    {"where the position mod (2N - 2) is N or more",
     [](const DealCall& c) { return c.n > 1 && c.token() % (2 * c.n - 2) >= c.n; }},
    {"where the position divided by 4 is odd", [](const DealCall& c) { return c.token() / 4 % 2 == 1; }},
    {"where the position divided by 2 is odd", [](const DealCall& c) { return c.token() / 2 % 2 == 1; }},
    {"if their number mod N is N - 1", [](const DealCall& c) { return c.round % c.n == c.n - 1; }}};

// The quantity that a formula contains instead of the rank (or the seat).
struct PlaceWord {
  const char* words;  // nullptr: the right quantity
  Index (*at)(const DealCall&);
};

constexpr PlaceWord kPlaces[] = {
    {nullptr, [](const DealCall& c) { return c.place; }},
    {"((N - #) mod N)", [](const DealCall& c) { return (c.n - c.place) % c.n; }},
    {"((-1 - #) % N, which is not positive in C++)", [](const DealCall& c) { return (-1 - c.place) % c.n; }},
    {"((# + 1) mod N)", [](const DealCall& c) { return (c.place + 1) % c.n; }},
    {"((# - 1) mod N)", [](const DealCall& c) { return (c.place + c.n - 1) % c.n; }},
    {"((# + round) mod N)", [](const DealCall& c) { return (c.place + c.round) % c.n; }},
    {"((# - round) mod N)", [](const DealCall& c) { return ((c.place - c.round) % c.n + c.n) % c.n; }},
    {"(# xor 1)", [](const DealCall& c) { return c.place ^ 1; }},
    {"((# + N / 2) mod N)", [](const DealCall& c) { return (c.place + c.n / 2) % c.n; }},
    {"(position mod 4)", [](const DealCall& c) { return c.token() % 4; }},
    {"(position / 4 mod N)", [](const DealCall& c) { return c.token() / 4 % c.n; }},
    {"(position / 2 mod N)", [](const DealCall& c) { return c.token() / 2 % c.n; }},
    {"(round mod N)", [](const DealCall& c) { return c.round % c.n; }},
    {"(position mod 2N)", [](const DealCall& c) { return c.token() % (2 * c.n); }},
    {"(position mod (2N - 2))", [](const DealCall& c) { return c.n > 1 ? c.token() % (2 * c.n - 2) : 0; }},
    {"(position mod (N + 1))", [](const DealCall& c) { return c.token() % (c.n + 1); }},
    {"(position mod (N - 1))", [](const DealCall& c) { return c.n > 1 ? c.token() % (c.n - 1) : c.token(); }},
    {"(2 # mod N)", [](const DealCall& c) { return 2 * c.place % c.n; }}};

// Identifies the function.
struct DealKind {
  const char *id, *function, *place, *one, *is;
  bool owner;
};
constexpr DealKind kPositions{"position", "token_position", "r", "rank r", "sits at seat", false};
constexpr DealKind kOwners{"owner", "token_owner", "s", "the token at seat s", "goes to rank", true};

std::vector<Index> terms_of(const DealCall& c, const PlaceWord& place, bool owner) {
  std::vector<Index> terms{place.at(c), c.n, 1, c.round};
  if (!owner) terms.insert(terms.begin(), c.round * c.n);
  return terms;
}

// The formula of one part.
struct PartLaw {
  const PlaceWord* place;
  std::vector<Index> multiples;

  bool operator==(const PartLaw&) const = default;
};

PartLaw right_law(bool turned, bool owner) {
  std::vector<Index> multiples = turned ? std::vector<Index>{-1, 1, -1, 0} : std::vector<Index>{1, 0, 0, 0};
  if (!owner) multiples.insert(multiples.begin(), 1);
  return {kPlaces, std::move(multiples)};
}

Index value_of(const PartLaw& law, const DealCall& call, bool owner) {
  const std::vector<Index> terms = terms_of(call, *law.place, owner);
  Index sum = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) sum += law.multiples[i] * terms[i];
  return sum;
}

// A rule, and the formulas of the parts, numbered 2 * zigzag + reversed.
struct DealLaw {
  const TurnRule* rule;
  std::array<PartLaw, 4> parts;
};

std::size_t part_of(const TurnRule& rule, const DealCall& call) {
  return (call.zigzag ? 2U : 0U) + (rule.turned(call) ? 1U : 0U);
}

std::optional<PartLaw> law_of_part(const std::vector<DealCall>& calls, bool turned, bool owner) {
  const PartLaw right = right_law(turned, owner);
  if (std::ranges::all_of(calls, [&](const DealCall& c) { return value_of(right, c, owner) == c.answer; }))
    return right;
  for (const PlaceWord& place : kPlaces) {
    std::vector<FormulaSample> samples;
    for (const DealCall& c : calls) samples.push_back({terms_of(c, place, owner), c.answer});
    if (const auto multiples = whole_formula(samples)) return PartLaw{&place, *multiples};
  }
  return {};
}

std::optional<DealLaw> law_under(const TurnRule& rule, const std::vector<DealCall>& calls, bool owner) {
  std::array<std::vector<DealCall>, 4> parts;
  for (const DealCall& call : calls) parts[part_of(rule, call)].push_back(call);
  DealLaw law{&rule, {}};
  for (const std::size_t part : {0U, 1U, 2U, 3U}) {
    const auto found = law_of_part(parts[part], part == 3, owner);
    if (!found) return {};
    law.parts[part] = *found;
  }
  return law;
}

// Distance of a law from the right one: number of wrong parts, plus a wrong rule.
int wrongness(const DealLaw& law, bool owner) {
  int wrong = law.rule == kTurnRules ? 0 : 1;
  for (const std::size_t part : {0U, 1U, 2U, 3U})
    wrong += law.parts[part] == right_law(part == 3, owner) ? 0 : 1;
  return wrong;
}

std::optional<DealLaw> law_of(const std::vector<DealCall>& calls, bool owner) {
  std::optional<DealLaw> best;
  for (const TurnRule& rule : kTurnRules)
    if (auto law = law_under(rule, calls, owner);
        law && (!best || wrongness(*law, owner) < wrongness(*best, owner)))
      best = std::move(law);
  return best;
}

// ---- words

// A formula in words; for a position whose round begins correctly, only the seat.
std::string words_of(const PartLaw& law, const DealKind& kind, bool seat) {
  const std::string place = replaced(law.place->words == nullptr ? "#" : law.place->words, "#", kind.place);
  if (kind.owner) return formula_text({place, "N", "", "round"}, law.multiples);
  std::vector<Index> multiples = law.multiples;
  if (seat) multiples[0] = 0;
  return formula_text({"row * N", place, "N", "", "row"}, multiples);
}

// Describes the wrong parts under these formulas, besides a rule that may be wrong, too.
std::string told_parts(const DealLaw& law, const DealKind& kind) {
  const PartLaw straight = right_law(false, kind.owner), turned = right_law(true, kind.owner);
  const auto& part = law.parts;
  const auto are = [&](const PartLaw& a, const PartLaw& b, const PartLaw& c, const PartLaw& d) {
    return part == std::array{a, b, c, d};
  };
  if (are(straight, straight, straight, straight)) return "no round runs backwards";
  if (are(straight, turned, straight, turned)) return "striped rounds run backwards, too";
  if (are(straight, turned, straight, straight))
    return "the layouts are exchanged: rounds of the striped one run backwards, and those of the zig-zag do "
           "not";
  if (are(straight, straight, turned, straight)) return "even rounds run backwards instead of odd ones";
  if (are(straight, straight, turned, turned)) return "every round of the zig-zag runs backwards";
  if (are(turned, straight, turned, straight))
    return "even rounds run backwards instead of odd ones, and those of the striped layout, too";
  if (are(turned, turned, turned, turned)) return "every round runs backwards, in both layouts";
  std::string text;
  const auto tell = [&](const std::string& where, const PartLaw& is, const PartLaw& must) {
    if (is == must) return;
    const bool seat = kind.owner || (is.multiples[0] == 1 && is.multiples[4] == 0);
    text += (text.empty() ? "" : ", and ") + where + " " + kind.one + " " +
            (seat ? kind.is : "gets position") + " " + words_of(is, kind, seat) + " instead of " +
            words_of(must, kind, seat);
  };
  if (part[0] == part[1] && part[1] == part[2]) {
    tell("in straight rounds", part[0], straight);
  } else if (part[0] == part[1]) {
    tell("in the striped layout", part[0], straight);
    tell("in straight rounds of the zig-zag", part[2], straight);
  } else {
    tell("in even rounds of the striped layout", part[0], straight);
    tell("in odd rounds of the striped layout", part[1], straight);
    tell("in straight rounds of the zig-zag", part[2], straight);
  }
  tell("in turned rounds", part[3], turned);
  return text;
}

std::optional<Cause> cause_of_law(const DealLaw& law, const DealKind& kind) {
  if (wrongness(law, kind.owner) == 0) return {};
  std::string text = std::string(kind.function) + ": ";
  if (law.rule != kTurnRules)
    text += std::string("rounds run backwards ") + law.rule->words + ", instead of if their number is odd";
  const std::string parts = told_parts(law, kind);
  if (!parts.empty()) text += (law.rule != kTurnRules ? ", and " : "") + parts;
  return Cause{std::string("solved-") + kind.id, text,
               "Write down three rounds of a deal to three ranks: who sits where, and in which of them?"};
}

// The cause if the law gives the answers to calls too large for 32 bits only with truncation.
std::optional<Cause> cause_of_bits(const DealLaw& law, const DealKind& kind,
                                   const std::vector<DealCall>& far) {
  const auto give = [&](const std::function<Index(Index)>& of_input,
                        const std::function<Index(Index)>& of_result, bool negative_is_odd) {
    return std::ranges::all_of(far, [&](DealCall call) {
      if (kind.owner) {
        const Index token = of_input(call.token());
        call.round = token / call.n, call.place = token % call.n;
      } else {
        call.round = of_input(call.round);
      }
      DealCall turning = call;
      if (negative_is_odd) turning.round = std::abs(turning.round);
      return of_result(value_of(law.parts[part_of(*law.rule, turning)], call, kind.owner)) == call.answer;
    });
  };
  const auto as_is = [](Index number) { return number; };
  if (give(as_is, as_is, false)) return {};
  const auto cause = [&](const std::string& what) {
    return Cause{std::string("solved-") + kind.id + "-bits",
                 std::string(kind.function) + ": " + what + " is cut to 32 bits",
                 "What is the largest number in 32 bits, and how many tokens are there?"};
  };
  const char* const input = kind.owner ? "the position" : "the row";
  for (const bool odd : {false, true}) {
    if (give(in_int, as_is, odd) || give(in_unsigned, as_is, odd)) return cause(input);
    if (give(as_is, in_int, odd) || give(as_is, in_unsigned, odd)) return cause("row * N + seat");
    if (give(in_int, in_int, odd)) return cause("everything");
  }
  return {};
}

std::vector<Cause> causes_of_calls(const std::vector<DealCall>& calls, const DealKind& kind) {
  constexpr Index kFar = 1'000'000;
  std::vector<DealCall> near, far;
  for (const DealCall& call : calls) (call.round < kFar ? near : far).push_back(call);
  std::vector<Cause> causes;
  const auto law = near.empty() ? std::nullopt : law_of(near, kind.owner);
  if (!law) return causes;
  for (const auto& cause : {cause_of_law(*law, kind), cause_of_bits(*law, kind, far)})
    if (cause) causes.push_back(*cause);
  return causes;
}

}  // namespace

std::vector<Cause> causes_of(const DealExhibit& x) {
  std::vector<DealCall> placed, owned;
  for (const auto& [layout, n, rank, row, position] : x.placed)
    if (position) placed.push_back({layout == Layout::kZigzagToken, n, row, rank, *position});
  for (const auto& [layout, n, position, rank] : x.owned)
    if (rank) owned.push_back({layout == Layout::kZigzagToken, n, position / n, position % n, *rank});
  std::vector<Cause> causes = causes_of_calls(placed, kPositions);
  std::ranges::move(causes_of_calls(owned, kOwners), std::back_inserter(causes));
  return together(std::move(causes));
}

}  // namespace ringcraft::verify
