// The words of exchanges that share a step with a block that is computed; and for those that have no word a
// small grammar: which block of which slice comes, under which blocks.
#include <algorithm>

#include "verify/diagnose/functions/gather/gather_words.hpp"

namespace ringcraft::verify::gathers {
namespace {

// The exchanges that share steps with blocks: `comes` says which one, if any.
template <class Comes>
std::vector<GatherStep> shared(int n, int slices, Comes comes) {
  std::vector<GatherStep> steps;
  for (const GatheredBlock& block : blocks_of(0, n - 1, slices))
    if (const GatheredBlock exchanged = comes(block.slice, block.distance); exchanged.some())
      steps.push_back({exchanged, block});
  return steps;
}
constexpr GatheredBlock kNone{};

constexpr PartWord<GatherStep> kHidden[] = {
    {nullptr,
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s + 1 < all && d > 0 ? GatheredBlock{s + 1, d} : kNone;
       });
     }},
    {"while the block at distance d is computed, that at d + 1 of the next slice comes: a step too early, "
     "before any place is free",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s + 1 < all && d + 1 < n ? GatheredBlock{s + 1, d + 1} : kNone;
       });
     }},
    {"each block of the next slice comes a step too late, that at d - 1 while the one at d is computed: the "
     "last one under the own block of its slice, which is begun before it is whole",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         if (d == 0) return s > 0 && n > 1 ? GatheredBlock{s, n - 1} : kNone;
         return s + 1 < all && d > 1 ? GatheredBlock{s + 1, d - 1} : kNone;
       });
     }},
    {"the later slices come from distance 0 on: every rank has its own block",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) { return s + 1 < all ? GatheredBlock{s + 1, d} : kNone; });
     }},
    {"while the last slice is computed, one more comes, which there is not",
     [](int n, int all) {
       return shared(n, all, [](int s, int d) { return d > 0 ? GatheredBlock{s + 1, d} : kNone; });
     }},
    {"while the last slice is computed, one more comes, which there is not; and each comes a step too early",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) { return d + 1 < n ? GatheredBlock{s + 1, d + 1} : kNone; });
     }},
    {"every block of a slice hides one of the next, that at distance (d + 1) mod N: the own one as well",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s + 1 < all ? GatheredBlock{s + 1, (d + 1) % n} : kNone;
       });
     }},
    {"every block of a slice hides one of the next, up to distance N, which is the own block again",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) { return s + 1 < all ? GatheredBlock{s + 1, d + 1} : kNone; });
     }},
    {"no exchange shares its step with a block that is computed",
     [](int, int) { return std::vector<GatherStep>{}; }},
    {"blocks of the slice that is computed come, the next one under each, as in a ring",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) { return d + 1 < n ? GatheredBlock{s, d + 1} : kNone; });
     }},
    {"the later slices come while they are computed, the next block under each, as in a ring",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s > 0 && d + 1 < n ? GatheredBlock{s, d + 1} : kNone;
       });
     }},
    {"a block comes in the step that computes it",
     [](int n, int all) {
       return shared(n, all, [](int s, int d) { return d > 0 ? GatheredBlock{s, d} : kNone; });
     }},
    {"a block of the later slices comes in the step that computes it",
     [](int n, int all) {
       return shared(n, all, [](int s, int d) { return s > 0 && d > 0 ? GatheredBlock{s, d} : kNone; });
     }},
    {"the slice that is computed comes again, instead of the next one",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s + 1 < all && d > 0 ? GatheredBlock{s, d} : kNone;
       });
     }},
    {"slice 0 comes again and again, instead of the next one",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s + 1 < all && d > 0 ? GatheredBlock{0, d} : kNone;
       });
     }},
    {"the slice after the next one comes",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s + 2 < all && d > 0 ? GatheredBlock{s + 2, d} : kNone;
       });
     }},
    {"the last slice does not come",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s + 2 < all && d > 0 ? GatheredBlock{s + 1, d} : kNone;
       });
     }},
    {"of the later slices only the second one comes",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s == 0 && all > 1 && d > 0 ? GatheredBlock{1, d} : kNone;
       });
     }},
    {"the block at distance N - 1 of the later slices does not come",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s + 1 < all && d > 0 && d + 1 < n ? GatheredBlock{s + 1, d} : kNone;
       });
     }},
    {"the block at distance 1 of the later slices does not come",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s + 1 < all && d > 1 ? GatheredBlock{s + 1, d} : kNone;
       });
     }},
    {"the later slices come from distance 0 to N - 2",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s + 1 < all && d > 0 ? GatheredBlock{s + 1, d - 1} : kNone;
       });
     }},
    {"of the later slices the block at distance 1 comes every time", [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s + 1 < all && d > 0 ? GatheredBlock{s + 1, 1} : kNone;
       });
     }}};

// ---- the grammar

// A term of the block that comes, or the blocks under which one comes; the right ones first.
struct Term {
  const char* words;
  int (*at)(int s, int d, int n, int all);
};
constexpr Term kSlices[] = {{"s + 1", [](int s, int, int, int) { return s + 1; }},
                            {"(s + 1) mod slices", [](int s, int, int, int all) { return (s + 1) % all; }},
                            {"s", [](int s, int, int, int) { return s; }},
                            {"s + 2", [](int s, int, int, int) { return s + 2; }},
                            {"s - 1", [](int s, int, int, int) { return s - 1; }},
                            {"0", [](int, int, int, int) { return 0; }},
                            {"1", [](int, int, int, int) { return 1; }},
                            {"slices - 1", [](int, int, int, int all) { return all - 1; }},
                            {"slices - 1 - s", [](int s, int, int, int all) { return all - 1 - s; }}};
constexpr Term kDistances[] = {{"d", [](int, int d, int, int) { return d; }},
                               {"N - d", [](int, int d, int n, int) { return n - d; }},
                               {"d + 1", [](int, int d, int, int) { return d + 1; }},
                               {"N - 1 - d", [](int, int d, int n, int) { return n - 1 - d; }},
                               {"d - 1", [](int, int d, int, int) { return d - 1; }},
                               {"(d + 1) mod N", [](int, int d, int n, int) { return (d + 1) % n; }},
                               {"(d + 2) mod N", [](int, int d, int n, int) { return (d + 2) % n; }},
                               {"N - 1", [](int, int, int n, int) { return n - 1; }},
                               {"1", [](int, int, int, int) { return 1; }}};
constexpr std::size_t kRightDistances = 2;  // the order in which a slice comes is free
constexpr Term kUnderDistances[] = {
    {"d from 1 to N - 1", [](int, int d, int, int) { return int{d > 0}; }},
    {"d from 0 to N - 2", [](int, int d, int n, int) { return int{d + 1 < n}; }},
    {"every d", [](int, int, int, int) { return 1; }},
    {"d from 2 to N - 1", [](int, int d, int, int) { return int{d > 1}; }},
    {"d from 0 to N - 3", [](int, int d, int n, int) { return int{d + 2 < n}; }},
    {"d from 1 to N - 2", [](int, int d, int n, int) { return int{d > 0 && d + 1 < n}; }}};
constexpr Term kUnderSlices[] = {
    {"every s but the last", [](int s, int, int, int all) { return int{s + 1 < all}; }},
    {"every s", [](int, int, int, int) { return 1; }},
    {"every s but the last two", [](int s, int, int, int all) { return int{s + 2 < all}; }},
    {"s = 0", [](int s, int, int, int) { return int{s == 0}; }},
    {"s = 0, if it is not the last", [](int s, int, int, int all) { return int{s == 0 && all > 1}; }},
    {"every s but 0", [](int s, int, int, int) { return int{s > 0}; }},
    {"every s but 0 and the last", [](int s, int, int, int all) { return int{s > 0 && s + 1 < all}; }}};

struct HiddenLaw {
  const Term *slice, *distance, *under_distance, *under_slice;

  int wrong() const {
    return (slice != kSlices) + (distance >= kDistances + kRightDistances) +
           (under_distance != kUnderDistances) + (under_slice != kUnderSlices);
  }
  bool gives(const Hidden& world) const {
    return shared(world.ranks, world.slices, [&](int s, int d) {
             const auto at = [&](const Term* term) { return term->at(s, d, world.ranks, world.slices); };
             return at(under_distance) && at(under_slice) ? GatheredBlock{at(slice), at(distance)} : kNone;
           }) == *world.steps;
  }
  std::string told() const {
    return std::string("while the block at distance d of slice s is computed, the one at ") +
           distance->words + " of slice " + slice->words + " comes, for " + under_distance->words + " and " +
           under_slice->words + ", instead of the one at d of slice s + 1, for " + kUnderDistances[0].words +
           " and " + kUnderSlices[0].words;
  }
};

}  // namespace

std::span<const PartWord<GatherStep>> hidden_words() { return kHidden; }

std::string hidden_law_told(const std::vector<Hidden>& worlds) {
  for (int wrong = 1; wrong <= 4; ++wrong)
    for (const Term& under_slice : kUnderSlices)
      for (const Term& under_distance : kUnderDistances)
        for (const Term& slice : kSlices)
          for (const Term& distance : kDistances)
            if (const HiddenLaw law{&slice, &distance, &under_distance, &under_slice};
                law.wrong() == wrong &&
                std::ranges::all_of(worlds, [&](const Hidden& w) { return law.gives(w); }))
              return law.told();
  return "";
}

}  // namespace ringcraft::verify::gathers
