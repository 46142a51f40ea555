#pragma once
/// @file
/// Laws of a walk over two levels of links: the rank that a member of a step may be, and the steps in which
/// it may be set.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ringcraft::verify {

/// One step of one walk: N ranks, G nodes of M; rank r is place p of node k.
struct WalkPlace {
  int n, m, rank, t;
  bool nodes_first;  ///< turns are counted in the other way: one step on is one node on

  int g() const { return n / m; }
  int turn() const { return nodes_first ? t % g() : t / m; }
  int inner() const { return nodes_first ? t / g() : t % m; }
};

/// How a node and a place make a rank: with remainders or without.
enum class WalkWrap : std::uint8_t { kBoth, kSigned, kNone, kRanks, kPlaces, kNodes, kByte, kUnsigned };

/// A node or a place: own * the rank's own + turn * turn + inner * inner + one.
struct WalkSum {
  int own, turn, inner, one;

  int at(int mine, const WalkPlace& s) const {
    return own * mine + turn * s.turn() + inner * s.inner() + one;
  }
  bool operator==(const WalkSum&) const = default;
};

/// A rank in a step.
struct WalkRank {
  WalkSum node, place;
  WalkWrap wrap = WalkWrap::kBoth;
  const char* wrapped = "";  ///< the same in words
  bool dealt = false;        ///< rank r is taken for place r / G of node r mod G

  int at(const WalkPlace& s) const;
};

/// All of them, those with few terms first.
const std::vector<WalkRank>& walk_ranks();
/// "node k, place (p + 1) mod M".
std::string text_of(const WalkRank& law);

/// Some steps.
struct WalkWhen {
  const char* words;
  bool (*holds)(const WalkPlace&);
};
/// All of them: first the right ones of inner neighbours, of outer ones, and of sources.
std::span<const WalkWhen> walk_whens();

}  // namespace ringcraft::verify
