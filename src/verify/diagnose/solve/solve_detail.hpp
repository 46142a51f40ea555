#pragma once
/// @file
/// What the solutions of both passes share; not for users of the harness.

#include <span>

#include "verify/diagnose/solve/line_system.hpp"
#include "verify/diagnose/solve/solve.hpp"

namespace ringcraft::verify {

/// The settings to try, the right one first.
std::vector<Setting> settings_of(const Evidence& evidence);
/// The key head and batch entry that a query head reads: (batch, kv head).
std::pair<Index, Index> source_of(const Evidence& evidence, Setting::Heads heads, Index batch, Index head);
/// What is wrong with a setting, as causes.
std::vector<Cause> causes_of(const Setting& setting);

/// What errors are measured by, of the claim's precision.
struct Yardsticks {
  double unit;       ///< of the scale, or of the deviation
  double floor;      ///< of the scale besides
  double of_row;     ///< of the largest number of a row
  double threshold;  ///< the largest root mean square that still fits
};
/// See above.
Yardsticks yardsticks_of(const Evidence& evidence);
/// What an element may be off: of one row of a tensor, each column.
std::vector<double> tolerance_of(const Evidence& evidence, const Buffer& claim, const Buffer& unit,
                                 const Buffer& scale, Index batch, Index head, Index row);

/// A number in three digits, for a sentence.
std::string short_number(double x);

/// Rows (or keys) of each part, at most so many of each, spread evenly.
std::vector<std::vector<Index>> sampled(const std::vector<std::vector<Index>>& parts, std::size_t most);

/// q . k of a query row and a key, as a setting has it.
double product_of(const Evidence& evidence, const Setting& setting, Index batch, Index head, Index row,
                  Index key);
/// The row of v that stands for this key's, for this query row.
std::span<const double> value_of(const Evidence& evidence, const Setting& setting, Index batch, Index head,
                                 Index row, Index key);
/// out of a row as it was claimed, without what it began with.
std::vector<double> out_of(const Evidence& evidence, const Setting& setting, Index batch, Index head,
                           Index row);

}  // namespace ringcraft::verify
