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

// The words of a part: null if it is right, "" if no word gives it.
template <class Entry>
const char* words_of(const std::vector<GatherParts>& all, std::vector<Entry> GatherParts::*part,
                     std::span<const PartWord<Entry>> words) {
  for (const PartWord<Entry>& word : words)
    if (std::ranges::all_of(all, [&](const GatherParts& parts) {
          const std::vector<Entry> want = word.part(parts.ranks, parts.slices);
          if constexpr (!std::is_same_v<Entry, GatheredBlock>)
            if (word.words == nullptr) return in_free_order(parts.*part) == want;
          return parts.*part == want;
        }))
      return word.words;
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

}  // namespace

std::vector<Cause> causes_of(const GatherExhibit& x) {
  std::vector<Cause> causes;
  if (const auto silence = cause_of_silence(x)) causes.push_back(*silence);
  std::vector<GatherParts> all;
  for (const auto& [ranks, slices, steps] : x.asked)
    if (steps) all.emplace_back(ranks, slices, *steps);
  if (all.empty()) return causes;
  const auto tell = [&](const char* id, const char* words, const char* question) {
    if (words == nullptr || *words == '\0') return;
    causes.push_back({id, words, question});
    causes.back().also = causes.size() > 1;
  };
  tell("solved-gather-computed", words_of(all, &GatherParts::computed, gathers::computed_words()),
       "Write down what is computed on 3 ranks with 2 slices: which block is missing, or comes in between?");
  tell("solved-gather-alone", words_of(all, &GatherParts::alone, gathers::alone_words()),
       "Which exchanges can nothing hide, and what else has to wait for them?");
  tell("solved-gather-hidden", words_of(all, &GatherParts::hidden, gathers::hidden_words()),
       "Take 3 ranks and 2 slices: which block of the next slice comes while this one is computed, and into "
       "which place?");
  if (std::ranges::any_of(all, &GatherParts::idle))
    tell("solved-gather-idle", "there are steps that neither exchange nor compute anything",
         "What is the meaning of a step with two empty entries?");
  return causes;
}

}  // namespace ringcraft::verify
