#pragma once
// The multiply-add peak of one core, an upper bound for every product.

namespace ringcraft::tool {

// Floating-point operations of one run_peak, float32; a multiply-add is two.
double peak_flop();
// Runs chains of multiply-adds that do not depend on each other, on full registers.
void run_peak();

}  // namespace ringcraft::tool
