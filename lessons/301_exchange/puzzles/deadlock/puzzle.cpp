// Find the bug 301: the file beside this one is right on even rings and stops on odd ones.
#include "judge/puzzle/puzzle_kinds.hpp"

namespace ringcraft::judge {

Puzzle puzzle_301_deadlock() {
  return repair("301.deadlock", "The exchange that stops on odd rings",
                "it passes on 2, 4 and 6 ranks: find what is wrong on 3, and repair it with few lines", 5);
}

}  // namespace ringcraft::judge
