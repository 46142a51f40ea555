#pragma once
/// @file
/// The numbers of the descriptors that a child may be given besides its standard three. Both sides know them.

namespace ringcraft::process {

/// A socket to its parent, or a file for its reply.
inline constexpr int kWireDescriptor = 3;
/// Its own program, open for reading: its symbols say what an address belongs to.
inline constexpr int kProgramDescriptor = 4;

}  // namespace ringcraft::process
