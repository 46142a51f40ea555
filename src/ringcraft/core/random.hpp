#pragma once
/// @file
/// Seeded random numbers. The same seed gives the same numbers on every machine: the generator is the
/// standard mt19937_64, whose output the C++ standard fixes, and the normal numbers are made from it here,
/// because the standard's own distributions differ between libraries.

#include <cstdint>
#include <random>

#include "ringcraft/core/buffer.hpp"

namespace ringcraft {

/// A stream of random numbers that is decided by its seed.
class Random {
 public:
  /// The stream of this seed.
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// Uniform in [0, 1), 53 bits.
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  /// Uniform integer in [low, high], both included.
  Index integer(Index low, Index high);
  /// Standard normal, by Box and Muller.
  double normal();

 private:
  std::mt19937_64 engine_;
  double spare_ = 0;
  bool has_spare_ = false;
};

/// A host buffer of independent normal numbers with this standard deviation.
Buffer random_normal(Extents extents, DType type, Random& random, double deviation = 1.0);

}  // namespace ringcraft
