#pragma once
/// @file
/// Diagnosis: why the checks of a verdict have failed, solved for from what was asked and what came. What
/// gives none of these numbers gets no cause at all: a wrong lead costs more than none.

#include "judge/verdict/judge.hpp"

namespace ringcraft::judge {

/// Puts at most three causes of a verdict into the row of its first failed check, the likeliest first. They
/// explain what every failed check has exhibited (verify::causes_of). Where nothing does, the row says so.
void explain(Verdict& verdict);

}  // namespace ringcraft::judge
