#pragma once
/// @file
/// The exercises by name, for whoever has the student's function linked in: a worker, or a program that is
/// debugged.

#include <string>

#include "judge/wire/wire.hpp"
#include "ringcraft/comm/communicator.hpp"

namespace ringcraft::judge {

/// Calls an exercise once on this rank: reads its arguments into the arena, returns the reply. Throws Error
/// if there is no such exercise, and whatever the function throws.
Bytes serve(const std::string& exercise, Reader& arguments, Arena& arena, Communicator& comm);

}  // namespace ringcraft::judge
