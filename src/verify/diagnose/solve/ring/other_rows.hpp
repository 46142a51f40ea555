#pragma once
/// @file
/// Rows whose q, factor or state may be read instead of a row's own.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "verify/diagnose/match.hpp"

namespace ringcraft::verify {

/// Another row, as a function of the row itself; empty if shards of different lengths have none there.
struct OtherRow {
  std::string words;  ///< "the next head"
  std::function<std::optional<RowPlace>(RowPlace)> of;
};

/// The same row of other heads and batch entries. The evidence must outlive what these return.
std::vector<OtherRow> rows_of_other_heads(const Evidence& evidence);
/// Other rows of the same shard.
std::vector<OtherRow> rows_of_shard(const Evidence& evidence);
/// Rows at the same place in the shards of other ranks, in the words "rank r + 1".
std::vector<OtherRow> rows_of_other_ranks(const Evidence& evidence);

}  // namespace ringcraft::verify
