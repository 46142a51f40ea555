// Explains wrong groups of a grid: member i is a first rank and i times a distance, for so many i; all three
// are looked up among quantities that a student may take.
#include "verify/diagnose/functions/grid/grid.hpp"

#include <algorithm>

namespace ringcraft::verify {
namespace {

// One call, with N ranks, rows of D, R of them.
struct GroupCall {
  int n, d, rank;
  std::vector<int> row, column;

  int rows() const { return n / d; }
};

struct GroupWord {
  const char* words;
  int (*at)(const GroupCall&);
};

constexpr GroupWord kFirsts[] = {
    {"r / D * D", [](const GroupCall& c) { return c.rank / c.d * c.d; }},
    {"r mod D", [](const GroupCall& c) { return c.rank % c.d; }},
    {"0", [](const GroupCall&) { return 0; }},
    {"1", [](const GroupCall&) { return 1; }},
    {"r", [](const GroupCall& c) { return c.rank; }},
    {"r / D", [](const GroupCall& c) { return c.rank / c.d; }},
    {"r mod R", [](const GroupCall& c) { return c.rank % c.rows(); }},
    {"r / R * R", [](const GroupCall& c) { return c.rank / c.rows() * c.rows(); }},
    {"r / R", [](const GroupCall& c) { return c.rank / c.rows(); }},
    {"r / D * R", [](const GroupCall& c) { return c.rank / c.d * c.rows(); }},
    {"r mod D * R", [](const GroupCall& c) { return c.rank % c.d * c.rows(); }},
    {"r mod D * D", [](const GroupCall& c) { return c.rank % c.d * c.d; }},
    {"r mod R * D", [](const GroupCall& c) { return c.rank % c.rows() * c.d; }},
    {"r / D * D + 1", [](const GroupCall& c) { return c.rank / c.d * c.d + 1; }},
    {"r mod D + 1", [](const GroupCall& c) { return c.rank % c.d + 1; }},
    {"r mod D + D", [](const GroupCall& c) { return c.rank % c.d + c.d; }},
    {"r / R * D", [](const GroupCall& c) { return c.rank / c.rows() * c.d; }},
    {"r / 4 * D", [](const GroupCall& c) { return c.rank / 4 * c.d; }},
    {"r / 4 * 4", [](const GroupCall& c) { return c.rank / 4 * 4; }},
    {"r mod 4", [](const GroupCall& c) { return c.rank % 4; }},
    {"r - D", [](const GroupCall& c) { return c.rank - c.d; }},
    {"r - 1", [](const GroupCall& c) { return c.rank - 1; }}};

constexpr GroupWord kDistances[] = {{"i", [](const GroupCall&) { return 1; }},
                                    {"D * i", [](const GroupCall& c) { return c.d; }},
                                    {"R * i", [](const GroupCall& c) { return c.rows(); }},
                                    {"(D + 1) * i", [](const GroupCall& c) { return c.d + 1; }},
                                    {"(D - 1) * i", [](const GroupCall& c) { return c.d - 1; }},
                                    {"4 * i", [](const GroupCall&) { return 4; }},
                                    {"2 * i", [](const GroupCall&) { return 2; }},
                                    {"0 * i", [](const GroupCall&) { return 0; }}};

constexpr GroupWord kCounts[] = {{"D", [](const GroupCall& c) { return c.d; }},
                                 {"R", [](const GroupCall& c) { return c.rows(); }},
                                 {"N", [](const GroupCall& c) { return c.n; }},
                                 {"D - 1", [](const GroupCall& c) { return c.d - 1; }},
                                 {"R - 1", [](const GroupCall& c) { return c.rows() - 1; }},
                                 {"D + 1", [](const GroupCall& c) { return c.d + 1; }},
                                 {"R + 1", [](const GroupCall& c) { return c.rows() + 1; }},
                                 {"2", [](const GroupCall&) { return 2; }},
                                 {"4", [](const GroupCall&) { return 4; }}};

// A change to the members i = 0, 1, 2, ...
enum class Then : std::uint8_t { kAsTheyAre, kModN, kModD, kBackwards, kFromOwn, kWithoutOwn, kUpToN };
constexpr std::pair<Then, const char*> kThens[] = {{Then::kAsTheyAre, ""},
                                                   {Then::kModN, ", all modulo N"},
                                                   {Then::kModD, ", all modulo D"},
                                                   {Then::kBackwards, ", backwards"},
                                                   {Then::kFromOwn, ", turned so that r comes first"},
                                                   {Then::kWithoutOwn, ", without r itself"},
                                                   {Then::kUpToN, ", without those that are not below N"}};

struct GroupLaw {
  const GroupWord *first, *distance, *count;
  Then then;
  const char* words;

  bool operator==(const GroupLaw& other) const {
    return first == other.first && distance == other.distance && count == other.count && then == other.then;
  }
};

bool gives(const GroupLaw& law, const GroupCall& c, const std::vector<int>& group) {
  std::vector<int> members;
  for (int i = 0; i < law.count->at(c); ++i) members.push_back(law.first->at(c) + i * law.distance->at(c));
  const auto own = std::ranges::find(members, c.rank);
  switch (law.then) {
    case Then::kAsTheyAre:
      break;
    case Then::kModN:
      for (int& m : members) m = (m + c.n) % c.n;
      break;
    case Then::kModD:
      for (int& m : members) m %= c.d;
      break;
    case Then::kBackwards:
      std::ranges::reverse(members);
      break;
    case Then::kFromOwn:
      std::rotate(members.begin(), own, members.end());
      break;
    case Then::kWithoutOwn:
      std::erase(members, c.rank);
      break;
    case Then::kUpToN:
      std::erase_if(members, [&](int m) { return m >= c.n; });
      break;
  }
  return members == group;
}

std::optional<GroupLaw> law_of(const std::vector<GroupCall>& calls, std::vector<int> GroupCall::*group) {
  for (const auto& [then, words] : kThens)
    for (const GroupWord& count : kCounts)
      for (const GroupWord& distance : kDistances)
        for (const GroupWord& first : kFirsts) {
          const GroupLaw law{&first, &distance, &count, then, words};
          if (std::ranges::all_of(calls, [&](const GroupCall& c) { return gives(law, c, c.*group); }))
            return law;
        }
  return {};
}

std::string words_of(const GroupLaw& law) {
  const std::string first = law.first->words, distance = law.distance->words;
  return (first == "0" ? distance : first + " + " + distance) + " for i below " + law.count->words +
         law.words;
}

constexpr GroupLaw kRow{kFirsts, kDistances, kCounts, Then::kAsTheyAre, ""};
constexpr GroupLaw kColumn{kFirsts + 1, kDistances + 1, kCounts + 1, Then::kAsTheyAre, ""};

}  // namespace

std::vector<Cause> causes_of_groups(const GridExhibit& x) {
  std::vector<GroupCall> calls;
  for (const auto& [n, degree, rank, groups] : x.grouped)
    if (groups) calls.push_back({n, degree, rank, groups->row, groups->column});
  if (calls.empty()) return {};
  const auto right = [&](const GroupLaw& law, std::vector<int> GroupCall::*group) {
    return std::ranges::all_of(calls, [&](const GroupCall& c) { return gives(law, c, c.*group); });
  };
  const auto cause = [](const std::string& text) {
    return std::vector{Cause{"solved-groups", "grid_groups, with rows of D ranks, R of them: " + text,
                             "Write the ranks into rows: who is beside rank r, and who below it?"}};
  };
  if (right(kRow, &GroupCall::row) && right(kColumn, &GroupCall::column)) return {};
  if (right(kColumn, &GroupCall::row) && right(kRow, &GroupCall::column))
    return cause("row and column are exchanged");
  std::string text;
  const auto tell = [&](const char* name, const GroupLaw& must, std::vector<int> GroupCall::*group) {
    if (right(must, group)) return true;
    const auto law = law_of(calls, group);
    if (law)
      text += (text.empty() ? "" : ", and ") + std::string(name) + " is " + words_of(*law) + ", instead of " +
              words_of(must);
    return law.has_value();
  };
  const bool rows = tell("the row", kRow, &GroupCall::row),
             columns = tell("the column", kColumn, &GroupCall::column);
  return rows && columns ? cause(text) : std::vector<Cause>{};
}

std::vector<Cause> causes_of(const GridExhibit& x) {
  std::vector<Cause> causes = causes_of_groups(x);
  std::ranges::move(causes_of_walks(x), std::back_inserter(causes));
  return together(std::move(causes));
}

}  // namespace ringcraft::verify
