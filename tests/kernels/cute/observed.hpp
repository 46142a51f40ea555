#pragma once
/// @file
/// The executor's layouts, seen from outside: lanes bring numbers that tell where they come from, and the
/// results tell where they went.

#include "lane_map.hpp"

namespace ringcraft::layouts::executors {

/// The layouts of a product's operands.
struct Operands {
  LaneMap a, b, c;
};
/// The place of each value of an operand, seen through the other two, whose places are given: a 1 in one
/// value of A, say, picks a row of B, which comes out as a row of C. A value that meets other numbers than
/// those of one row, or of one column, has no place.
LaneMap fragment(Format format, Operand operand, const Operands& given);

/// ldmatrix: the lane whose row each 16-bit number comes from, and which of the row's eight it is.
LaneMap matrix_load(Load load);

/// cp.async of 16 bytes, of each lane: the lane whose bytes arrive, and which of them.
LaneMap async_copy();
/// The bytes that are not 0 after a cp.async of each lane that was not valid.
int bytes_of_invalid_copies();

}  // namespace ringcraft::layouts::executors
