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

/// A static array.
struct StaticArray {
  std::string name;        ///< as in the source; empty: unknown
  std::size_t offset = 0;  ///< of the address asked for, from its first byte
};
/// From now on this program is read from an open file, for a process that may open none itself.
void read_program_from(int descriptor);
/// The `thread_local` variable of this program `offset` bytes into its storage.
StaticArray static_array_at(std::size_t offset);

}  // namespace ringcraft::simt
