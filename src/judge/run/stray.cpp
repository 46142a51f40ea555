// Says which argument, pointer or stack a crash or a stray write has met, and how far beside it.
#include "judge/run/stray.hpp"

#include <iterator>

namespace ringcraft::judge {
namespace {

std::string owner_of(const Stray& stray) {
  constexpr const char* kOrdinals[] = {"first", "second", "third",   "fourth",
                                       "fifth", "sixth",  "seventh", "eighth"};
  const std::string size = " (memory of " + std::to_string(stray.bytes) + " bytes)";
  if (stray.argument == kNoArgument) return "a copy of an argument" + size;
  return stray.argument < std::size(kOrdinals)
             ? "its " + std::string(kOrdinals[stray.argument]) + " argument" + size
             : "its argument " + std::to_string(stray.argument + 1) + size;
}

}  // namespace

std::string text_of(const Stray& stray) {
  using Where = Stray::Where;
  using How = Stray::How;
  constexpr std::uint64_t kOneElement = 8;  // bytes, at most
  const std::string touched = stray.how == How::kRead      ? "read "
                              : stray.how == How::kWritten ? "wrote "
                                                           : "touched ";
  const bool next = stray.distance < kOneElement;
  const std::string bytes = std::to_string(stray.distance) + " bytes ";
  switch (stray.where) {
    case Where::kNull:
      return touched + "through a null pointer";
    case Where::kStack:
      return "overflowed its stack (a function that calls itself without end, or a very large local array)";
    case Where::kBefore:
      return touched +
             (next ? "the element before the first one of " : bytes + "before the first element of ") +
             owner_of(stray);
    case Where::kAfter:
      return touched + (next ? "the element after the last one of " : bytes + "after the last element of ") +
             owner_of(stray);
    case Where::kElsewhere:
      return {};
  }
  return {};
}

}  // namespace ringcraft::judge
