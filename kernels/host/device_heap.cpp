// Allocates the host executor's device memory, and quarantines freed pieces.
#include "host/device_heap.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <utility>

namespace ringcraft::simt {
namespace {

constexpr std::size_t kPage = 4096, kArena = std::size_t{512} << 20;
constexpr std::size_t kKeptPieces = 64, kKeptBytes = std::size_t{16} << 20;  // of freed ones

// Of a piece and the space around it, in whole pages.
std::size_t whole_of(std::size_t bytes) { return (kRedZone + bytes + kRedZone + kPage - 1) / kPage * kPage; }

}  // namespace

DeviceHeap& DeviceHeap::get() {
  static auto* const heap = new DeviceHeap;  // outlives static objects that still free
  return *heap;
}

void* DeviceHeap::allocate(std::size_t bytes) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  const std::lock_guard lock(mutex_);
  auto* const block = static_cast<std::byte*>(block_of(whole_of(bytes)));
  if (block == nullptr) return nullptr;
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
    void* const block = reinterpret_cast<std::byte*>(oldest->first) - kRedZone;
    if (arena_ == nullptr)
      std::free(block);
    else
      unused_.emplace(whole_of(oldest->second.bytes), block);
    pieces_.erase(oldest);
  }
  return true;
}

void DeviceHeap::gather() {
  const std::lock_guard lock(mutex_);
  if (arena_ != nullptr) return;
  void* const range =
      ::mmap(nullptr, kArena, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range != MAP_FAILED) arena_ = top_ = static_cast<std::byte*>(range);
}

void* DeviceHeap::block_of(std::size_t whole) {
  if (arena_ == nullptr) return std::aligned_alloc(kPage, whole);
  if (const auto unused = unused_.find(whole); unused != unused_.end()) {
    void* const block = unused->second;
    unused_.erase(unused);
    return block;
  }
  if (whole > static_cast<std::size_t>(arena_ + kArena - top_)) return nullptr;
  return std::exchange(top_, top_ + whole);
}

void DeviceHeap::take(int more) {
  const std::lock_guard lock(mutex_);
  taken_ += more;
  protect();
}

void DeviceHeap::give(int more) {
  const std::lock_guard lock(mutex_);
  given_ += more;
  if (taken_ > 0) protect();
}

void DeviceHeap::protect() const {
  if (arena_ == nullptr) return;
  const int how = taken_ > 0 && given_ == 0 ? PROT_NONE : PROT_READ | PROT_WRITE;
  ::mprotect(arena_, kArena, how);
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
