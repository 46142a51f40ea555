#pragma once
/// @file
/// Pictures of where an answer is wrong: one sign per row of a tensor, the rows of each rank side by side.
/// Many mistakes have a characteristic picture, which a diagnosis looks at first.

#include <string>
#include <vector>

#include "verify/oracle/compare.hpp"

namespace ringcraft::verify {

/// The rows of one tensor, over all batches and heads.
struct ErrorMap {
  std::string tensor;              ///< "out", "lse", "dq", "dk" or "dv"
  std::vector<std::string> ranks;  ///< per rank one sign per local row: '.' right, 'x' wrong, 'n' no number
};

/// A map for every tensor that has a wrong row, in the order of the comparison.
std::vector<ErrorMap> error_maps(const Comparison& comparison, const Sharding& sharding);

/// The same for a single block, whose rows count from 0 and may be fewer or more than its keys: one rank,
/// with `rows` signs, or `keys` signs for dk and dv.
std::vector<ErrorMap> error_maps(const Comparison& comparison, Index rows, Index keys);

/// Whether its picture has fewer signs than rows.
bool is_shortened(const ErrorMap& map);

/// The signs of one rank in a picture: at most 24, each of which then stands for several rows and shows the
/// worst of them.
std::string shortened(const std::string& rows);

/// "out  ............ xxxxxxxxxxxx ............": one line, or several if there are many ranks. Shards are
/// shortened.
std::string picture_of(const ErrorMap& map);

}  // namespace ringcraft::verify
