#pragma once
/// @file
/// The vocabulary of wrong intervals: which borders there are, which sequence holds a position, where that
/// begins and ends, from where a limit counts, and what becomes of all that. Of each list the first word is
/// the right one.

#include <span>
#include <vector>

#include "ringcraft/problem/mask.hpp"

namespace ringcraft::verify::ranges {

/// An end of an interval.
using EndOf = Position KeyInterval::*;

/// One answer, and where a finder puts it.
struct IntervalPlace {
  Position p;
  Position limit, other;   ///< limit: of this side; other: of the opposite one
  Position start, end;     ///< of the sequence that was found
  Position before, after;  ///< the ends of its neighbours: their start, and their end
  Position seqlen;
  bool packed;  ///< whether there are borders
};

/// The borders of packed sequences that are read.
struct BordersWord {
  const char* words;
  std::vector<Position> (*borders)(const std::vector<Position>& cu_seqlens);
};
/// The sequence that a cursor finds next.
struct Finder {
  const char* words;
  std::size_t (*next)(const std::vector<Position>& cu_seqlens, std::size_t sequence, Position p);
};
/// The position from which a limit is counted.
struct PositionWord {
  const char* words;
  Position (*value)(const IntervalPlace&);
};
/// The end of a sequence.
struct EndWord {
  const char* words;
  Position (*value)(const IntervalPlace&);
};
/// The end of the interval, from that of the sequence.
struct MaskWord {
  const char* words;
  Position (*value)(const IntervalPlace&, Position border);
};

std::span<const BordersWord> borders_words();
std::span<const Finder> finders();
std::span<const PositionWord> position_words();
std::span<const EndWord> end_words(EndOf end);
std::span<const MaskWord> mask_words(EndOf end);

}  // namespace ringcraft::verify::ranges
