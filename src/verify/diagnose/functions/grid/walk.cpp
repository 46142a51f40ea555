// Explains a wrong walk: node and place of every member of a step as sums of the rank's own, the turn, the
// step in it and 1, and the steps in which a neighbour is set.
#include <algorithm>
#include <array>

#include "verify/diagnose/functions/grid/grid.hpp"
#include "verify/diagnose/functions/grid/walk_laws.hpp"

namespace ringcraft::verify {
namespace {

struct WalkMember {
  const char* name;
  int WalkStep::*value;
  WalkRank rank;
  std::size_t when;  // of walk_whens()
};
constexpr WalkSum kOwn{1, 0, 0, 0}, kOn{1, 0, 0, 1}, kBack{1, 0, 0, -1};
const std::array<WalkMember, 5> kMembers{{{"source", &WalkStep::source, {{1, -1, 0, 0}, {1, 0, -1, 0}}, 2},
                                          {"inner_to", &WalkStep::inner_to, {kOwn, kOn}, 0},
                                          {"inner_from", &WalkStep::inner_from, {kOwn, kBack}, 0},
                                          {"outer_to", &WalkStep::outer_to, {kOn, kOwn}, 1},
                                          {"outer_from", &WalkStep::outer_from, {kBack, kOwn}, 1}}};

const WalkWhen& right_when(const WalkMember& member) { return walk_whens()[member.when]; }

struct WalkAnswer {
  WalkPlace step;
  WalkStep is;
};

bool gives(const std::vector<WalkAnswer>& answers, const WalkMember& member, const WalkRank& rank,
           const WalkWhen& when) {
  return std::ranges::all_of(answers, [&](const WalkAnswer& a) {
    return a.is.*member.value == (when.holds(a.step) ? rank.at(a.step) : -1);
  });
}

// A remainder of C++ and no remainder at all are the same below zero.
WalkRank with_words(const std::vector<WalkAnswer>& answers, const WalkMember& member, WalkRank law,
                    const WalkWhen& when) {
  WalkRank plain = law;
  plain.wrap = WalkWrap::kNone;
  if (law.wrap == WalkWrap::kSigned && gives(answers, member, plain, when)) {
    plain.wrapped = ", which are not wrapped below 0";
    return plain;
  }
  return law;
}

// The words for a wrong member, none for a right one, or nothing.
std::optional<std::string> told(const std::vector<WalkAnswer>& answers, const WalkMember& member) {
  if (gives(answers, member, member.rank, right_when(member))) return "";
  for (const WalkWhen& when : walk_whens())
    if (gives(answers, member, member.rank, when))
      return std::string(" set ") + when.words + " instead of " + right_when(member).words;
  const auto other = [&](const WalkWhen& when) -> std::optional<WalkRank> {
    for (const WalkRank& law : walk_ranks())
      if (gives(answers, member, law, when)) return with_words(answers, member, law, when);
    return {};
  };
  if (const auto law = other(right_when(member)))
    return " " + text_of(*law) + " instead of " + text_of(member.rank);
  for (const WalkWhen& when : walk_whens())
    if (const auto law = other(when))
      return " " + text_of(*law) + ", " + when.words + ", instead of " + text_of(member.rank) + ", " +
             right_when(member).words;
  return {};
}

std::vector<Cause> cause_of_walk(const std::string& text) {
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
      return cause_of_walk(std::string("a walk has ") + words + " steps instead of N = G * M");
  return {};
}

// Both neighbours of a level exchanged: the one that is sent to, and the one that is received from.
std::string exchanged(const std::vector<WalkAnswer>& answers) {
  std::string text;
  for (const std::size_t to : {1U, 3U}) {
    WalkMember on = kMembers[to], back = kMembers[to + 1];
    std::swap(on.value, back.value);
    if (gives(answers, on, on.rank, right_when(on)) && gives(answers, back, back.rank, right_when(back)))
      text += (text.empty() ? "" : ", and ") + std::string(kMembers[to].name) + " and " +
              kMembers[to + 1].name + " are exchanged";
  }
  return text;
}

std::vector<Cause> causes_in_order(std::vector<WalkAnswer> answers, bool nodes_first) {
  for (WalkAnswer& a : answers) a.step.nodes_first = nodes_first;
  std::string text;
  const std::string traded = exchanged(answers);
  std::vector<std::pair<std::string, std::string>> wrong;  // members, and what they are
  for (const WalkMember& member : kMembers) {
    if (traded.find(std::string(member.name) + " ") != std::string::npos) continue;
    const auto one = told(answers, member);
    if (!one) return {};
    if (one->empty()) continue;
    if (!wrong.empty() && wrong.back().second == *one)
      wrong.back().first += std::string(" and ") + member.name + " are";
    else
      wrong.emplace_back(member.name, *one);
  }
  for (const auto& [members, are] : wrong)
    text += (text.empty() ? "" : "; ") + members + (members.ends_with(" are") ? "" : " is") + are;
  if (!traded.empty()) text = traded + (text.empty() ? "" : "; " + text);
  if (nodes_first) text = "step t is turn t mod G instead of t / M" + (text.empty() ? "" : "; there " + text);
  return text.empty() ? std::vector<Cause>{} : cause_of_walk(text);
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
  if (std::ranges::all_of(kMembers,
                          [&](const WalkMember& m) { return gives(answers, m, m.rank, right_when(m)); }))
    return {};
  if (auto causes = causes_in_order(answers, false); !causes.empty()) return causes;
  return causes_in_order(answers, true);
}

}  // namespace ringcraft::verify
