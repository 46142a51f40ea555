#pragma once
/// @file
/// Words for memory that a program touched and should not have.

#include <string>

#include "judge/wire/protocol.hpp"

namespace ringcraft::judge {

/// "read the element after the last one of its second argument (48 bytes)"; empty for memory that is no
/// neighbour of anything.
std::string text_of(const Stray& stray);

}  // namespace ringcraft::judge
