#pragma once
/// @file
/// A student's object file, read byte by byte: which sections and symbols it may have. A linker does what
/// some of them say (load a library, start with another program, run code first), so whatever an ordinary
/// function does not need is refused. Who may define and call what is asked of nm (symbols.hpp).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ringcraft::judge {

/// One section.
struct Section {
  std::string name;  ///< ".text._ZN9ringcraft5mergeEv"
  std::uint32_t type;
  std::uint64_t flags, bytes;
};

/// One symbol that is defined without a section, or in an unusual way.
struct OddSymbol {
  std::string name;
  enum class Why : char { kIfunc, kAbsolute, kCommon } why;
};

/// What is looked at.
struct ObjectFile {
  std::vector<Section> sections;
  std::vector<OddSymbol> odd;
};

/// Reads a relocatable ELF file of 64 bits in this machine's byte order; nothing if it is none, or damaged.
std::optional<ObjectFile> read_object(std::span<const std::byte> bytes);

/// A sentence for the first thing that a lesson's object may not have; empty: none.
std::string complaint_about_object(const ObjectFile& object);

}  // namespace ringcraft::judge
