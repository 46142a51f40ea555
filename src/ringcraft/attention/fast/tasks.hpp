#pragma once
/// @file
/// A queue of tasks for the threads of one rank.

#include <functional>

#include "ringcraft/core/types.hpp"

namespace ringcraft {

/// Runs body(task, thread) once for each task from 0 to count - 1, on up to `threads` threads, the caller's
/// among them; returns when all tasks are done. Tasks are taken from a queue in their order, so put long ones
/// first. `thread` counts from 0 and names memory that no other running task uses. With one thread none is
/// started. Rethrows the exception of a task, after the running ones have ended; further ones are not begun.
void for_each_task(Index count, int threads, const std::function<void(Index task, int thread)>& body);

}  // namespace ringcraft
