#pragma once
/// @file
/// A worker gives up what no exercise needs, before any of the student's code runs.

namespace ringcraft::judge {

/// From here on this thread, and all that it starts, compute, and talk over what is open already. Every system
/// call beyond that fails with EACCES (opening files, changing what lies in folders, looking into other
/// processes, ending them or setting their limits ...) or, where it opens a socket or starts a program, ends
/// this one. Its own program stays open as kProgramDescriptor (protocol.hpp). Where the kernel offers no
/// seccomp (it does on x86-64 and AArch64), and under sanitizers, whose reports need files, nothing changes.
void lock_up();

}  // namespace ringcraft::judge
