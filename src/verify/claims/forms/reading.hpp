#pragma once
/// @file
/// How a tensor was read: as data for --json, and as a line of the report where it was not the documented
/// form.

#include <cstdint>
#include <string>
#include <vector>

#include "ringcraft/core/types.hpp"

namespace ringcraft::verify {

/// How one tensor was read.
struct Reading {
  std::string tensor;        ///< "lse"
  std::vector<Index> shape;  ///< as it stands in the file; of rank 0, if there is one for each rank
  std::string order;         ///< "[batch, seqlen, heads]"
  bool documented = true;    ///< whether that is the order that the documentation asks for
  std::string other;         ///< another order that has the same shape; empty: none
  std::string other_python;  ///< what to write if it is that one
  bool likely = false;       ///< the other one would be odd: worth a word only beside a wrong claim
  Index rows = 0;            ///< rows in all files
  Index padding = 0;         ///< rows of them that were left out: they are beyond the sequence
};

/// "[1, 8, 25, 16]".
std::string shape_text(const std::vector<Index>& shape);

/// Whether a likely reading is doubted, too: it is, once the claim turns out wrong.
enum class Doubt : std::uint8_t { kUnlikely, kAll };

/// Sentences about all tensors that were not read as documented, or may have been meant in another way; those
/// read alike in one.
std::vector<std::string> sentences_of(const std::vector<Reading>& readings, Doubt doubt);

}  // namespace ringcraft::verify
