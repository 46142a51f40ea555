#pragma once
/// @file
/// A forward kernel that walks over tiles of keys, with mistakes: the tile by which each one is masked, whose
/// K and V it holds, which tiles are visited, and what is carried from one to the next. Internal to the
/// harness.

#include <optional>
#include <string>
#include <vector>

#include "verify/diagnose/exhibit.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::verify {

/// The mistakes of a walk; the first value of each is the right one.
struct TileWalk {
  /// The tile whose mask is applied.
  enum class Masked : std::uint8_t {
    kRight,
    kFromZero,     ///< visit n as the tile at key n * 64
    kAsFirst,      ///< as the one at key 0
    kAsVisited,    ///< as the first that is visited
    kAsBefore,     ///< as the one before it
    kAsNext,       ///< as the one after it
    kNot,          ///< nothing is masked
    kBorder,       ///< only what lies after the last key
    kLastOnly,     ///< only the last that is visited
    kFirstOnly,    ///< only the first that is visited
    kNoBegin,      ///< keys before the first visible one are not masked
    kNoEnd,        ///< keys after the last visible one are not masked
    kEndShort,     ///< the last visible key is masked, too
    kEndLong,      ///< one key too many is visible
    kBehindFirst,  ///< only tiles that reach past the end of the first row's keys
    kBehindLast,   ///< only tiles that reach past the end of the last row's keys
    kBeforeLast,   ///< only tiles that begin before the last row's first key
  };
  /// The tiles that are masked at all, if the tile number is wrong.
  enum class Full : std::uint8_t {
    kRight,   ///< those that are not fully visible
    kAll,     ///< all
    kByMask,  ///< those that are not fully visible at the wrong number
  };
  /// The tile whose data is used.
  enum class Data : std::uint8_t {
    kRight,
    kBefore,     ///< of the tile that is visited before it; the first has its own
    kNext,       ///< of the tile that is visited next; the last has its own
    kVisited,    ///< of the first that is visited
    kLast,       ///< of the last that is visited
    kFromZero,   ///< visit n has the tile at key n * 64
    kZero,       ///< of the tile at key 0
    kFirstZero,  ///< the first visit has the tile at key 0
    kHalves,     ///< two stages: of visit n % 2
    kPartLost,   ///< a partial tile is all zeros, or skipped
  };
  /// The tiles that are visited.
  enum class Visits : std::uint8_t {
    kAll,
    kSkipsFirst,
    kSkipsLast,
    kFirstAlone,
    kLastAlone,
    kWholeAlone,  ///< those that the keys fill
    kToFirstEnd,  ///< up to the end of the first row
    kFromLast,    ///< from the first key of the last row on
    kEverySecond,
    kLastTwice,
  };
  /// The tiles that a warp skips.
  enum class Skips : std::uint8_t {
    kUnseen,
    kSomeUnseen,  ///< those that not all of its rows see
    kByFirst,     ///< all, if the first visited one is not seen
    kByZero,      ///< all, if the tile at key 0 is not seen
    kByFirstRow,  ///< those that its first row does not see
    kByLastRow,   ///< those that its last row does not see
    kNone,        ///< skips none, which may be right
  };
  /// The state that is carried from tile to tile.
  enum class Carry : std::uint8_t {
    kAll,
    kNothing,       ///< the state is reset
    kNoOut,         ///< O is reset
    kNoSum,         ///< l is reset
    kOutUnscaled,   ///< O is not rescaled
    kSumUnscaled,   ///< l is not rescaled
    kNotFirstHalf,  ///< O of rows 0 to 7 of 16 is not rescaled
    kNotLastHalf,   ///< O of rows 8 to 15 of 16 is not rescaled
  };
  /// The columns that are computed.
  enum class Columns : std::uint8_t {
    kAll,
    kPieces,   ///< whole pieces of eight
    kFours,    ///< whole groups of four
    kSteps,    ///< whole steps of 16
    kLastLost  ///< all but the last
  };
  Masked masked{};
  Full full{};
  Data keys{}, values{};
  Visits visits{};
  Skips skips{};
  Carry carry{};
  Columns columns{};
  Index tile = 64;
};

/// Why forward kernels on tiles of 64 rows are wrong: one or two mistakes that explain all these heads.
std::optional<Cause> cause_of_walk(const std::vector<const AttentionExhibit*>& heads);

/// A head in double, and the keys that each row sees in each step, counted from the step's first one.
struct WalkHead {
  explicit WalkHead(const AttentionExhibit& x);

  const AttentionExhibit& exhibit;
  Inputs in;
  Answer claim;
  struct Ends {
    Index begin, end;
  };
  std::vector<std::vector<Ends>> ends;  ///< [steps, rows]
};

/// out (divided) and lse of a row, with the change that rounding the weights to bf16 may cause.
struct WalkedRow {
  std::vector<double> out, bound;
  double lse = 0;
};
/// A row of a head computed with these mistakes; public for tests.
WalkedRow walked(const WalkHead& x, Index batch, Index head, Index row, const TileWalk& walk);
/// The mistakes of a walk as causes.
std::vector<Cause> causes_of_walk(const TileWalk& walk);

}  // namespace ringcraft::verify
