#pragma once
/// @file
/// Places in a kernel's source, small enough to be stored with every access; only a finding resolves file and
/// line.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/executor.hpp"
#include "host/finding.hpp"

namespace ringcraft::simt {

/// A place: of machine code or of a Site.
using Place = std::uint32_t;

/// The return address of a call, within 1 GB of this code.
Place place_of(const void* return_address);
/// A place that is known already.
Place place_of(Site site);

/// The line, or the machine code if Settings::name_lines is not set. Lines of machine code need debug
/// information and the program addr2line (package binutils).
CodePlace resolved(Place place);
/// Many at once: one call of addr2line.
std::vector<CodePlace> resolved(const std::vector<Place>& places);
/// Without folders.
CodePlace code_place(const Site& site);

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
/// All static arrays of this program, by location; read once, from its symbol table. A `thread_local`
/// variable is one if a gap (device.hpp) is declared in the same scope.
const std::vector<StaticArray>& static_arrays();
/// A function whose `__shared__` variables, with those outside any function, exceed the limit of a thread
/// block, if there is one.
std::optional<Finding> too_much_shared(const std::vector<StaticArray>& arrays);

}  // namespace ringcraft::simt
