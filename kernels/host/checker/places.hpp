#pragma once
/// @file
/// Places in a kernel's source, small enough to be remembered with every access; only a finding asks which
/// file and line they are.

#include <cstdint>
#include <string>
#include <vector>

#include "host/executor.hpp"

namespace ringcraft::simt {

/// A place: of machine code or of a Site.
using Place = std::uint32_t;

/// Where a call returns to, within 1 GB of this code.
Place place_of(const void* return_address);
/// A place that is known already.
Place place_of(Site site);

/// "03_online_softmax.cu:114", and behind it in brackets the header that the line lies in, if it does.
/// Machine code needs debug information and the program addr2line (package binutils).
std::string described(Place place);
/// "(1, 2, 3)"
std::string described(const Triple& triple);
/// Without folders.
std::string described(const Site& site);
/// Many at once: one call of addr2line.
std::vector<std::string> described(const std::vector<Place>& places);

/// A `__shared__` variable.
struct StaticArray {
  std::string name;       ///< as in the source
  std::string scope;      ///< the function, with its types, or the namespace that declares it
  bool local = false;     ///< a function declares it
  std::size_t first = 0;  ///< bytes from the begin of the thread's storage
  std::size_t bytes = 0;  ///< that it has
};
/// From now on this program is read from an open file, for a process that may open none itself.
void read_program_from(int descriptor);
/// All of this program, by where they lie; read once, from its symbol table. A `thread_local` variable is one
/// if a gap (device.hpp) stands in the same scope.
const std::vector<StaticArray>& static_arrays();
/// A sentence about a function whose `__shared__` variables, with those of no function, are more than a
/// thread block gets; empty: there is none.
std::string too_much_shared(const std::vector<StaticArray>& arrays);

}  // namespace ringcraft::simt
