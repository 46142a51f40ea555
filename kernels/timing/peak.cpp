// Peaks by compute capability.
#include "timing/peak.hpp"

namespace ringcraft::kernels {
namespace {

// Of one SM in one clock. The makers' figures are these, times SMs, times the clock: 312 TFLOP/s in bfloat16
// for an A100 (108 SMs, 1.41 GHz), 989 for an H200 (132 SMs, 1.83 GHz).
struct Capability {
  int major, minor;
  double bfloat16, float32;
};
constexpr Capability kCapabilities[] = {
    {8, 0, 2048, 128}, {8, 6, 512, 256},   {8, 7, 1024, 256}, {8, 9, 512, 256},
    {9, 0, 4096, 256}, {10, 0, 8192, 256}, {12, 0, 512, 256},
};

}  // namespace

double peak_rate(const Device& device, DType type) {
  for (const Capability& c : kCapabilities)
    if (c.major == device.major && c.minor == device.minor)
      return (type == DType::kBFloat16 ? c.bfloat16 : c.float32) * device.multiprocessors * device.clock_hz;
  return 0;
}

}  // namespace ringcraft::kernels
