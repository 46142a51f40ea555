// Explains wrong schedules of an all-gather: takes them apart, and names each part that is not as promised by
// the word that gives it in every answer.
#include <algorithm>
#include <functional>
#include <tuple>

#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/functions/gather/gather_words.hpp"

namespace ringcraft::verify {
namespace {

using gathers::Alone;
using gathers::PartWord;

// The schedule of one world in its parts.
struct GatherParts {
  int ranks, slices;
  std::vector<GatheredBlock> computed = {};
  std::vector<Alone> alone = {};
  std::vector<GatherStep> hidden = {};
  bool idle = false;  // there are steps in which nothing happens

  GatherParts(int n, int all, const std::vector<GatherStep>& steps) : ranks(n), slices(all) {
    for (const GatherStep& step : steps) {
      if (step.exchanged.some() && step.computed.some()) hidden.push_back(step);
      if (step.exchanged.some() && !step.computed.some())
        alone.push_back({static_cast<int>(computed.size()), step.exchanged});
      if (step.computed.some()) computed.push_back(step.computed);
      idle = idle || (!step.exchanged.some() && !step.computed.some());
    }
  }
};

auto order_of(const GatheredBlock& block) { return std::tie(block.slice, block.distance); }

// The parts as they are compared: whatever the order of a slice's distances, if all of them come.
std::vector<Alone> in_free_order(std::vector<Alone> alone) {
  std::ranges::sort(alone, {},
                    [](const Alone& a) { return std::tuple(a.after, a.block.slice, a.block.distance); });
  return alone;
}
std::vector<GatherStep> in_free_order(std::vector<GatherStep> hidden) {
  const auto slice_of = [](const GatherStep& step) {
    return std::pair(step.computed.slice, step.exchanged.slice);
  };
  for (auto first = hidden.begin(); first != hidden.end();) {
    const auto last = std::find_if(first, hidden.end(),
                                   [&](const auto& step) { return slice_of(step) != slice_of(*first); });
    std::vector<GatheredBlock> blocks;
    for (auto step = first; step != last; ++step) blocks.push_back(step->exchanged);
    std::ranges::sort(blocks, {}, order_of);
    for (const GatheredBlock& block : blocks) (first++)->exchanged = block;
  }
  return hidden;
}

using Worlds = std::vector<GatherParts>;

// A part is right, or wrong in these words. They are empty if none give it.
struct PartTold {
  bool right;
  std::string words = {};
};

// The first word that gives a part in all worlds; exchanges alone may also come in another order.
template <class Entry>
PartTold told_by_words(const Worlds& all, std::vector<Entry> GatherParts::*part,
                       std::span<const PartWord<Entry>> words, bool in_any_order = false) {
  for (const PartWord<Entry>& word : words)
    if (std::ranges::all_of(all, [&](const GatherParts& parts) {
          const std::vector<Entry> want = word.part(parts.ranks, parts.slices);
          if constexpr (std::is_same_v<Entry, Alone>)
            if (in_any_order) return in_free_order(parts.*part) == in_free_order(want);
          if constexpr (!std::is_same_v<Entry, GatheredBlock>)
            if (word.words == nullptr) return in_free_order(parts.*part) == want;
          return parts.*part == want;
        }))
      return word.words == nullptr ? PartTold{true} : PartTold{false, word.words};
  return {false};
}

PartTold told_computed(const Worlds& all) {
  return told_by_words(all, &GatherParts::computed, gathers::computed_words());
}
PartTold told_alone(const Worlds& all) {
  const PartTold told = told_by_words(all, &GatherParts::alone, gathers::alone_words());
  return told.right || !told.words.empty()
             ? told
             : told_by_words(all, &GatherParts::alone, gathers::alone_words(), true);
}
PartTold told_hidden(const Worlds& all) {
  PartTold told = told_by_words(all, &GatherParts::hidden, gathers::hidden_words());
  if (told.right || !told.words.empty()) return told;
  std::vector<gathers::Hidden> worlds;
  for (const GatherParts& parts : all) worlds.push_back({parts.ranks, parts.slices, &parts.hidden});
  return {false, gathers::hidden_law_told(worlds)};
}

// The words for all worlds; or for those of one slice alone, if the part is right in all others, or for the
// others. Empty if the part is right, or if no words give it.
std::string words_of(const Worlds& all, PartTold (*told)(const Worlds&)) {
  const PartTold whole = told(all);
  if (whole.right || !whole.words.empty()) return whole.words;
  Worlds one, several;
  for (const GatherParts& parts : all) (parts.slices == 1 ? one : several).push_back(parts);
  if (one.size() < 3 || several.size() < 3) return "";
  const PartTold with_one = told(one), with_several = told(several);
  if (with_several.right && !with_one.words.empty()) return "with one slice " + with_one.words;
  if (with_one.right && !with_several.words.empty()) return "with several slices " + with_several.words;
  return "";
}

// Worlds to which no answer comes, if all others are answered.
struct GatherSilence {
  const char* words;
  bool (*holds)(int ranks, int slices);
};
constexpr GatherSilence kGatherSilences[] = {
    {"", [](int, int) { return true; }},
    {" for one rank", [](int n, int) { return n == 1; }},
    {" for more than one rank", [](int n, int) { return n > 1; }},
    {" for one slice", [](int, int slices) { return slices == 1; }},
    {" for more than one slice", [](int, int slices) { return slices > 1; }},
    {" for several slices on several ranks", [](int n, int slices) { return n > 1 && slices > 1; }}};

std::optional<Cause> cause_of_silence(const GatherExhibit& x) {
  if (std::ranges::all_of(x.asked, [](const auto& each) { return each.steps.has_value(); })) return {};
  for (const GatherSilence& silence : kGatherSilences)
    if (std::ranges::all_of(x.asked, [&](const auto& each) {
          return each.steps.has_value() != silence.holds(each.ranks, each.slices);
        }))
      return Cause{"solved-gather-none", std::string("gather_steps does not return") + silence.words,
                   "When does each of your loops end, on one rank, and for one slice?"};
  return {};
}

// The number of steps after which lists end: two worlds or more get just so many and need more, whose
// beginning these steps are, and no list is longer.
std::optional<std::size_t> room_for_steps(const GatherExhibit& x) {
  std::size_t longest = 0;
  for (const auto& asked : x.asked)
    if (asked.steps) longest = std::max(longest, asked.steps->size());
  int cut = 0;
  for (const auto& [ranks, slices, steps] : x.asked) {
    if (!steps || steps->size() < longest) continue;
    const std::vector<GatheredBlock> computed = GatherParts(ranks, slices, *steps).computed,
                                     needed = gathers::blocks_of(0, ranks - 1, slices);
    const bool first_ones = !computed.empty() && computed.size() < needed.size() &&
                            std::equal(computed.begin(), computed.end(), needed.begin());
    if (first_ones && computed.size() + static_cast<std::size_t>(ranks) - 1 == longest) ++cut;
  }
  return cut >= 2 ? std::optional(longest) : std::nullopt;
}

}  // namespace

std::vector<Cause> causes_of(const GatherExhibit& x) {
  std::vector<Cause> causes;
  if (const auto silence = cause_of_silence(x)) causes.push_back(*silence);
  const auto tell = [&](const char* id, const std::string& words, const char* question) {
    if (words.empty()) return;
    causes.push_back({id, words, question});
    causes.back().also = causes.size() > 1;
  };
  Worlds all;
  const std::optional<std::size_t> room = room_for_steps(x);
  for (const auto& [ranks, slices, steps] : x.asked)
    if (steps && !(room && steps->size() == *room)) all.emplace_back(ranks, slices, *steps);
  if (room)
    tell("solved-gather-room", "a list ends after " + std::to_string(*room) + " steps, however many it needs",
         "How many steps do 3 ranks and 3000 slices take?");
  if (all.empty()) return causes;
  tell("solved-gather-computed", words_of(all, told_computed),
       "Write down what is computed on 3 ranks with 2 slices: which block is missing, or comes in between?");
  tell("solved-gather-alone", words_of(all, told_alone),
       "Which exchanges can nothing hide, and what else has to wait for them?");
  tell("solved-gather-hidden", words_of(all, told_hidden),
       "Take 3 ranks and 2 slices: which block of the next slice comes while this one is computed, and into "
       "which place?");
  if (std::ranges::any_of(all, &GatherParts::idle))
    tell("solved-gather-idle", "there are steps that neither exchange nor compute anything",
         "What is the meaning of a step with two empty entries?");
  return causes;
}

}  // namespace ringcraft::verify
