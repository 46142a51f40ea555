#pragma once
/// @file
/// Fiber ranks: N ranks that take turns in one thread, over the same Switchboard as thread ranks. A rank that
/// waits costs a change of stacks instead of a sleep, so that thousands of them are cheap, and every run
/// takes the same turns. They compute one after the other: for simulations, not for speed.

#include "ringcraft/comm/threads.hpp"

namespace ringcraft {

/// Whether this build has fibers (Boost.Context); without them run_fibers runs threads.
bool has_fibers();

/// Does what run_ranks does, reports and exceptions included, with the ranks as fibers of the calling thread.
/// A body has a stack of 128 KiB.
RanksReport run_fibers(int world_size, const std::function<void(ThreadCommunicator&)>& body,
                       SwitchboardOptions options = {});

}  // namespace ringcraft
