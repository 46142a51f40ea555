// What a checked launch says (see checker.hpp).
#include <algorithm>

#include "host/checker/checker.hpp"
#include "host/thread_block.hpp"

namespace ringcraft::simt {
namespace {

const char* in_words(Access access, const char* read, const char* write, const char* atomic) {
  switch (access) {
    case Access::kRead:
      return read;
    case Access::kWrite:
      return write;
    case Access::kAtomic:
      return atomic;
  }
  return "?";
}
const char* past(Access access) { return in_words(access, "read", "wrote", "changed it atomically"); }
const char* present(Access access) { return in_words(access, "reads", "writes", "changes atomically"); }

}  // namespace

std::string Checker::in_block(const std::string& sentence) const {
  return "thread block " + described(blocks_.back().second) + ": " + sentence;
}

std::string Checker::thread_of(const Touch& touch, bool with_block) const {
  const std::string thread = "thread " + std::to_string(touch.thread);
  if (!with_block) return thread;
  const auto next =
      std::upper_bound(blocks_.begin(), blocks_.end(), touch.when,
                       [](std::uint64_t when, const auto& block) { return when < block.first; });
  return thread + " of thread block " + described(std::prev(next)->second);
}

std::string Checker::memory_of(const Region& region, std::size_t offset) {
  switch (region.kind) {
    case Region::kDevice:
      return "byte " + std::to_string(static_cast<std::ptrdiff_t>(offset)) + " of device memory (piece " +
             std::to_string(region.piece->number) + " of cudaMalloc, " + std::to_string(region.bytes) +
             " bytes)";
    case Region::kStatic: {
      const StaticArray* const array = nearest_array(offset);
      if (array == nullptr) return "byte " + std::to_string(offset) + " of static shared memory";
      return "byte " + std::to_string(static_cast<std::ptrdiff_t>(offset - array->first)) +
             " of the shared variable " + array->name;
    }
    default:
      return "byte " + std::to_string(static_cast<std::ptrdiff_t>(offset)) + " of dynamic shared memory";
  }
}

// False: something is wrong with the address as such, and is said.
bool Checker::within_bounds(const Seen& seen) {
  const Region& region = seen.region;
  const auto say = [&](const std::string& what) {
    finding_ = in_block("thread " + std::to_string(seen.thread) + " " + present(seen.what) + " " +
                        std::to_string(seen.bytes) + " bytes at " + described(seen.place) + ", at " +
                        memory_of(region, seen.offset) + what);
    return false;
  };
  if (region.kind == Region::kDevice && region.piece->freed) return say(", which has been freed");
  const StaticArray* const array = region.kind == Region::kStatic ? nearest_array(seen.offset) : nullptr;
  const std::size_t offset = seen.offset - (array == nullptr ? 0 : array->first);
  const std::size_t bytes = array == nullptr ? region.bytes : array->bytes;
  if (offset >= bytes || seen.bytes > bytes - offset) {
    const char* const whose = region.kind == Region::kStatic ? ", it has " : ", the launch asked for ";
    say(region.kind == Region::kDevice ? ": out of bounds"
                                       : ": out of bounds" + (whose + std::to_string(bytes)) + " bytes");
    if (region.kind == Region::kStatic)
      ThreadBlock::current().abandon();  // what lies there is the executor's own
    return false;
  }
  if (!seen.whole || (region.first + seen.offset) % seen.bytes == 0) return true;
  const std::string width = std::to_string(seen.bytes);
  say(": an access of " + width + " bytes at once needs an address that is a multiple of " + width);
  ThreadBlock::current().abandon();  // the processor would not take it either
  return false;
}

void Checker::suspect_unwritten(const Seen& seen, std::size_t offset) {
  if (suspicion_.empty())
    suspicion_ = in_block("thread " + std::to_string(seen.thread) + " " + present(seen.what) + " " +
                          memory_of(seen.region, offset) + " at " + described(seen.place) +
                          ", which no thread of this block has written before");
}

void Checker::found_not_shared(Place place) {
  finding_ =
      in_block("thread " + std::to_string(thread_) + " hands ldmatrix an address of device memory at " +
               described(place) + ": it loads from shared memory alone");
}

void Checker::found_not_registers(Place place) {
  finding_ = in_block("thread " + std::to_string(thread_) + " hands mma an operand in memory at " +
                      described(place) + ": it takes registers, so load the numbers into variables first");
}

void Checker::found_not_own(Access what, Place place, const std::string& whose) {
  finding_ = in_block("thread " + std::to_string(thread_) + " " + present(what) + " " + whose + " at " +
                      described(place) + ": threads share numbers in shared and in device memory alone");
}

void Checker::found_in_flight(const Seen& seen, std::size_t offset, const Touch& copy) {
  finding_ = in_block("thread " + std::to_string(seen.thread) + " " + present(seen.what) + " " +
                      memory_of(seen.region, offset) + " at " + described(seen.place) +
                      ", but the cp.async that thread " + std::to_string(copy.thread) + " started at " +
                      described(copy.place) + " is still under way: that thread has not waited for it" +
                      (copy.thread == seen.thread ? "" : ", and a barrier must follow its wait"));
}

void Checker::found_race(const Seen& seen, std::size_t offset, const Race& race) {
  const Touch now{clock_.now(), seen.place, static_cast<std::uint16_t>(seen.thread), false};
  const Touch& other = *race.touch;
  const bool blocks = !clock_.in_block(other), same_warp = other.thread / 32 == now.thread / 32;
  finding_ =
      in_block("data race at " + memory_of(seen.region, offset) + ": " + thread_of(other, blocks) + " " +
               past(race.access) + " at " + described(other.place) + ", " + thread_of(now, blocks) + " " +
               present(seen.what) + " at " + described(now.place) + "; " +
               (blocks      ? "nothing orders the thread blocks of a launch"
                : same_warp ? "no __syncthreads or __syncwarp between"
                            : "no __syncthreads between"));
}

}  // namespace ringcraft::simt
