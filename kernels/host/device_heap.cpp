// Device memory of the host executor (see device_heap.hpp).
#include "host/device_heap.hpp"

#include <cstdlib>

namespace ringcraft::simt {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kKeptPieces = 64, kKeptBytes = std::size_t{16} << 20;  // of freed ones

}  // namespace

DeviceHeap& DeviceHeap::get() {
  static auto* const heap = new DeviceHeap;  // outlives static objects that still free
  return *heap;
}

void* DeviceHeap::allocate(std::size_t bytes) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  const std::size_t whole = kRedZone + (bytes + kAlignment - 1) / kAlignment * kAlignment + kRedZone;
  auto* const block = static_cast<std::byte*>(std::aligned_alloc(kAlignment, whole));
  if (block == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto first = reinterpret_cast<std::uintptr_t>(block + kRedZone);
  pieces_[first] = {first, bytes, ++count_, false};
  return block + kRedZone;
}

bool DeviceHeap::free(void* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = pieces_.find(reinterpret_cast<std::uintptr_t>(memory));
  if (found == pieces_.end() || found->second.freed) return false;
  found->second.freed = true;
  freed_.push_back(found->first);
  freed_bytes_ += found->second.bytes;
  while (freed_.size() > kKeptPieces || freed_bytes_ > kKeptBytes) {
    const auto oldest = pieces_.find(freed_.front());
    freed_.pop_front();
    freed_bytes_ -= oldest->second.bytes;
    std::free(reinterpret_cast<std::byte*>(oldest->first) - kRedZone);
    pieces_.erase(oldest);
  }
  return true;
}

bool DeviceHeap::holds(const void* memory, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto first = reinterpret_cast<std::uintptr_t>(memory);
  auto piece = pieces_.upper_bound(first);
  if (piece == pieces_.begin()) return false;
  const Piece& before = (--piece)->second;
  return !before.freed && first + bytes <= before.first + before.bytes;
}

std::vector<Piece> DeviceHeap::pieces() const {
  const std::lock_guard lock(mutex_);
  std::vector<Piece> all;
  for (const auto& [first, piece] : pieces_) all.push_back(piece);
  return all;
}

}  // namespace ringcraft::simt
