#pragma once
/// @file
/// The kernels of a step: launch() records them in launches_seen.

#include <cstddef>
#include <vector>

namespace ringcraft::kernels {

/// A launch.
struct Launched {
  const void* kernel;        ///< its address, which identifies it to the runtime
  std::size_t shared_bytes;  ///< of dynamic shared memory
};

/// The list that records the launches of this thread; null: none. Every rung starts a new list.
inline thread_local std::vector<Launched>* launches_seen = nullptr;

/// Records one; called by launch().
inline void note_launch(const void* kernel, std::size_t shared_bytes) {
  if (launches_seen != nullptr) launches_seen->push_back({kernel, shared_bytes});
}

}  // namespace ringcraft::kernels
