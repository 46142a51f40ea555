#pragma once
/// @file
/// The score of a masked key, and the lse and maximum of a row without keys.

#include <limits>

namespace ringcraft::testing {

template <class T>
inline constexpr T kNone = -std::numeric_limits<T>::infinity();

}  // namespace ringcraft::testing
