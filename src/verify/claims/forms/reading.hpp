#pragma once
/// @file
/// Describes how a tensor was read: as data for --json, and as a line of the report if it was not in the
/// documented form.

#include <cstdint>
#include <string>
#include <vector>

#include "ringcraft/core/types.hpp"

namespace ringcraft::verify {

/// How one tensor was read.
struct Reading {
  std::string tensor;        ///< "lse"
  std::vector<Index> shape;  ///< as stored in the file; empty if there is a file for each rank
  std::string order;         ///< "[batch, seqlen, heads]"
  bool documented = true;    ///< whether that is the order that the documentation requires
  std::string other;         ///< another order that has the same shape; empty: none
  std::string other_python;  ///< Python to write if the other order was meant
  bool likely = false;       ///< the other order would be odd: mentioned only if the claim is wrong
  Index rows = 0;            ///< rows in all files
  Index padding = 0;         ///< rows that were skipped: they lie beyond the sequence
};

/// "[1, 8, 25, 16]".
std::string shape_text(const std::vector<Index>& shape);

/// Whether to question likely readings as well, which is done once the claim turns out wrong.
enum class Doubt : std::uint8_t { kUnlikely, kAll };

/// Sentences about all tensors that were not read as documented, or may have been meant otherwise; tensors
/// read alike share a sentence.
std::vector<std::string> sentences_of(const std::vector<Reading>& readings, Doubt doubt);

}  // namespace ringcraft::verify
