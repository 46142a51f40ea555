// Which keys a query may see.
#include "ringcraft/problem/mask.hpp"

#include <algorithm>

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

KeyInterval MaskCursor::at(Position p) {
  Position start = 0, end = seqlen_;
  if (!mask_.cu_seqlens.empty()) {
    while (mask_.cu_seqlens[sequence_ + 1] <= p) ++sequence_;
    start = mask_.cu_seqlens[sequence_];
    end = mask_.cu_seqlens[sequence_ + 1];
  }
  // Written as comparisons of distances, so that no limit, however large, overflows.
  return {mask_.left >= p - start ? start : p - mask_.left,
          mask_.right >= end - 1 - p ? end : p + mask_.right + 1};
}

}  // namespace ringcraft
