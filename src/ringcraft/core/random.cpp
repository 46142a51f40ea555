// Seeded uniform and normal numbers.
#include "ringcraft/core/random.hpp"

#include <cmath>
#include <numbers>

namespace ringcraft {

Index Random::integer(Index low, Index high) {
  const auto span = static_cast<double>(high - low + 1);
  return low + static_cast<Index>(uniform() * span);
}

double Random::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  // r = sqrt(-2 ln(1 - u)) and a uniform angle give two independent normal numbers; 1 - u is never 0.
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
  const double angle = 2.0 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

Buffer random_normal(Extents extents, DType type, Random& random, double deviation) {
  Buffer buffer(extents, DType::kFloat64);
  for (double& x : buffer.values<double>()) x = deviation * random.normal();
  return converted(buffer, type);
}

}  // namespace ringcraft
