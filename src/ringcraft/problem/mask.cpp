// A mask in words; key_ranges.cpp says which keys a query sees.
#include "ringcraft/problem/mask.hpp"

#include "ringcraft/core/shown.hpp"

namespace ringcraft {

std::string described(const Mask& mask) {
  std::string text;
  if (mask.left == kNoLimit && mask.right == kNoLimit) {
    text = "full";
  } else if (mask.left == kNoLimit && mask.right == 0) {
    text = "causal";
  } else if (mask.right == 0) {
    text = "window " + std::to_string(mask.left);
  } else {
    text = "left " + (mask.left == kNoLimit ? "open" : std::to_string(mask.left)) + ", right " +
           (mask.right == kNoLimit ? "open" : std::to_string(mask.right));
  }
  if (!mask.cu_seqlens.empty()) text += ", " + counted(mask.cu_seqlens.size() - 1, "sequence");
  return text;
}

}  // namespace ringcraft
