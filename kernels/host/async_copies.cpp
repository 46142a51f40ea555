// Records the asynchronous copies of a thread, and delivers them at their waits.
#include "host/async_copies.hpp"

#include <cstring>

#include "host/checker/checker.hpp"
#include "host/thread_block.hpp"

namespace ringcraft::simt {

constexpr std::size_t kBytes = 16;

void AsyncCopies::start(void* to, const void* from, bool valid, Site site) {
  const ThreadBlock& block = ThreadBlock::current();
  block.require_aligned(to, kBytes, "cp.async", site);
  if (valid) block.require_aligned(from, kBytes, "cp.async", site);
  if (Checker::running != nullptr)
    Checker::running->copy_starts(to, valid ? from : nullptr, kBytes, place_of(site));
  std::memset(to, 0xFF, kBytes);
  copies_.push_back({to, valid ? from : nullptr, groups_});
}

void AsyncCopies::commit() { ++groups_; }

void AsyncCopies::wait(int newest, Site site) {
  if (is_left_out(site)) return;
  std::size_t arrived = 0;
  for (; arrived < copies_.size(); ++arrived) {
    const Copy& copy = copies_[arrived];
    if (copy.group + static_cast<std::size_t>(newest) >= groups_) break;  // also those of no group yet
    if (copy.from != nullptr)
      std::memcpy(copy.to, copy.from, kBytes);
    else
      std::memset(copy.to, 0, kBytes);
    if (Checker::running != nullptr) Checker::running->copy_arrives(copy.to, kBytes);
  }
  copies_.erase(copies_.begin(), copies_.begin() + static_cast<std::ptrdiff_t>(arrived));
}

void AsyncCopies::clear() {
  copies_.clear();
  groups_ = 0;
}

AsyncCopies& async_copies() { return ThreadBlock::current().lane().copies; }

}  // namespace ringcraft::simt
