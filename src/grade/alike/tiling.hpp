#pragma once
/// @file
/// Runs of tokens that two texts have in common, as JPlag finds them: running Karp-Rabin greedy string tiling
/// (Wise, 1993; Prechelt, Malpohl and Philippsen, "Finding plagiarisms among a set of programs with JPlag",
/// 2002) over tokens. Tokens that were given, or that many texts have, are nobody's own, and no tile holds
/// one.

#include <cstdint>
#include <string>
#include <vector>

#include "grade/alike/alike.hpp"
#include "grade/alike/tokens.hpp"

namespace ringcraft::grade {

/// Tokens of the shortest run that counts as common: shorter ones are alike by chance.
inline constexpr std::size_t kShortestRun = 12;

/// One text as it is compared.
struct Compared {
  /// A run of kShortestRun own tokens.
  struct Gram {
    std::uint64_t hash = 0;
    std::uint32_t at = 0;  ///< index of its first token
  };
  std::vector<Token> tokens;
  std::vector<bool> own;    ///< for each token: it belongs to a run that counts
  std::vector<Gram> grams;  ///< by hash, then by place
  std::size_t own_count = 0;
};

/// The texts, with nothing of `given` among their own tokens, nor what more than a third of the texts, and at
/// least four, have.
std::vector<Compared> compared(const std::vector<Text>& texts, const std::vector<std::string>& given);

/// A run of tokens that both texts have.
struct Tile {
  std::size_t one = 0, other = 0;  ///< index of its first token in each
  std::size_t length = 0;          ///< tokens
};

/// Runs that cover no token twice, in the order of `one`; the longest is taken first.
std::vector<Tile> tiles(const Compared& one, const Compared& other);

/// At least the sum of the lengths of all tiles, at a fraction of the cost.
std::size_t tiled_at_most(const Compared& one, const Compared& other);

}  // namespace ringcraft::grade
