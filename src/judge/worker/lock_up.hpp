#pragma once
/// @file
/// A worker gives up what no exercise needs, before it calls a student's function.

namespace ringcraft::judge {

/// From here on this process and all its threads compute, and talk over what is open already. Opening files
/// and sockets, changing what lies in folders, starting programs, looking into other processes and ending them
/// all fail with EACCES. Where the kernel offers no seccomp (it does on x86-64 and AArch64), and under
/// sanitizers, whose reports need files, nothing changes.
void lock_up();

}  // namespace ringcraft::judge
