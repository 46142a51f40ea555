// Explains a wrong walk: node and place of every member of a step as sums of the rank's own, the turn, the
// step in it and 1, and the steps in which a neighbour is set.
#include <algorithm>
#include <array>

#include "verify/diagnose/functions/grid/grid.hpp"

namespace ringcraft::verify {
namespace {

// One step of one walk: N ranks, G nodes of M; rank r is place p of node k.
struct Step {
  int n, m, rank, t;
  bool nodes_first;  // turns are counted in the other way: one step on is one node on

  int g() const { return n / m; }
  int turn() const { return nodes_first ? t % g() : t / m; }
  int inner() const { return nodes_first ? t / g() : t % m; }
};

// ---- which rank

enum class Wrap : std::uint8_t { kBoth, kSigned, kNone, kRanks, kPlaces };
constexpr std::pair<Wrap, const char*> kWraps[] = {
    {Wrap::kBoth, ""},
    {Wrap::kSigned, ", with a remainder that may be negative"},
    {Wrap::kNone, ", neither of them wrapped"},
    {Wrap::kRanks, ", where only the rank itself is taken modulo N"},
    {Wrap::kPlaces, ", the number of a place and no rank"}};

// node (own k + turn * turn + inner * inner + one), place likewise; or place times G and node, if dealt.
struct Sum {
  int own, turn, inner, one;

  int at(int mine, const Step& s) const { return own * mine + turn * s.turn() + inner * s.inner() + one; }
  bool operator==(const Sum&) const = default;
};

struct RankLaw {
  Sum node, place;
  Wrap wrap = Wrap::kBoth;
  const char* wrapped = "";
  bool dealt = false;  // rank r is taken for place r / G of node r mod G

  int at(const Step& s) const {
    const int g = s.g(), m = s.m;
    const int k = node.at(dealt ? s.rank % g : s.rank / m, s),
              p = place.at(dealt ? s.rank / g : s.rank % m, s);
    const auto mod = [](int a, int b) { return (a % b + b) % b; };
    const auto rank = [&](int a, int b) { return dealt ? b * g + a : a * m + b; };
    switch (wrap) {
      case Wrap::kBoth:
        return rank(mod(k, g), mod(p, m));
      case Wrap::kSigned:
        return rank(k % g, p % m);
      case Wrap::kNone:
        return rank(k, p);
      case Wrap::kRanks:
        return mod(rank(k, p), s.n);
      case Wrap::kPlaces:
        return mod(p, m);
    }
    return 0;
  }
  bool operator==(const RankLaw& o) const {
    return node == o.node && place == o.place && wrap == o.wrap && dealt == o.dealt;
  }
};

// All laws, those with few terms first.
const std::vector<RankLaw>& rank_laws() {
  static const std::vector<RankLaw> laws = [] {
    std::vector<Sum> sums;
    for (const int own : {1, 0})
      for (const int turn : {0, -1, 1})
        for (const int inner : {0, -1, 1})
          for (const int one : {0, 1, -1}) sums.push_back({own, turn, inner, one});
    std::vector<RankLaw> all;
    for (const bool dealt : {false, true})
      for (const auto& [wrap, words] : kWraps)
        for (const Sum& node : sums)
          for (const Sum& place : sums) all.push_back({node, place, wrap, words, dealt});
    return all;
  }();
  return laws;
}

std::string text_of(const Sum& sum, const char* own, const char* modulus) {
  std::string text = sum.own != 0 ? own : "";
  const auto add = [&](int times, const char* word) {
    if (times != 0)
      text += (times < 0 ? (text.empty() ? "-" : " - ") : (text.empty() ? "" : " + ")) + std::string(word);
  };
  add(sum.turn, "turn"), add(sum.inner, "inner"), add(sum.one, "1");
  if (text.empty()) text = "0";
  const bool bare = text == own || text == "0";
  return bare || *modulus == '\0' ? text : text + " mod " + modulus;
}

std::string text_of(const RankLaw& law) {
  const bool wraps = law.wrap == Wrap::kBoth || law.wrap == Wrap::kSigned;
  const std::string node = "node " + text_of(law.node, "k", wraps ? "G" : ""),
                    place = "place " + text_of(law.place, "p", wraps ? "M" : "");
  return (law.wrap == Wrap::kPlaces ? "place " + text_of(law.place, "p", "M") : node + ", " + place) +
         law.wrapped + (law.dealt ? ", where k = r mod G and p = r / G" : "");
}

// ---- in which steps

struct When {
  const char* words;
  bool (*holds)(const Step&);
};
constexpr When kWhens[] = {
    {"in every step of a turn but the last", [](const Step& s) { return s.inner() + 1 < s.m; }},
    {"in the first step of every turn but the last",
     [](const Step& s) { return s.inner() == 0 && s.turn() + 1 < s.g(); }},
    {"in every step", [](const Step&) { return true; }},
    {"in no step", [](const Step&) { return false; }},
    {"in the first step of every turn", [](const Step& s) { return s.inner() == 0; }},
    {"in every step but the first of a turn", [](const Step& s) { return s.inner() > 0; }},
    {"in every step of every turn but the last", [](const Step& s) { return s.turn() + 1 < s.g(); }},
    {"in the last step of every turn", [](const Step& s) { return s.inner() + 1 == s.m; }},
    {"in the last step of every turn but the last",
     [](const Step& s) { return s.inner() + 1 == s.m && s.turn() + 1 < s.g(); }},
    {"in every step but the last of all", [](const Step& s) { return s.t + 1 < s.n; }},
    {"in every step but the last of a turn, and not in the last turn",
     [](const Step& s) { return s.inner() + 1 < s.m && s.turn() + 1 < s.g(); }},
    {"in the first step of every turn but the first",
     [](const Step& s) { return s.inner() == 0 && s.turn() > 0; }},
    {"in the first step of every turn, if there are several nodes",
     [](const Step& s) { return s.inner() == 0 && s.g() > 1; }},
    {"in the first step of all", [](const Step& s) { return s.t == 0; }},
    {"in the first step of all, if there are several nodes",
     [](const Step& s) { return s.t == 0 && s.g() > 1; }},
    {"in the first turn", [](const Step& s) { return s.turn() == 0; }},
    {"in every step but the last, in the first turn alone",
     [](const Step& s) { return s.turn() == 0 && s.inner() + 1 < s.m; }},
    {"in every step of a turn but the last two", [](const Step& s) { return s.inner() + 2 < s.m; }},
    {"in the first step of every turn but the last two",
     [](const Step& s) { return s.inner() == 0 && s.turn() + 2 < s.g(); }},
    {"in every step of a node of several ranks", [](const Step& s) { return s.m > 1; }},
    {"in every step, if there are several nodes", [](const Step& s) { return s.g() > 1; }},
    {"in every step, if there are several ranks", [](const Step& s) { return s.n > 1; }},
    {"in the last turn", [](const Step& s) { return s.turn() + 1 == s.g(); }},
    {"in the steps of every turn but the first", [](const Step& s) { return s.turn() > 0; }}};
constexpr const When *kInnerWhen = kWhens, *kOuterWhen = kWhens + 1, *kAlways = kWhens + 2;

// ---- members

struct Member {
  const char* name;
  int WalkStep::*value;
  RankLaw rank;
  const When* when;
};
constexpr Sum kOwn{1, 0, 0, 0}, kOn{1, 0, 0, 1}, kBack{1, 0, 0, -1};
const std::array<Member, 5> kMembers{{{"source", &WalkStep::source, {{1, -1, 0, 0}, {1, 0, -1, 0}}, kAlways},
                                      {"inner_to", &WalkStep::inner_to, {kOwn, kOn}, kInnerWhen},
                                      {"inner_from", &WalkStep::inner_from, {kOwn, kBack}, kInnerWhen},
                                      {"outer_to", &WalkStep::outer_to, {kOn, kOwn}, kOuterWhen},
                                      {"outer_from", &WalkStep::outer_from, {kBack, kOwn}, kOuterWhen}}};

struct WalkAnswer {
  Step step;
  WalkStep is;
};

bool gives(const std::vector<WalkAnswer>& answers, const Member& member, const RankLaw& rank,
           const When& when) {
  return std::ranges::all_of(answers, [&](const WalkAnswer& a) {
    return a.is.*member.value == (when.holds(a.step) ? rank.at(a.step) : -1);
  });
}

// What a member is, or nothing. A neighbour that is never set has no rank.
std::optional<std::string> told(const std::vector<WalkAnswer>& answers, const Member& member) {
  if (gives(answers, member, member.rank, *member.when)) return "";
  const std::string name = member.name;
  for (const When& when : kWhens)
    if (gives(answers, member, member.rank, when))
      return name + " is set " + when.words + " instead of " + member.when->words;
  const auto other = [&](const When& when) -> std::optional<RankLaw> {
    for (const RankLaw& law : rank_laws())
      if (gives(answers, member, law, when)) return law;
    return {};
  };
  if (const auto law = other(*member.when))
    return name + " is " + text_of(*law) + " instead of " + text_of(member.rank);
  for (const When& when : kWhens)
    if (const auto law = other(when))
      return name + " is " + text_of(*law) + ", " + when.words + ", instead of " + text_of(member.rank) +
             ", " + member.when->words;
  return {};
}

std::vector<Cause> cause(const std::string& text) {
  return {{"solved-walk",
           "two_level_walk, with G nodes of M ranks, where rank r is place p of node k: " + text,
           "Move the blocks of two nodes of three ranks by hand: who holds what, and who gets it next?"}};
}

std::vector<Cause> cause_of_length(const GridExhibit& x) {
  using Length = int (*)(int n, int m);
  constexpr std::pair<const char*, Length> kLengths[] = {
      {"N - 1", [](int n, int) { return n - 1; }},
      {"N + 1", [](int n, int) { return n + 1; }},
      {"M", [](int, int m) { return m; }},
      {"G", [](int n, int m) { return n / m; }},
      {"N - G", [](int n, int m) { return n - n / m; }},
      {"N - M", [](int n, int m) { return n - m; }},
      {"M + G", [](int n, int m) { return m + n / m; }},
      {"M + G - 1", [](int n, int m) { return m + n / m - 1; }},
      {"0", [](int, int) { return 0; }},
      {"2N", [](int n, int) { return 2 * n; }},
      {"N + G", [](int n, int m) { return n + n / m; }}};
  for (const auto& [words, length] : kLengths)
    if (std::ranges::all_of(x.walked, [&, &length = length](const GridExhibit::Walked& w) {
          return !w.steps || static_cast<int>(w.steps->size()) == length(w.world_size, w.node);
        }))
      return cause(std::string("a walk has ") + words + " steps instead of N = G * M");
  return {};
}

// Both neighbours of a level exchanged: the one that is sent to, and the one that is received from.
std::string exchanged(const std::vector<WalkAnswer>& answers) {
  std::string text;
  for (const std::size_t to : {1U, 3U}) {
    Member on = kMembers[to], back = kMembers[to + 1];
    std::swap(on.value, back.value);
    if (gives(answers, on, on.rank, *on.when) && gives(answers, back, back.rank, *back.when))
      text += (text.empty() ? "" : ", and ") + std::string(kMembers[to].name) + " and " +
              kMembers[to + 1].name + " are exchanged";
  }
  return text;
}

std::vector<Cause> causes_in_order(std::vector<WalkAnswer> answers, bool nodes_first) {
  for (WalkAnswer& a : answers) a.step.nodes_first = nodes_first;
  std::string text;
  const std::string traded = exchanged(answers);
  for (const Member& member : kMembers) {
    if (traded.find(std::string(member.name) + " ") != std::string::npos) continue;
    const auto one = told(answers, member);
    if (!one) return {};
    if (!one->empty()) text += (text.empty() ? "" : "; ") + *one;
  }
  if (!traded.empty()) text = traded + (text.empty() ? "" : "; " + text);
  if (nodes_first) text = "step t is turn t mod G instead of t / M" + (text.empty() ? "" : "; there " + text);
  return text.empty() ? std::vector<Cause>{} : cause(text);
}

}  // namespace

std::vector<Cause> causes_of_walks(const GridExhibit& x) {
  std::vector<WalkAnswer> answers;
  bool lengths = true;
  for (const auto& [n, node, rank, steps] : x.walked) {
    if (!steps) continue;
    lengths = lengths && static_cast<int>(steps->size()) == n;
    for (int t = 0; t < n && lengths; ++t)
      answers.push_back({{n, node, rank, t, false}, (*steps)[static_cast<std::size_t>(t)]});
  }
  if (!lengths) return cause_of_length(x);
  if (answers.empty()) return {};
  if (std::ranges::all_of(kMembers, [&](const Member& m) { return gives(answers, m, m.rank, *m.when); }))
    return {};
  if (auto causes = causes_in_order(answers, false); !causes.empty()) return causes;
  return causes_in_order(answers, true);
}

}  // namespace ringcraft::verify
