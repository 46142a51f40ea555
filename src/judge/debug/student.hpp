#pragma once
/// @file
/// The seam inside a program that is debugged: the one function by which the checks reach the student's
/// object, which contains a copy of the library that no other code sees.

#include "judge/wire/wire.hpp"
#include "ringcraft/comm/communicator.hpp"

/// Calls an exercise once on the rank of `comm` and puts its reply into `reply`. Throws what the student's
/// function throws.
extern "C" void ringcraft_serve(const char* exercise, const ringcraft::judge::Bytes& arguments,
                                ringcraft::Communicator& comm, ringcraft::judge::Bytes& reply);
