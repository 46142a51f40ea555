#pragma once
/// @file
/// Attention tile by tile with one wrong index: q, k, v, lse, the running state and the gradients are each
/// indexed relative to the head, and a tile counts its rows and keys from its own first one. All rows of a
/// head are computed, because a wrong index lets them overwrite one another.

#include <optional>
#include <vector>

#include "verify/diagnose/match.hpp"

namespace ringcraft::verify {

/// An operand with an index.
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
  kDq,       ///< the row that is added to
  kDkQuery,  ///< q of dk
  kDvDout,   ///< dout of dv
  kKey,      ///< k of the scores
  kMaskKey,  ///< the key that is tested
  kValue,    ///< v of O, or of dP
  kDk,       ///< the row that is added to
  kDv,       ///< the row that is added to
  kDqKey,    ///< k of dq
};

/// The index that is used instead.
enum class TileIndex : std::uint8_t {
  kWithinTile,   ///< its number within the tile
  kFirstOfTile,  ///< the tile's first row or key
  kOtherBase,    ///< counted from the tile's first key (for a row) or row (for a key)
  kNext,         ///< one more
  kBefore,       ///< one less
  kTransposed,   ///< row and key are exchanged within the tile: dk and dv only
  kStored,       ///< the right index, but each tile begins with zeros: gradients only
};

/// One wrong index, or two that are wrong in the same way.
struct TileSlip {
  TileOperand first, second;  ///< equal: there is only one
  TileIndex index;
  bool by_row = false;  ///< values are added row by row, not for the whole tile after its rows were rescaled

  bool has(TileOperand operand) const { return operand == first || operand == second; }
};

/// Describes the slip.
Cause cause_of_slip(const TileSlip& slip);

/// Why an answer of one device is wrong, if a wrong index explains all examined tensors. `pass` selects the
/// tensors.
std::optional<Cause> cause_of_tile_index(const Evidence& evidence, TensorGroup pass);

/// Why out and lse of one device are wrong, if one wrong index among those that are read (of q, k, v or the
/// mask) and one mistake of the scan explain every row together; else empty.
std::vector<Cause> causes_of_tile_index_and_scan(const Evidence& evidence);

}  // namespace ringcraft::verify
