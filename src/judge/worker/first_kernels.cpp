// first.cpp for a worker with kernels: before it locks up it reads the list of shared variables from
// its own program, and closes that file, so that no later code can read it.
#include <unistd.h>

#include "host/checker/places.hpp"
#include "process/descriptor_numbers.hpp"
#include "process/lock.hpp"

namespace {

void read_and_lock_up() {
  ringcraft::simt::read_program_from(ringcraft::process::kProgramDescriptor);
  (void)ringcraft::simt::static_arrays();
  ::close(ringcraft::process::kProgramDescriptor);
  ringcraft::process::lock_up();
}

[[gnu::used, gnu::section(".preinit_array")]] void (*const first)() = read_and_lock_up;

}  // namespace
