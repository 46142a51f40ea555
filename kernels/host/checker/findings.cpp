// Builds the findings of a checked launch, as data.
#include <algorithm>

#include "host/checker/checker.hpp"
#include "host/thread_block.hpp"

namespace ringcraft::simt {

Finding Checker::about(Mistake mistake, int thread, Access what, Place place) const {
  Finding finding;
  finding.mistake = mistake;
  finding.block = blocks_.back().second;
  finding.access = {.thread = thread, .what = what, .place = resolved(place)};
  return finding;
}

Finding Checker::about(Mistake mistake, const Seen& seen, std::size_t offset) {
  Finding finding = about(mistake, seen.thread, seen.what, seen.place);
  finding.memory = memory_of(seen.region, offset);
  finding.bytes = seen.bytes;
  return finding;
}

FoundAccess Checker::access_of(const Touch& touch, Access what) const {
  const auto next =
      std::upper_bound(blocks_.begin(), blocks_.end(), touch.when,
                       [](std::uint64_t when, const auto& block) { return when < block.first; });
  return {.thread = touch.thread,
          .block = std::prev(next)->second,
          .other_block = !clock_.in_block(touch),
          .what = what,
          .place = resolved(Place{touch.place})};
}

FoundMemory Checker::memory_of(const Region& region, std::size_t offset) {
  FoundMemory memory{.offset = static_cast<std::int64_t>(offset), .bytes = region.bytes};
  switch (region.kind) {
    case Region::kDevice:
      memory.kind = FoundMemory::Kind::kDevice;
      memory.piece = region.piece->number;
      break;
    case Region::kStatic:
      memory.kind = FoundMemory::Kind::kStatic;
      if (const StaticArray* const array = nearest_array(offset)) {
        memory.name = array->name;
        memory.offset = static_cast<std::int64_t>(offset - array->first);
        memory.bytes = array->bytes;
      }
      break;
    default:
      memory.kind = FoundMemory::Kind::kDynamic;
  }
  return memory;
}

// False: something is wrong with the address as such.
bool Checker::within_bounds(const Seen& seen) {
  const Region& region = seen.region;
  const auto found = [&](Mistake mistake) {
    finding_ = about(mistake, seen, seen.offset);
    return false;
  };
  if (region.kind == Region::kDevice && region.piece->freed) return found(Mistake::kFreed);
  const StaticArray* const array = region.kind == Region::kStatic ? nearest_array(seen.offset) : nullptr;
  const std::size_t offset = seen.offset - (array == nullptr ? 0 : array->first);
  const std::size_t bytes = array == nullptr ? region.bytes : array->bytes;
  if (offset >= bytes || seen.bytes > bytes - offset) {
    found(Mistake::kOutOfBounds);
    if (region.kind == Region::kStatic)
      ThreadBlock::current().abandon();  // the memory there belongs to the executor
    return false;
  }
  if (!seen.whole || (region.first + seen.offset) % seen.bytes == 0) return true;
  found(Mistake::kMisaligned);
  ThreadBlock::current().abandon();  // the processor would reject it, too
  return false;
}

void Checker::found_not_own(Mistake mistake, Access what, Place place, int owner, bool other_block) {
  finding_ = about(mistake, thread_, what, place);
  finding_->earlier.thread = owner;
  finding_->earlier.other_block = other_block;
}

void Checker::found_in_flight(const Seen& seen, std::size_t offset, const Touch& copy) {
  finding_ = about(Mistake::kInFlight, seen, offset);
  finding_->earlier = access_of(copy, Access::kWrite);
  finding_->earlier.other_block = false;  // a copy ends with its thread block
}

void Checker::found_race(const Seen& seen, std::size_t offset, const Race& race) {
  const Touch& other = *race.touch;
  const bool blocks = !clock_.in_block(other);
  finding_ = about(Mistake::kRace, seen, offset);
  finding_->earlier = access_of(other, race.access);
  finding_->access.block = finding_->block;
  finding_->access.other_block = blocks;  // then both say of which thread block they are
  finding_->ordering = blocks                                  ? Ordering::kNothing
                       : other.thread / 32 == seen.thread / 32 ? Ordering::kWarp
                                                               : Ordering::kBlock;
}

}  // namespace ringcraft::simt
