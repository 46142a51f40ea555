#pragma once
/// @file
/// The exercise of this lesson: one exchange with both neighbours.

#include "judge/wire/exercise.hpp"
#include "ringcraft/comm/exchange.hpp"

namespace ringcraft::judge {

using ExchangeOddEven = Exercise<&ringcraft::exchange_odd_even, "exchange_odd_even">;

}  // namespace ringcraft::judge
