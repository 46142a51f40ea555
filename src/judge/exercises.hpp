#pragma once
/// @file
/// The exercises that can be judged. A worker serves all of them; a check calls them by type.

#include "judge/exercise.hpp"
#include "ringcraft/attention/merge.hpp"
#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/ring/distributed_softmax.hpp"
#include "ringcraft/ring/ring.hpp"

namespace ringcraft::judge {

using Merge = Exercise<&ringcraft::merge<double>, "merge">;
using ExchangeOddEven = Exercise<&ringcraft::exchange_odd_even, "exchange_odd_even">;
using DistributedSoftmax = Exercise<&ringcraft::distributed_softmax<double>, "distributed_softmax">;
using RingForward = Exercise<&ringcraft::ring_forward, "ring_forward">;
using RingBackward = Exercise<&ringcraft::ring_backward, "ring_backward">;

/// All of them.
using Exercises = std::tuple<  //
    Merge,                     //
    ExchangeOddEven,           //
    DistributedSoftmax,        //
    RingForward,               //
    RingBackward>;

}  // namespace ringcraft::judge
