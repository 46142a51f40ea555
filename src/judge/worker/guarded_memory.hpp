#pragma once
/// @file
/// Memory of a call's arguments between two pages that nobody may touch. Its bytes meet one of them, so that
/// whoever reads or writes one element too far crashes; what lies between them and the other page, all ones
/// (NaN), is looked at after the call.

#include <optional>

#include "judge/wire/wire.hpp"

namespace ringcraft::judge {

/// The memory, for views and buffers.
const Memory& guarded_memory();

/// The arguments of one call, in guarded memory. There is one at a time.
class GuardedArena final : public Arena {
 public:
  explicit GuardedArena(Placement placement);
  void begin_argument(std::uint64_t number) override;
  /// The first place beside the arguments that has been written so far; also of those that are gone.
  std::optional<Stray> stray() const;
};

/// What of the arguments lies beside this address, if it is on one of their pages that nobody may touch. For
/// a signal handler.
std::optional<Stray> beside_arguments(const void* address);

}  // namespace ringcraft::judge
