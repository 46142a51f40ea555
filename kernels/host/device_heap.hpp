#pragma once
/// @file
/// Device memory of the host executor: pieces of the host's, with unused space between them, and freed ones
/// that are kept for a while, so that an access out of an array's bounds or after its lifetime is recognised.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

namespace ringcraft::simt {

/// Unused bytes around each piece, and around dynamic shared memory.
inline constexpr std::size_t kRedZone = std::size_t{64} << 10;

/// The result of one cudaMalloc.
struct Piece {
  std::uintptr_t first = 0;  ///< address
  std::size_t bytes = 0;
  int number = 0;  ///< counted from 1 over the life of the process
  bool freed = false;
};

/// All pieces. Any thread of the operating system may call.
class DeviceHeap {
 public:
  /// The one of this process.
  static DeviceHeap& get();
  /// A piece aligned to 256 bytes, or null.
  void* allocate(std::size_t bytes);
  /// Whether this was the first byte of a living piece.
  bool free(void* memory);
  /// Whether these bytes lie within one living piece.
  bool holds(const void* memory, std::size_t bytes) const;
  /// The living and the lately freed ones, by address.
  std::vector<Piece> pieces() const;

  /// From now on all pieces come from one range of addresses, which can be taken from the host's code
  /// (WithoutDevice). Before the first allocation.
  void gather();
  /// Counts one more, or one less, that takes device memory away, or has access to it nevertheless.
  void take(int more);
  void give(int more);

 private:
  void* block_of(std::size_t whole);
  void protect() const;

  std::byte *arena_ = nullptr, *top_ = nullptr;
  std::multimap<std::size_t, void*> unused_;  // blocks of the range, by size
  int taken_ = 0, given_ = 0;
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, Piece> pieces_;  // by first byte
  std::deque<std::uintptr_t> freed_;        // oldest first
  std::size_t freed_bytes_ = 0;
  int count_ = 0;
};

/// While this lives, touching device memory is a segmentation fault, as for the host of a GPU: except within
/// a DeviceAccess, which launches and copies have.
class WithoutDevice {
 public:
  WithoutDevice() { DeviceHeap::get().take(1); }
  ~WithoutDevice() { DeviceHeap::get().take(-1); }
  WithoutDevice(const WithoutDevice&) = delete;
  WithoutDevice& operator=(const WithoutDevice&) = delete;
};
class DeviceAccess {
 public:
  DeviceAccess() { DeviceHeap::get().give(1); }
  ~DeviceAccess() { DeviceHeap::get().give(-1); }
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
};

}  // namespace ringcraft::simt
