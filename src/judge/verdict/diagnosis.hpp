#pragma once
/// @file
/// Diagnosis: the reasons why the checks of a verdict have failed, found from the questions and the answers.
/// Where no known mistake reproduces the numbers, it names no cause: a wrong lead costs more than none.

#include "judge/verdict/judge.hpp"

namespace ringcraft::judge {

/// Puts at most three causes of a verdict into the row of its first failed check, the likeliest first. They
/// explain the exhibits of every failed check (verify::causes_of). Where nothing does, the row says so.
void explain(Verdict& verdict);

}  // namespace ringcraft::judge
