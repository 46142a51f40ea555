// Find the bug 301: the file beside this one is right on even rings and stops on odd ones.
#include "judge/puzzle/puzzle_kinds.hpp"

namespace ringcraft::judge {

template <>
Puzzle puzzle_of<RINGCRAFT_PUZZLE>() {
  return repair(RINGCRAFT_PUZZLE, "The exchange that stops on odd rings",
                "it passes on 2, 4 and 6 ranks: find what is wrong on 3, and repair it with few lines", 5);
}

}  // namespace ringcraft::judge
