// The first object of a worker: it locks up before any constructor runs, the student's among them. So it
// comes first on the linker's command line, and its call is in the array that the C library runs first. Where
// the judge has already locked the worker up, from its first instruction, this is a second lock of the same
// kind. A sanitizer's reports need files: there is no lock.
#include "process/lock.hpp"

#ifndef RINGCRAFT_SANITIZED
namespace {

void lock_up() { ringcraft::process::lock_up(); }

[[gnu::used, gnu::section(".preinit_array")]] void (*const first)() = lock_up;

}  // namespace
#endif
