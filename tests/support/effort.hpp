#pragma once
// The effort of a test. With RINGCRAFT_LONG=1 (./ringcraft test --long) every count is as promised; without
// it some tests try fewer, and a sanitizer, which makes everything about ten times as slow, sees a part of
// the examples. A test that tries only a part prints how many.

#include <cstdlib>
#include <string_view>
#include <vector>

namespace ringcraft::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kUnderSanitizer = true;
#else
inline constexpr bool kUnderSanitizer = false;
#endif

inline bool long_run() {
  const char* wish = std::getenv("RINGCRAFT_LONG");
  return wish != nullptr && std::string_view(wish) == "1";
}

// Whether this run tries a part of the examples.
inline bool tries_fewer() { return kUnderSanitizer && !long_run(); }

// All of them, or every `step`-th, the first one among them, if this run tries fewer.
template <class T>
std::vector<T> fewer_under_sanitizer(std::vector<T> all, std::size_t step) {
  if (!tries_fewer()) return all;
  std::vector<T> some;
  for (std::size_t i = 0; i < all.size(); i += step) some.push_back(std::move(all[i]));
  return some;
}

// All of them in a long run, else one: the next at each turn.
template <class T>
std::vector<T> one_by_turns(const std::vector<T>& all, std::size_t turn) {
  if (long_run()) return all;
  return {all[turn % all.size()]};
}

}  // namespace ringcraft::testing
