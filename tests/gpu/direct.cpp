// Compares numbers in device memory directly, without the oracle.
#include "direct.hpp"

#include <cstring>

namespace ringcraft::kernels {

std::vector<float> numbers_of(const Buffer& device, const Stream& stream) {
  const Buffer host = copied_to_host(device, stream);
  const auto values = host.values<float>();
  return {values.begin(), values.end()};
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

Buffer normal_on_device(Extents extents, DType type, Random& random, const Stream& stream) {
  return copied_to_device(random_normal(extents, type, random), stream);
}

Small::Small(const CudaEngine& engine, std::uint64_t seed) : random(seed) {
  const auto normal = [&](Extents extents) {
    return normal_on_device(extents, engine.dtype(Role::kElement), random, engine.stream());
  };
  q = normal({1, 4, 130, 24});
  kv = {normal({1, 2, 130, 24}), normal({1, 2, 130, 24})};
}

}  // namespace ringcraft::kernels
