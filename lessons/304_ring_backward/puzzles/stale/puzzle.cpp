// Find the bug 304: the file beside this one reuses a buffer that the transport may still be reading.
#include "judge/puzzle/puzzle_kinds.hpp"

namespace ringcraft::judge {

template <>
Puzzle puzzle_of<RINGCRAFT_PUZZLE>() {
  return repair(RINGCRAFT_PUZZLE, "The ring that saves a buffer",
                "it is right on every fast network: find the mistake that a slow one shows, and repair it "
                "with few lines",
                8);
}

}  // namespace ringcraft::judge
