#pragma once
/// @file
/// Which kernels a step consists of: launch() records them in launches_seen.

#include <cstddef>
#include <vector>

namespace ringcraft::kernels {

/// A launch.
struct Launched {
  const void* kernel;        ///< what the runtime knows it by
  std::size_t shared_bytes;  ///< of dynamic shared memory
};

/// Where the launches of this thread are written down; null: nowhere. Where a rung begins, the list begins
/// anew.
inline thread_local std::vector<Launched>* launches_seen = nullptr;

/// Notes one; launch() does.
inline void note_launch(const void* kernel, std::size_t shared_bytes) {
  if (launches_seen != nullptr) launches_seen->push_back({kernel, shared_bytes});
}

}  // namespace ringcraft::kernels
