#pragma once
/// @file
/// The exercises of this lesson: a deal of single tokens, there and back.

#include "judge/wire/exercise.hpp"
#include "ringcraft/problem/deal.hpp"

namespace ringcraft::judge {

using TokenPosition = Exercise<&ringcraft::token_position, "token_position">;
using TokenOwner = Exercise<&ringcraft::token_owner, "token_owner">;

}  // namespace ringcraft::judge
