#pragma once
/// @file
/// Memory of a call's arguments between two inaccessible pages. Its bytes meet one of them, so an access one
/// element too far crashes; the slack before the other page, all ones (NaN), is checked after the call.

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

/// The argument beside this address, if the address is on one of the inaccessible pages. For a signal
/// handler.
std::optional<Stray> beside_arguments(const void* address);

}  // namespace ringcraft::judge
