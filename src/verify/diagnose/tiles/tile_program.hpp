#pragma once
/// @file
/// Attention tile by tile with one wrong index: q, k, v, lse, the running state and the gradients are each
/// read or written at a place that is counted from the head, and a tile counts its rows and keys from its own
/// first one. All rows of a head are computed, as a wrong index makes them meddle with one another.

#include <optional>

#include "verify/diagnose/match.hpp"

namespace ringcraft::verify {

/// What has an index.
enum class TileOperand : std::uint8_t {
  kMax,        ///< m
  kSum,        ///< l
  kOutScaled,  ///< the row of O that is rescaled
  kOut,        ///< the row of O that is added to
  kLse,
  kDelta,
  kQuery,    ///< q of the scores
  kMaskRow,  ///< the range of keys
  kDout,     ///< dout of dP
  kDq,       ///< what is added to
  kDkQuery,  ///< q of dk
  kDvDout,   ///< dout of dv
  kKey,      ///< k of the scores
  kMaskKey,  ///< the key that is asked about
  kValue,    ///< v of O, or of dP
  kDk,       ///< what is added to
  kDv,       ///< what is added to
  kDqKey,    ///< k of dq
};

/// Where it is looked for instead.
enum class TileIndex : std::uint8_t {
  kWithinTile,   ///< its number within the tile
  kFirstOfTile,  ///< the tile's first row or key
  kOtherBase,    ///< counted from the tile's first key (for a row) or row (for a key)
  kNext,         ///< one further
  kBefore,       ///< one less
  kTransposed,   ///< row and key change places within the tile: of dk and dv alone
  kStored,       ///< at the right place, but each tile begins with zeros: of gradients alone
};

/// One wrong index, or two that are wrong in the same way.
struct TileSlip {
  TileOperand first, second;  ///< the same one twice: there is one
  TileIndex index;
  bool by_row = false;  ///< values are added row by row, not for the whole tile after its rows were rescaled

  bool has(TileOperand operand) const { return operand == first || operand == second; }
};

/// The slip in words.
Cause cause_of_slip(const TileSlip& slip);

/// Whether what a claim has of a pass is as near to the right numbers as it must be to those of a mistake:
/// then whatever changes no number here would seem to explain it.
bool is_near_right(const Evidence& e, TensorGroup pass);

/// Why an answer of one device is wrong, if a wrong index explains all tensors that were looked at. `pass`
/// says of which part of it.
std::optional<Cause> cause_of_tile_index(const Evidence& evidence, TensorGroup pass);

}  // namespace ringcraft::verify
