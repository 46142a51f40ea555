#pragma once
/// @file
/// The vocabulary of wrong reaches: what is read, what a shard sees, whom the block of rank s is compared
/// with, which distance counts, and what is returned. The first word of each list is the right one.

#include <span>

#include "verify/diagnose/functions/reach/reach_views.hpp"

namespace ringcraft::verify {

/// The two shards that are compared for block s and distance t.
struct PeerWord {
  const char* words;
  int (*query_rank)(int s, int t, int n);
  int (*key_rank)(int s, int t, int n);  ///< either may be outside of 0 to N - 1: then nothing is seen
};

/// The distance that is picked, from whether a distance is needed; `seen` is called with 0 to N.
struct PickWord {
  const char* words;
  int (*pick)(int n, const std::vector<bool>& seen);
};

/// The numbers that are returned, from those that were picked.
struct ReturnWord {
  const char* words;
  std::vector<int> (*numbers)(const Problem&, std::vector<int> picked);
};

std::span<const ReachReading> reach_readings();
std::span<const SightWord> sight_words();
std::span<const PeerWord> peer_words();
std::span<const PickWord> pick_words();
std::span<const ReturnWord> return_words();

/// Words of a cursor that is used for more than one pair of shards, if that gives all answers; null if not.
const char* reused_cursor_of(const std::vector<ReachView>& views);

/// A formula that takes the reach from window, rows and ranks alone.
struct ReachFormula {
  const char* words;
  Position (*ranks)(Position window, Position rows);
};
/// A law in words, if formulas give all answers; empty if none does.
std::string formula_of(const std::vector<ReachView>& views);

}  // namespace ringcraft::verify
