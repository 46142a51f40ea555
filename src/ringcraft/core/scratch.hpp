#pragma once
/// @file
/// Scratch<T>: working memory of a computation, aligned as tensors are. Vectorised code treats the unaligned
/// ends of a row apart, and rounds them differently; with memory that is aligned alike in every run, results
/// are the same bits in every run. Scratch is not counted by memory meters: it belongs to a kernel, not to a
/// rank's tensors.

#include <cstddef>
#include <new>
#include <vector>

namespace ringcraft {

/// Allocates at multiples of 64 bytes, as host_memory() does.
template <class T>
struct AlignedAllocator {
  using value_type = T;                              ///< type of the elements
  static constexpr std::align_val_t kAlignment{64};  ///< bytes

  AlignedAllocator() = default;
  /// All allocators are alike.
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}
  /// Memory for `count` elements. Throws std::bad_alloc.
  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kAlignment)); }
  /// Gives it back.
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, kAlignment); }
  friend bool operator==(const AlignedAllocator&, const AlignedAllocator&) { return true; }
};

/// A vector whose first element is aligned to 64 bytes.
template <class T>
using Scratch = std::vector<T, AlignedAllocator<T>>;

}  // namespace ringcraft
