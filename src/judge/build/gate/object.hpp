#pragma once
/// @file
/// A student's object file, read byte by byte: which sections and symbols it may have. Some of them
/// instruct a linker (load a library, start with another program, run code first), so everything that an
/// ordinary function does not need is refused. symbols.hpp decides from nm's list what a file may define and
/// call.

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

/// The parts of an object that the rules are about.
struct ObjectFile {
  std::vector<Section> sections;
  std::vector<OddSymbol> odd;
};

/// Reads a relocatable ELF file of 64 bits in this machine's byte order; nothing if it is none, or damaged.
std::optional<ObjectFile> read_object(std::span<const std::byte> bytes);

/// A sentence for the first thing that a lesson's object may not have; empty: none.
std::string complaint_about_object(const ObjectFile& object);

}  // namespace ringcraft::judge
