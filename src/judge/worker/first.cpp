// The first object of a worker: it locks up before any constructor runs, the student's among them. So it
// comes first on the linker's command line, and its call into the array that the C library runs first.
#include "judge/worker/lock_up.hpp"

namespace {

[[gnu::used, gnu::section(".preinit_array")]] void (*const first)() = ringcraft::judge::lock_up;

}  // namespace
