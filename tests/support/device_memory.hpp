#pragma once
/// @file
/// Ordinary memory that claims to be on a device: for the refusals of host code, without a GPU.

#include <cstdlib>

#include "ringcraft/core/buffer.hpp"

namespace ringcraft::testing {

inline const Memory& pretended_device_memory() {
  static const Memory memory{Space::kDevice,
                             [](std::size_t bytes) { return static_cast<std::byte*>(std::malloc(bytes)); },
                             [](std::byte* bytes) noexcept { std::free(bytes); }};
  return memory;
}

}  // namespace ringcraft::testing
