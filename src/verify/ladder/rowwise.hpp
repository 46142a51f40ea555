#pragma once
/// @file
/// Attention one query row at a time, forward only: the stages of the ladder between the whole score matrix
/// and tiles. A row's scores are computed, turned into weights and used; the three variants differ in the
/// softmax.

#include "verify/ladder/subject.hpp"

namespace ringcraft::verify {

/// How a row of scores becomes a row of out.
enum class RowSoftmax : std::uint8_t {
  kSafe,    ///< lesson 102: weights by safe_softmax, then weights times v
  kOnline,  ///< lesson 103: the same with online_softmax
  kMerged,  ///< lesson 104: the partial results of the first and the second half of the keys, merged
};

/// out and lse of the whole problem on one device, for float32 or float64 inputs. Throws Error for bfloat16.
Answer run_rowwise(RowSoftmax softmax, const Problem& problem, const Inputs& inputs,
                   Measurement* measurement = nullptr);

}  // namespace ringcraft::verify
