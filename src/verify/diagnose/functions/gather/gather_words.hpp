#pragma once
/// @file
/// The vocabulary of wrong schedules of an all-gather. A schedule has three parts, each of which is told by
/// itself: the blocks that are computed, the exchanges that stand alone, and those that share a step with a
/// block that is computed. The first word of each list is the right one.

#include <span>
#include <string>
#include <vector>

#include "ringcraft/parallel/gather/gather_steps.hpp"

namespace ringcraft::verify::gathers {

/// An exchange in a step that computes nothing.
struct Alone {
  int after;  ///< blocks computed before it
  GatheredBlock block;
  friend bool operator==(const Alone&, const Alone&) = default;
};

/// A part of the schedule of N ranks and some slices, under one word.
template <class Entry>
struct PartWord {
  const char* words;  ///< nullptr: the right one
  std::vector<Entry> (*part)(int ranks, int slices);
};

/// The blocks of all slices, at distances from `first` to `last`.
std::vector<GatheredBlock> blocks_of(int first, int last, int slices);

std::span<const PartWord<GatheredBlock>> computed_words();  ///< in their order
std::span<const PartWord<Alone>> alone_words();             ///< in their order
/// The steps that exchange and compute.
std::span<const PartWord<GatherStep>> hidden_words();

/// The steps of one world that exchange and compute.
struct Hidden {
  int ranks, slices;
  const std::vector<GatherStep>* steps;
};
/// Which block comes under which, in words, if it is the same in all worlds; with the fewest wrong terms.
/// Empty if no law of the grammar gives it.
std::string hidden_law_told(const std::vector<Hidden>& worlds);

}  // namespace ringcraft::verify::gathers
