#pragma once
/// @file
/// The filter of system calls around a student's code. The judge puts it on before the program with that code
/// begins (child.hpp), and the program once more before any of the student's code runs (worker/first.cpp).

namespace ringcraft::process {

/// The one start of a program that a lock still lets through, execveat(program, path, arguments, environment,
/// AT_EMPTY_PATH): these very pointers, of which the program that starts knows none.
struct OneStart {
  int program;  ///< an open descriptor
  const char* path;
  char* const* arguments;
  char* const* environment;
};

/// From here on this thread, and all that it starts, compute, and talk over what is open already. Every
/// system call beyond that fails with EACCES (opening or looking at files, changing what lies in folders,
/// looking into other processes, ending them or setting their limits ...) or, where it opens a socket, starts
/// a process or another program, ends this one. Between fork and exec it may be called: it makes system calls
/// and nothing else. `threads`: whether others may be started. Where the kernel offers no seccomp (it does on
/// x86-64 and AArch64) nothing changes.
void lock_up(const OneStart* start = nullptr, bool threads = true);

/// Whether this kernel holds a process to it.
bool lock_is_held();

}  // namespace ringcraft::process
