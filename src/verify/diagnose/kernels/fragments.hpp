#pragma once
/// @file
/// The two products of one tile, S = q kᵀ and O = P v, as warps compute them from 8 x 8 matrices: solves for
/// the matrix that was used at each place. Internal to the harness.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verify/diagnose/exhibit.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::verify {

inline constexpr Index kEight = 8;

/// An 8 x 8 matrix of an array, counted in eights: rows 8 row to 8 row + 7. Of k and v, rows are keys.
struct Eight {
  Index row, column;
  bool turned = false;  ///< transposed, or for weights: neighbours are exchanged

  friend auto operator<=>(const Eight&, const Eight&) = default;
};

/// The contents at a matrix's place: a sum of matrices with multiplicities. Empty: zeros.
using Held = std::map<Eight, int>;
/// The contents, by the matrix that belongs there.
using EightMap = std::map<Eight, Held>;

/// An operand of one of the products.
enum class Operand8 : std::uint8_t {
  kQuery,   ///< A of q kᵀ: rows and columns
  kKey,     ///< B of q kᵀ: keys and columns
  kWeight,  ///< A of P v: rows and keys
  kValue,   ///< B of P v: keys and columns
  kOut,     ///< C of P v: rows and columns
};

/// Describes the map in words; empty if every matrix is in its place.
std::optional<Cause> cause_of_map(Operand8 operand, const EightMap& map);

/// Why S of a tile is wrong: its columns, its fragments, its rounding. Empty if S is right.
std::optional<Cause> cause_of_scores(const std::vector<TileExhibit>& tiles);
/// Why O of a tile is wrong although S is right.
std::optional<Cause> cause_of_values(const std::vector<TileExhibit>& tiles);
/// Whether S is right.
bool has_right_scores(const TileExhibit& tile);

/// x rounded to bf16, to nearest; truncated if not `nearest`.
double to_bf16(double x, bool nearest = true);

}  // namespace ringcraft::verify
