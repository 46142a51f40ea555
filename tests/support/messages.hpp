#pragma once
/// @file
/// Messages that name themselves: every byte encodes its sender and its place in the message, so
/// that a misrouted, shifted or overtaken message is recognised.

#include <cstddef>
#include <vector>

#include "ringcraft/comm/communicator.hpp"

namespace ringcraft::testing {

using Bytes = std::vector<std::byte>;

/// The n-th message of this rank.
inline Bytes message_of(int rank, std::size_t length, int n = 0) {
  Bytes bytes(length);
  for (std::size_t i = 0; i < length; ++i)
    bytes[i] = static_cast<std::byte>((rank * 41 + n * 13 + static_cast<int>(i) * 7 + 1) % 251);
  return bytes;
}

/// The bytes that a switchboard under a seed fills receive buffers with.
inline Bytes poison(std::size_t length) { return Bytes(length, std::byte{0xFF}); }

}  // namespace ringcraft::testing
