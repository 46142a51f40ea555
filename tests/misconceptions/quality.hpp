#pragma once
/// @file
/// How good the diagnosis is, from the tables of fingerprints alone: every known file is given its cause,
/// most of them first; and of the mistakes that a table does not know, most are left without a cause.

#include <string>
#include <vector>

namespace ringcraft::judge {

/// Prints the counts of every lesson. Returns a sentence for each promise that is not kept: all files named,
/// 80 % of them first, and at least 80 % of unknown mistakes left alone.
std::vector<std::string> complaints_about_diagnosis();

}  // namespace ringcraft::judge
