#pragma once
/// @file
/// The exercises by name, for a program that contains the student's function: a worker, or a program for a
/// debugger.

#include <string>

#include "judge/wire/wire.hpp"
#include "ringcraft/comm/communicator.hpp"

namespace ringcraft::judge {

/// Calls an exercise once on this rank: reads its arguments into the arena, returns the reply. Throws Error
/// if there is no such exercise, and whatever the function throws.
Bytes serve(const std::string& exercise, Reader& arguments, Arena& arena, Communicator& comm);

}  // namespace ringcraft::judge
