// Predict 501: the blocks that a rank holds in each step of an all-gather, the promise that a wrong schedule
// breaks, and the seconds in which a rank only waits. The seed chooses ranks, slices, schedules and seconds;
// the library's schedule gives every answer, and a wrong one is an edit of it.
#include <algorithm>
#include <string>

#include "judge/puzzle/puzzle_kinds.hpp"
#include "lessons/501_all_gather/puzzles/held/promises.hpp"
#include "ringcraft/core/random.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::judge {
namespace {

constexpr int kEdits = 10;  // two for each promise
constexpr int kEditedRanks = 3;

// Where the first slice has come and the second one is not computed yet: its first step.
std::size_t first_computing(int ranks) { return static_cast<std::size_t>(ranks) - 1; }

// The right schedule of three ranks with an edit that breaks one promise: number / 2, counted from 0.
GatherSchedule edited(int number, int slices) {
  constexpr int n = kEditedRanks;
  GatherSchedule steps = gather_steps(n, slices);
  const auto begin = first_computing(n);      // computes slice 0, distance 0; two steps bring the next slice
  const std::size_t last = steps.size() - n;  // the own block of the last slice
  GatheredBlock &one = steps[begin + 1].exchanged, &two = steps[begin + 2].exchanged;
  switch (number) {
    case 0:  // a block to oneself
      steps[last].exchanged = {slices - 1, 0};
      break;
    case 1:  // a block that is here comes again
      steps[last + 1].exchanged = {slices - 1, 2};
      break;
    case 2:
      std::swap(steps[last + 1].computed, steps[last + 2].computed);
      break;
    case 3:
      std::rotate(steps.begin() + static_cast<std::ptrdiff_t>(last),
                  steps.begin() + static_cast<std::ptrdiff_t>(last) + 1, steps.end());
      break;
    case 4:  // the farthest block comes under the own one of its slice
      std::swap(two, steps[begin + n].exchanged);
      break;
    case 5:  // as in a ring
      std::swap(one, steps[begin + n].exchanged);
      if (slices == 2) std::swap(two, steps[begin + n + 1].exchanged);
      break;
    case 6:
    case 7: {  // an exchange in a step of its own
      const std::size_t at = begin + (number == 6 ? 1 : 2);
      const GatherStep alone{steps[at].exchanged, {}};
      steps[at].exchanged = {};
      steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(at), alone);
      break;
    }
    case 8:  // under the own block
      std::swap(one, steps[begin].exchanged);
      break;
    default:  // each a step earlier
      std::swap(one, steps[begin].exchanged);
      std::swap(two, one);
  }
  return steps;
}

std::string text_of(const GatheredBlock& block) {
  return block.some() ? std::to_string(block.slice) + "." + std::to_string(block.distance) : "-";
}
std::string text_of(const GatherSchedule& steps) {
  std::string text;
  for (const auto& [comes, done] : steps) text += "  " + text_of(comes) + "/" + text_of(done);
  return text;
}

void ask_about_steps(Sheet& sheet, int ranks, int slices) {
  const GatherSchedule steps = gather_steps(ranks, slices);
  const std::vector<int> held = blocks_held(steps, ranks, slices);
  Index exchanges = 0, alone = 0;
  for (const auto& [comes, done] : steps) {
    exchanges += comes.some() ? 1 : 0;
    alone += comes.some() && !done.some() ? 1 : 0;
  }
  sheet.ask("steps",
            counted(ranks, "rank") + ", " + counted(slices, "slice") +
                ": steps, those that exchange, those of them that compute nothing, blocks held at most:",
            std::vector<Index>{std::ssize(steps), exchanges, alone, std::ranges::max(held)});
}

void ask_about_held(Sheet& sheet, int ranks, int slices) {
  sheet.ask("held", counted(ranks, "rank") + ", " + counted(slices, "slice") + ", blocks held in each step:",
            blocks_held(gather_steps(ranks, slices), ranks, slices));
}

void ask_about_promises(Sheet& sheet, Random& random, int slices) {
  for (const char name : {'A', 'B', 'C', 'D'}) {
    const GatherSchedule steps = edited(static_cast<int>(random.integer(0, kEdits - 1)), slices);
    sheet.say(std::string(1, name) + ":" + text_of(steps));
    sheet.ask("promises", std::string(1, name) + ", the promise that it breaks, 1 to 5:",
              broken_promises(steps, kEditedRanks, slices));
  }
}

// Seconds of the same heads in one slice, and in several.
void ask_about_seconds(Sheet& sheet, const std::string& where, int ranks, int slices, double hop,
                       double compute) {
  const GatherSchedule steps = gather_steps(ranks, slices);
  const GatherSeconds want = gather_seconds(steps, hop / slices, compute / slices);
  const GatherSeconds whole = gather_seconds(steps, hop, compute);
  Blank waits{want.exposed, 1e-9, {}}, ends{want.all, 1e-9, {}};
  if (slices > 1) {
    waits.mistakes.push_back({whole.exposed, "Are these blocks of all heads, and not of a slice?"});
    ends.mistakes.push_back({whole.all, "Are these blocks of all heads, and not of a slice?"});
  }
  waits.mistakes.push_back(
      {(ranks - 1) * hop, "Is that the time of all slices, and not of the exposed one?"});
  ends.mistakes.push_back({ranks * compute, "Is that the computing alone?"});
  std::erase_if(waits.mistakes, [&](const KnownMistake& m) { return m.value == waits.want; });
  std::erase_if(ends.mistakes, [&](const KnownMistake& m) { return m.value == ends.want; });
  sheet.line("seconds",
             where + counted(slices, "slice") + ": seconds that a rank only waits, and of the pass: ___ ___",
             {waits, ends});
}

std::vector<PuzzleRow> held_rows() {
  return {
      {"steps",
       2,
       {},
       "Steps, exchanges, exposed ones, and blocks.",
       "Each step but the first N - 1 computes a block: how many blocks are there, and how many of them "
       "come?",
       {}},
      {"held",
       3,
       {},
       "The blocks held in each step.",
       "When does a rank send its own block of a slice for the first time, and after which step is it done?",
       {}},
      {"promises",
       4,
       {},
       "The promise that each wrong list breaks.",
       "Write the blocks that are held below each step: is everything there that is needed, and is there "
       "room?",
       {}},
      {"seconds",
       3,
       {},
       "Seconds.",
       "A step takes as long as the longer one of its two entries: which steps have an exchange alone?",
       {}}};
}

Form held_form(std::uint64_t seed) {
  Random random(seed);
  const int ranks = static_cast<int>(random.integer(4, 6)), slices = static_cast<int>(random.integer(2, 4)),
            wrong_slices = static_cast<int>(random.integer(2, 3));
  Sheet sheet;
  sheet.begin(RINGCRAFT_PUZZLE, seed);
  sheet.say("The right list of the lesson. A rank's own blocks count.");
  ask_about_steps(sheet, ranks, slices);
  ask_about_steps(sheet, ranks + 2, 1);
  ask_about_held(sheet, 3, wrong_slices);
  ask_about_held(sheet, 4, 2);
  sheet.gap();
  sheet.say("Wrong lists for three ranks and " + counted(wrong_slices, "slice") +
            ". 1.2/0.1 is a step: slice 1, distance 2 comes, while slice 0,");
  sheet.say("distance 1 is computed; - is none. Each list breaks one promise; two may break the same.");
  ask_about_promises(sheet, random, wrong_slices);
  sheet.gap();
  const Index compute = 2 * slices * random.integer(2, 3);  // a slice has whole seconds
  const Index short_hop = slices * random.integer(1, 3), long_hop = compute + slices * random.integer(1, 4);
  for (const Index hop : {short_hop, long_hop}) {
    sheet.say(counted(ranks, "rank") + ". A block of all heads comes in " + counted(hop, "second") +
              " and is computed in " + std::to_string(compute) + "; a slice takes its share of both.");
    for (const int each : {1, slices})
      ask_about_seconds(sheet, hop == short_hop ? "short hop, " : "long hop, ", ranks, each,
                        static_cast<double>(hop), static_cast<double>(compute));
  }
  return {sheet.lines(), held_rows()};
}

}  // namespace

template <>
Puzzle puzzle_of<RINGCRAFT_PUZZLE>() {
  return prediction(RINGCRAFT_PUZZLE, "Held and exposed",
                    "say what an all-gather holds and exposes, and which promise a list breaks", held_form);
}

}  // namespace ringcraft::judge
