// Explains wrong heads of neighbours: each of the four numbers is one of the formulas below, for all shapes
// or for each kind of shape. A formula may use a number that was returned, so that a mistake is told once.
#include "verify/diagnose/functions/heads/head_laws.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <span>

namespace ringcraft::verify {
namespace {

// One answer, and the quantities of its question.
struct HeadCall {
  Index heads, kv_heads, degree, m;
  DealtHeads got;

  Index group() const { return heads / kv_heads; }
  Index share() const { return heads / degree; }
  Index kv_share() const { return kv_heads / degree; }
  bool replicated() const { return kv_heads < degree; }
};

struct HeadLaw {
  const char* words;
  Index (*at)(const HeadCall&);
};

Index at_least_one(Index count) { return std::max<Index>(1, count); }
Index ratio(Index a, Index b) { return b == 0 ? -1 : a / b; }
Index rest(Index a, Index b) { return b == 0 ? -1 : a % b; }
using Call = const HeadCall&;
// Of a positive number.
Index largest_power_of_two(Index number) {
  return static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(number)));
}
Index kv_head_after(Call c) { return ratio(c.got.query.first + c.got.query.count, c.group()); }

// The right one first, in each list; of the first KV head, the first two.
constexpr HeadLaw kFirstQuery[] = {
    {"m * (heads / degree)", [](Call c) { return c.m * c.share(); }},
    {"m, the number of the neighbour", [](Call c) { return c.m; }},
    {"m * degree", [](Call c) { return c.m * c.degree; }},
    {"m * group", [](Call c) { return c.m * c.group(); }},
    {"m * (kv_heads / degree)", [](Call c) { return c.m * c.kv_share(); }},
    {"m * max(1, kv_heads / degree)", [](Call c) { return c.m * at_least_one(c.kv_share()); }},
    {"m * kv_heads", [](Call c) { return c.m * c.kv_heads; }},
    {"(degree - 1 - m) * (heads / degree)", [](Call c) { return (c.degree - 1 - c.m) * c.share(); }},
    {"(m + 1) * (heads / degree)", [](Call c) { return (c.m + 1) * c.share(); }},
    {"(m + 1) mod degree * (heads / degree)", [](Call c) { return (c.m + 1) % c.degree * c.share(); }},
    {"m * (heads / degree) + 1", [](Call c) { return c.m * c.share() + 1; }},
    {"heads / degree", [](Call c) { return c.share(); }},
    {"m * (heads / kv_heads)", [](Call c) { return c.m * c.group(); }},
    {"m * heads", [](Call c) { return c.m * c.heads; }},
    {"0", [](Call) { return Index{0}; }},
    {"m times the number of query heads that it returns", [](Call c) { return c.m * c.got.query.count; }},
    {"m * (heads / degree) mod kv_heads", [](Call c) { return c.m * c.share() % c.kv_heads; }},
    {"m * (heads / degree), rounded down to a multiple of group",
     [](Call c) { return c.m * c.share() / c.group() * c.group(); }},
    {"group times the first KV head that it returns", [](Call c) { return c.group() * c.got.kv.first; }}};

constexpr HeadLaw kQueries[] = {
    {"heads / degree", [](Call c) { return c.share(); }},
    {"heads: all of them", [](Call c) { return c.heads; }},
    {"group", [](Call c) { return c.group(); }},
    {"degree", [](Call c) { return c.degree; }},
    {"kv_heads", [](Call c) { return c.kv_heads; }},
    {"kv_heads / degree", [](Call c) { return c.kv_share(); }},
    {"max(1, kv_heads / degree)", [](Call c) { return at_least_one(c.kv_share()); }},
    {"1", [](Call) { return Index{1}; }},
    {"one past the last head, (m + 1) * (heads / degree)", [](Call c) { return (c.m + 1) * c.share(); }},
    {"the last head, (m + 1) * (heads / degree) - 1", [](Call c) { return (c.m + 1) * c.share() - 1; }},
    {"heads / degree - 1", [](Call c) { return c.share() - 1; }},
    {"heads / degree + 1", [](Call c) { return c.share() + 1; }},
    {"the heads that are left, heads - m * (heads / degree)",
     [](Call c) { return c.heads - c.m * c.share(); }},
    {"group times the number of KV heads that it returns",
     [](Call c) { return c.group() * c.got.kv.count; }}};

constexpr HeadLaw kFirstKv[] = {
    {"the first query head / group", [](Call c) { return ratio(c.got.query.first, c.group()); }},
    {"m * (heads / degree) / group", [](Call c) { return c.m * c.share() / c.group(); }},
    {"0", [](Call) { return Index{0}; }},
    {"the first query head", [](Call c) { return c.got.query.first; }},
    {"the first query head * group", [](Call c) { return c.got.query.first * c.group(); }},
    {"the first query head mod kv_heads", [](Call c) { return rest(c.got.query.first, c.kv_heads); }},
    {"the first query head mod group", [](Call c) { return rest(c.got.query.first, c.group()); }},
    {"the first query head / degree", [](Call c) { return ratio(c.got.query.first, c.degree); }},
    {"the first query head / kv_heads", [](Call c) { return ratio(c.got.query.first, c.kv_heads); }},
    {"m * (kv_heads / degree)", [](Call c) { return c.m * c.kv_share(); }},
    {"m * max(1, kv_heads / degree)", [](Call c) { return c.m * at_least_one(c.kv_share()); }},
    {"m * max(1, kv_heads / degree) mod kv_heads",
     [](Call c) { return c.m * at_least_one(c.kv_share()) % c.kv_heads; }},
    {"m mod kv_heads", [](Call c) { return c.m % c.kv_heads; }},
    {"min(m, kv_heads - 1)", [](Call c) { return std::min(c.m, c.kv_heads - 1); }},
    {"min(m * max(1, kv_heads / degree), kv_heads - 1)",
     [](Call c) { return std::min(c.m * at_least_one(c.kv_share()), c.kv_heads - 1); }},
    {"m / kv_heads", [](Call c) { return c.m / c.kv_heads; }},
    {"m / group", [](Call c) { return c.m / c.group(); }},
    {"m, the number of the neighbour", [](Call c) { return c.m; }},
    {"m * group", [](Call c) { return c.m * c.group(); }},
    {"m * kv_heads", [](Call c) { return c.m * c.kv_heads; }},
    {"m times the number of KV heads that it returns", [](Call c) { return c.m * c.got.kv.count; }},
    {"m times the number of KV heads that it returns, mod kv_heads",
     [](Call c) { return c.m * c.got.kv.count % c.kv_heads; }},
    {"the last query head / group",
     [](Call c) { return ratio(c.got.query.first + c.got.query.count - 1, c.group()); }},
    {"one past the last query head / group",
     [](Call c) { return ratio(c.got.query.first + c.got.query.count, c.group()); }},
    {"the first query head / group, rounded up",
     [](Call c) { return ratio(c.got.query.first + c.group() - 1, c.group()); }},
    {"the first query head / group + 1", [](Call c) { return ratio(c.got.query.first, c.group()) + 1; }},
    {"the first query head / the largest power of two in group, as a shift has it",
     [](Call c) { return ratio(c.got.query.first, largest_power_of_two(c.group())); }},
    {"(degree - 1 - m) * max(1, kv_heads / degree)",
     [](Call c) { return (c.degree - 1 - c.m) * at_least_one(c.kv_share()); }}};

constexpr HeadLaw kKv[] = {
    {"max(1, kv_heads / degree)", [](Call c) { return at_least_one(c.kv_share()); }},
    {"kv_heads / degree", [](Call c) { return c.kv_share(); }},
    {"kv_heads: all of them", [](Call c) { return c.kv_heads; }},
    {"1", [](Call) { return Index{1}; }},
    {"the number of query heads", [](Call c) { return c.got.query.count; }},
    {"the number of query heads / group", [](Call c) { return ratio(c.got.query.count, c.group()); }},
    {"the number of query heads / group, rounded up",
     [](Call c) { return ratio(c.got.query.count + c.group() - 1, c.group()); }},
    {"the number of query heads / group + 1", [](Call c) { return ratio(c.got.query.count, c.group()) + 1; }},
    {"heads / degree", [](Call c) { return c.share(); }},
    {"group", [](Call c) { return c.group(); }},
    {"degree", [](Call c) { return c.degree; }},
    {"degree / kv_heads", [](Call c) { return c.degree / c.kv_heads; }},
    {"max(1, degree / kv_heads)", [](Call c) { return at_least_one(c.degree / c.kv_heads); }},
    {"kv_heads / degree, rounded up, and one more", [](Call c) { return at_least_one(c.kv_share()) + 1; }},
    {"one past the last KV head", [](Call c) { return c.got.kv.first + at_least_one(c.kv_share()); }},
    {"the last KV head", [](Call c) { return c.got.kv.first + at_least_one(c.kv_share()) - 1; }},
    {"the KV head of the query head after the last one, less the first KV head, plus 1",
     [](Call c) { return kv_head_after(c) - c.got.kv.first + 1; }},
    {"the KV head of the query head after the last one, less the first KV head",
     [](Call c) { return kv_head_after(c) - c.got.kv.first; }},
    {"the KV head of the last query head, less the first KV head",
     [](Call c) { return ratio(c.got.query.first + c.got.query.count - 1, c.group()) - c.got.kv.first; }},
    {"min(kv_heads, heads / degree)", [](Call c) { return std::min(c.kv_heads, c.share()); }},
    {"0", [](Call) { return Index{0}; }}};

// One of the four numbers.
struct HeadNumber {
  const char* name;
  HeadRange DealtHeads::*range;
  Index HeadRange::*field;
  std::span<const HeadLaw> laws;
  std::size_t right = 1;  // so many of them are right

  bool is_right(const HeadLaw* law) const { return law < laws.data() + right; }
  bool follows(const HeadLaw& law, const std::vector<HeadCall>& calls) const {
    return std::ranges::all_of(calls, [&](Call c) { return law.at(c) == c.got.*range.*field; });
  }
  const HeadLaw* law(const std::vector<HeadCall>& calls) const {
    const auto found = std::ranges::find_if(laws, [&](const HeadLaw& each) { return follows(each, calls); });
    return found == laws.end() ? nullptr : &*found;
  }
};

const HeadNumber kNumbers[] = {
    {"the first query head", &DealtHeads::query, &HeadRange::first, kFirstQuery},
    {"the number of query heads", &DealtHeads::query, &HeadRange::count, kQueries},
    {"the first KV head", &DealtHeads::kv, &HeadRange::first, kFirstKv, 2},
    {"the number of KV heads", &DealtHeads::kv, &HeadRange::count, kKv},
};

// Which shapes: all, or those of one kind.
struct HeadPart {
  const char* where;
  bool (*has)(Call);
};

// "the first KV head is m instead of ..."; empty if it is right, nothing if no law gives it.
std::optional<std::string> told(const HeadNumber& number, const std::vector<HeadCall>& calls) {
  const auto is = [&](const HeadLaw& law) {
    return std::string(number.name) + " is " + law.words + " instead of " + number.laws[0].words;
  };
  if (const HeadLaw* law = number.law(calls)) return number.is_right(law) ? "" : is(*law);
  constexpr HeadPart kSplits[][2] = {
      {{"with fewer KV heads than neighbours", [](Call c) { return c.replicated(); }},
       {"with at least as many KV heads as neighbours", [](Call c) { return !c.replicated(); }}},
      {{"with grouped heads", [](Call c) { return c.group() > 1; }},
       {"with as many KV heads as query heads", [](Call c) { return c.group() == 1; }}},
      {{"for an odd neighbour", [](Call c) { return c.m % 2 == 1; }},
       {"for an even neighbour", [](Call c) { return c.m % 2 == 0; }}},
      {{"for the last neighbour", [](Call c) { return c.m == c.degree - 1; }},
       {"for all but the last neighbour", [](Call c) { return c.m < c.degree - 1; }}}};
  for (const auto& split : kSplits) {
    std::string text;
    bool solved = true;
    for (const HeadPart& part : split) {
      std::vector<HeadCall> some;
      std::ranges::copy_if(calls, std::back_inserter(some), part.has);
      const HeadLaw* law = number.law(some);
      solved = solved && law != nullptr && some.size() > 4;
      if (solved && !number.is_right(law))
        text += (text.empty() ? "" : ", and ") + std::string(part.where) + " " + is(*law);
    }
    if (solved) return text;
  }
  return {};
}

}  // namespace

std::vector<Cause> causes_of_heads(const std::vector<HeadDealExhibit::Heads>& asked) {
  std::vector<HeadCall> calls;
  for (const auto& [shape, degree, member, dealt] : asked)
    if (dealt) calls.push_back({shape.heads, shape.kv_heads, degree, member, *dealt});
  if (calls.size() < 20) return {};
  std::string text;
  for (const HeadNumber& number : kNumbers)
    if (const auto words = told(number, calls); words && !words->empty())
      text += (text.empty() ? "dealt_heads: " : "; ") + *words;
  if (text.empty()) return {};
  return {{"solved-dealt-heads", text,
           "Write down eight query heads and two KV heads for four neighbours: who has which, and which are "
           "shared?"}};
}

std::vector<Cause> causes_of(const HeadDealExhibit& x) {
  std::vector<Cause> causes = causes_of_heads(x.heads);
  std::ranges::move(causes_of_rows(x), std::back_inserter(causes));
  return together(std::move(causes));
}

}  // namespace ringcraft::verify
