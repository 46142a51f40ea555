// Describes a wrong index of a program on tiles in words, as a cause with an id and a question.
#include <string>

#include "verify/diagnose/tiles/tile_program.hpp"

namespace ringcraft::verify {
namespace {

std::string words_of(TileOperand operand) {
  switch (operand) {
    case TileOperand::kMax:
      return "m";
    case TileOperand::kSum:
      return "l";
    case TileOperand::kOutScaled:
      return "the row of O that is rescaled";
    case TileOperand::kOut:
      return "the row of O that is added to";
    case TileOperand::kLse:
      return "lse";
    case TileOperand::kDelta:
      return "delta";
    case TileOperand::kQuery:
      return "q of the scores";
    case TileOperand::kMaskRow:
      return "the range of visible keys";
    case TileOperand::kDout:
      return "dout of dP";
    case TileOperand::kDq:
      return "the row of dq that is added to";
    case TileOperand::kDkQuery:
      return "q of dk";
    case TileOperand::kDvDout:
      return "dout of dv";
    case TileOperand::kKey:
      return "k of the scores";
    case TileOperand::kMaskKey:
      return "the key that the mask is asked about";
    case TileOperand::kValue:
      return "v";
    case TileOperand::kDk:
      return "the row of dk that is added to";
    case TileOperand::kDv:
      return "the row of dv that is added to";
    case TileOperand::kDqKey:
      return "k of dq";
  }
  return "";
}

}  // namespace

Cause cause_of_slip(const TileSlip& slip) {
  const bool two = slip.first != slip.second, of_key = slip.first >= TileOperand::kKey;
  const std::string one = of_key ? "key" : "row", other = of_key ? "row" : "key";
  const std::string subject =
      words_of(slip.first) + (two ? " and " + words_of(slip.second) + " are" : " is") + " looked for ";
  const char* kQuestion =
      "A tile counts from its own first row and key, a tensor from the head's: which of the two does this "
      "index count?";
  const auto gradient = [](TileOperand operand) {
    return std::string(operand == TileOperand::kDq ? "dq" : operand == TileOperand::kDk ? "dk" : "dv");
  };
  switch (slip.index) {
    case TileIndex::kStored:
      return {"tile-stored",
              gradient(slip.first) + (two ? " and " + gradient(slip.second) : "") +
                  ": each tile stores its part over what earlier tiles gave, instead of adding to it",
              "Which tiles of rows and keys meet in one row of this gradient?"};
    case TileIndex::kTransposed: {
      const bool dk = slip.has(TileOperand::kDk), dv = slip.has(TileOperand::kDv);
      return {dk && dv ? "tile-turned"
              : dv     ? "BW5"
                       : "BW11",
              dk && dv ? "dk is computed with dS and dv with P, instead of their transposes"
              : dv
                  ? "dv is computed with P instead of its transpose: key j takes the weights that row j gives"
                  : "dk is computed with dS instead of its transpose: key j takes what row j gives",
              "Key j receives from which queries, and which index is summed?"};
    }
    case TileIndex::kWithinTile:
      return {"tile-index-within",
              subject + "at the number of the " + one + " within its tile instead of within the head",
              kQuestion};
    case TileIndex::kFirstOfTile:
      return {"tile-index-first",
              subject + "at the first " + one + " of the tile for all of its " + one + "s", kQuestion};
    case TileIndex::kOtherBase:
      return {"tile-index-base",
              subject + "counted from the tile's first " + other + " instead of its first " + one, kQuestion};
    case TileIndex::kNext:
      return {"tile-index-next", subject + "one " + one + " too far", kQuestion};
    case TileIndex::kBefore:
      return {"tile-index-before", subject + "one " + one + " too early", kQuestion};
  }
  return {};
}

}  // namespace ringcraft::verify
