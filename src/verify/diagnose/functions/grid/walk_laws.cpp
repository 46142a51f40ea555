// Lists the laws of walks, and puts them into words.
#include "verify/diagnose/functions/grid/walk_laws.hpp"

#include <cstdlib>
#include <utility>

namespace ringcraft::verify {
namespace {

constexpr std::pair<WalkWrap, const char*> kWraps[] = {
    {WalkWrap::kBoth, ""},
    {WalkWrap::kSigned, ", with a remainder that may be negative"},
    {WalkWrap::kNone, ", neither of them wrapped"},
    {WalkWrap::kRanks, ", where only the rank itself is taken modulo N"},
    {WalkWrap::kPlaces, ", the number of a place and no rank"},
    {WalkWrap::kNodes, ", the number of a node and no rank"},
    {WalkWrap::kByte, ", cut to 8 bits"},
    {WalkWrap::kUnsigned, ", where a number below 0 only loses its sign"}};

constexpr WalkWhen kWhens[] = {
    {"in every step of a turn but the last", [](const WalkPlace& s) { return s.inner() + 1 < s.m; }},
    {"in the first step of every turn but the last",
     [](const WalkPlace& s) { return s.inner() == 0 && s.turn() + 1 < s.g(); }},
    {"in every step", [](const WalkPlace&) { return true; }},
    {"in no step", [](const WalkPlace&) { return false; }},
    {"in the first step of every turn", [](const WalkPlace& s) { return s.inner() == 0; }},
    {"in every step but the first of a turn", [](const WalkPlace& s) { return s.inner() > 0; }},
    {"in every step of every turn but the last", [](const WalkPlace& s) { return s.turn() + 1 < s.g(); }},
    {"in the last step of every turn", [](const WalkPlace& s) { return s.inner() + 1 == s.m; }},
    {"in the last step of every turn but the last",
     [](const WalkPlace& s) { return s.inner() + 1 == s.m && s.turn() + 1 < s.g(); }},
    {"in every step but the last of all", [](const WalkPlace& s) { return s.t + 1 < s.n; }},
    {"in every step but the last of a turn, and not in the last turn",
     [](const WalkPlace& s) { return s.inner() + 1 < s.m && s.turn() + 1 < s.g(); }},
    {"in the first step of every turn but the first",
     [](const WalkPlace& s) { return s.inner() == 0 && s.turn() > 0; }},
    {"in the first step of every turn, if there are several nodes",
     [](const WalkPlace& s) { return s.inner() == 0 && s.g() > 1; }},
    {"in the first step of all", [](const WalkPlace& s) { return s.t == 0; }},
    {"in the first step of all, if there are several nodes",
     [](const WalkPlace& s) { return s.t == 0 && s.g() > 1; }},
    {"in the first turn", [](const WalkPlace& s) { return s.turn() == 0; }},
    {"in every step but the last, in the first turn alone",
     [](const WalkPlace& s) { return s.turn() == 0 && s.inner() + 1 < s.m; }},
    {"in every step of a turn but the last two", [](const WalkPlace& s) { return s.inner() + 2 < s.m; }},
    {"in the first step of every turn but the last two",
     [](const WalkPlace& s) { return s.inner() == 0 && s.turn() + 2 < s.g(); }},
    {"in every step of a node of several ranks", [](const WalkPlace& s) { return s.m > 1; }},
    {"in every step, if there are several nodes", [](const WalkPlace& s) { return s.g() > 1; }},
    {"in every step, if there are several ranks", [](const WalkPlace& s) { return s.n > 1; }},
    {"in every step of a turn but the last, and not in the last of several turns",
     [](const WalkPlace& s) { return s.inner() + 1 < s.m && (s.turn() + 1 < s.g() || s.g() == 1); }},
    {"in the last turn", [](const WalkPlace& s) { return s.turn() + 1 == s.g(); }},
    {"in the steps of every turn but the first", [](const WalkPlace& s) { return s.turn() > 0; }}};

std::string text_of(const WalkSum& sum, const char* own, const char* modulus) {
  std::string text = sum.own != 0 ? own : "";
  const auto add = [&](int times, const char* word) {
    if (times != 0)
      text += (times < 0 ? (text.empty() ? "-" : " - ") : (text.empty() ? "" : " + ")) + std::string(word);
  };
  add(sum.turn, "turn"), add(sum.inner, "inner"), add(sum.one, "1");
  if (text.empty()) text = "0";
  const bool bare = text == own || text == "0" || *modulus == '\0';
  return bare ? text : "(" + text + ") mod " + modulus;
}

}  // namespace

int WalkRank::at(const WalkPlace& s) const {
  const int g = s.g(), m = s.m;
  const int k = node.at(dealt ? s.rank % g : s.rank / m, s), p = place.at(dealt ? s.rank / g : s.rank % m, s);
  const auto mod = [](int a, int b) { return (a % b + b) % b; };
  const auto rank = [&](int a, int b) { return dealt ? b * g + a : a * m + b; };
  switch (wrap) {
    case WalkWrap::kBoth:
      return rank(mod(k, g), mod(p, m));
    case WalkWrap::kSigned:
      return rank(k % g, p % m);
    case WalkWrap::kNone:
      return rank(k, p);
    case WalkWrap::kRanks:
      return mod(rank(k, p), s.n);
    case WalkWrap::kPlaces:
      return mod(p, m);
    case WalkWrap::kNodes:
      return mod(k, g);
    case WalkWrap::kUnsigned:
      return rank(std::abs(k) % g, std::abs(p) % m);
    case WalkWrap::kByte:
      return static_cast<signed char>(rank(mod(k, g), mod(p, m)));
  }
  return 0;
}

const std::vector<WalkRank>& walk_ranks() {
  static const std::vector<WalkRank> laws = [] {
    std::vector<WalkSum> sums;
    for (const int own : {1, 0})
      for (const int turn : {0, -1, 1})
        for (const int inner : {0, -1, 1})
          for (const int one : {0, 1, -1}) sums.push_back({own, turn, inner, one});
    std::vector<WalkRank> all;
    for (const bool dealt : {false, true})
      for (const auto& [wrap, words] : kWraps)
        for (const WalkSum& node : sums)
          for (const WalkSum& place : sums) all.push_back({node, place, wrap, words, dealt});
    return all;
  }();
  return laws;
}

std::string text_of(const WalkRank& law) {
  const bool wraps = law.wrap != WalkWrap::kNone && law.wrap != WalkWrap::kRanks;
  const std::string node = "node " + text_of(law.node, "k", wraps ? "G" : ""),
                    place = "place " + text_of(law.place, "p", wraps ? "M" : "");
  const bool one = law.wrap == WalkWrap::kPlaces || law.wrap == WalkWrap::kNodes;
  return (law.wrap == WalkWrap::kPlaces ? place
          : one                         ? node
                                        : node + ", " + place) +
         law.wrapped + (law.dealt ? ", where k = r mod G and p = r / G" : "");
}

std::span<const WalkWhen> walk_whens() { return kWhens; }

}  // namespace ringcraft::verify
