#pragma once
/// @file
/// Code shared by the solutions of both passes; internal to the harness.

#include <span>

#include "verify/diagnose/solve/line_system.hpp"
#include "verify/diagnose/solve/solve.hpp"

namespace ringcraft::verify {

/// The settings to try, the right one first.
std::vector<Setting> settings_of(const Evidence& evidence);
/// The entry of k and v that a query head reads: (batch, kv head).
std::pair<Index, Index> source_of(const Evidence& evidence, Setting::Heads heads, Index batch, Index head);
/// The mistakes of a setting as causes.
std::vector<Cause> causes_of(const Setting& setting);
/// Query heads that add their share of a gradient to a wrong key head.
Cause cause_of_target_heads(Setting::Heads heads);

/// Units in which errors are measured, for the claim's precision.
struct Yardsticks {
  double unit;       ///< of the scale, or of the deviation
  double floor;      ///< additional share of the scale
  double of_row;     ///< of the largest number of a row
  double threshold;  ///< the largest root mean square that counts as a fit
};
/// The units for the evidence's precision.
Yardsticks yardsticks_of(const Evidence& evidence);
/// The tolerance of each element in one row of a tensor.
std::vector<double> tolerance_of(const Evidence& evidence, const Buffer& claim, const Buffer& unit,
                                 const Buffer& scale, Index batch, Index head, Index row);

/// A number in three digits, for a sentence.
std::string short_number(double x);

/// At most so many rows (or keys) of each part, evenly spaced.
std::vector<std::vector<Index>> sampled(const std::vector<std::vector<Index>>& parts, std::size_t most);

/// q . k of a query row and a key under a setting.
double product_of(const Evidence& evidence, const Setting& setting, Index batch, Index head, Index row,
                  Index key);
/// The row of v that is used for this key and this query row.
std::span<const double> value_of(const Evidence& evidence, const Setting& setting, Index batch, Index head,
                                 Index row, Index key);
/// out of a row as claimed, less its initial value.
std::vector<double> out_of(const Evidence& evidence, const Setting& setting, Index batch, Index head,
                           Index row);

}  // namespace ringcraft::verify
