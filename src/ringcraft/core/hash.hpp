#pragma once
/// @file
/// A short fingerprint of text: the same on every machine and in every version, and no protection against
/// anyone.

#include <cstdint>
#include <string_view>

namespace ringcraft {

/// FNV-1a, in 32 or 64 bits. Source: the draft draft-eastlake-fnv of the IETF.
template <class Bits>
constexpr Bits fnv1a(std::string_view text) {
  static_assert(sizeof(Bits) == 4 || sizeof(Bits) == 8);
  Bits hash = sizeof(Bits) == 4 ? Bits(0x811c9dc5) : Bits(0xcbf29ce484222325);
  constexpr Bits prime = sizeof(Bits) == 4 ? Bits(0x01000193) : Bits(0x100000001b3);
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * prime;
  return hash;
}

}  // namespace ringcraft
