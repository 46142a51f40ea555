#pragma once
/// @file
/// What a pass on one device costs, measured the way a ring's pass is.

#include <chrono>

#include "verify/subject.hpp"

namespace ringcraft::verify {

/// Runs `body` and fills in its peak bytes (of the buffers made under this meter, those of an earlier pass
/// included), its seconds, and the given number of visible pairs.
template <class Body>
void measure(PassCost& cost, const std::shared_ptr<MemoryMeter>& meter, Index pairs, Body body) {
  const MeterScope scope(meter);
  const auto start = std::chrono::steady_clock::now();
  body();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  cost = {{Traffic{}}, {meter->peak()}, {Work{pairs, pairs > 0 ? 1 : 0}}, {0.0}, spent.count()};
}

}  // namespace ringcraft::verify
