// Describes each mistake of a walk over tiles in words, as a cause with an id and a question.
#include "verify/diagnose/kernels/tile_walk.hpp"

namespace ringcraft::verify {
namespace {

std::string words_of(TileWalk::Masked masked) {
  switch (masked) {
    case TileWalk::Masked::kFromZero:
      return "mask() counts the tiles from key 0 on: the n-th tile that is visited is masked as the one at "
             "key 64 n, though the walk begins with the first tile that is seen";
    case TileWalk::Masked::kAsFirst:
      return "mask() takes every tile for the one at key 0: keys are counted within their tile";
    case TileWalk::Masked::kAsVisited:
      return "mask() takes every tile for the first one that is visited";
    case TileWalk::Masked::kAsBefore:
      return "each tile is masked as the one before it";
    case TileWalk::Masked::kAsNext:
      return "each tile is masked as the one after it";
    case TileWalk::Masked::kNot:
      return "tiles that are seen in part are not masked: hidden keys count, and the zeros after the last "
             "key vote as scores of 0";
    case TileWalk::Masked::kBorder:
      return "only what lies after the last key is masked: keys that a row does not see count";
    case TileWalk::Masked::kLastOnly:
      return "only the last tile that is visited is masked";
    case TileWalk::Masked::kFirstOnly:
      return "only the first tile that is visited is masked";
    case TileWalk::Masked::kNoBegin:
      return "the mask knows where a row's keys end and not where they begin";
    case TileWalk::Masked::kNoEnd:
      return "the mask knows where a row's keys begin and not where they end";
    case TileWalk::Masked::kEndShort:
      return "the last key that a row sees is masked, too";
    case TileWalk::Masked::kEndLong:
      return "each row sees one key too many at its end";
    case TileWalk::Masked::kBehindFirst:
      return "a tile is masked only where it reaches past the end of the first row's keys: where it begins "
             "before some row's first key, keys before that count";
    case TileWalk::Masked::kBehindLast:
      return "a tile is masked only where it reaches past the end of the last row's keys: where it reaches "
             "past another row's end alone, or begins before some row's first key, hidden keys count";
    case TileWalk::Masked::kBeforeLast:
      return "a tile is masked only where it begins before the last row's first key: where it reaches past "
             "some row's end alone, hidden keys count";
    case TileWalk::Masked::kRight:
      break;
  }
  return "";
}

std::string words_of(TileWalk::Data data) {
  switch (data) {
    case TileWalk::Data::kBefore:
      return "those of the tile before it (the first tile has its own)";
    case TileWalk::Data::kNext:
      return "those of the tile after it (the last tile has its own)";
    case TileWalk::Data::kVisited:
      return "those of the first tile that is visited";
    case TileWalk::Data::kLast:
      return "those of the last tile that is visited";
    case TileWalk::Data::kFromZero:
      return "counted from key 0 on: the n-th tile that is visited has those at key 64 n";
    case TileWalk::Data::kZero:
      return "those of the tile at key 0";
    case TileWalk::Data::kFirstZero:
      return "right for all tiles but the first that is visited, which has those at key 0";
    case TileWalk::Data::kHalves:
      return "those of the first two tiles in turn: later ones are never copied";
    case TileWalk::Data::kPartLost:
      return "0 in a tile that is not whole";
    case TileWalk::Data::kRight:
      break;
  }
  return "";
}

std::string words_of(TileWalk::Visits visits) {
  switch (visits) {
    case TileWalk::Visits::kSkipsFirst:
      return "the first tile of keys is left out";
    case TileWalk::Visits::kSkipsLast:
      return "the last tile of keys is left out";
    case TileWalk::Visits::kFirstAlone:
      return "only the first tile of keys is visited";
    case TileWalk::Visits::kLastAlone:
      return "only the last tile of keys is visited";
    case TileWalk::Visits::kWholeAlone:
      return "a last tile that is not whole is left out";
    case TileWalk::Visits::kToFirstEnd:
      return "the walk ends where the keys of the tile's first row end";
    case TileWalk::Visits::kFromLast:
      return "the walk begins where the keys of the tile's last row begin";
    case TileWalk::Visits::kEverySecond:
      return "every second tile of keys is left out";
    case TileWalk::Visits::kLastTwice:
      return "the last tile of keys is added twice";
    case TileWalk::Visits::kAll:
      break;
  }
  return "";
}

std::string words_of(TileWalk::Skips skips) {
  switch (skips) {
    case TileWalk::Skips::kSomeUnseen:
      return "a warp leaves out tiles that not all of its rows see";
    case TileWalk::Skips::kByFirst:
      return "a warp asks of every tile whether the first one is seen, and leaves all of them out where it "
             "is not";
    case TileWalk::Skips::kByZero:
      return "a warp asks of every tile whether the one at key 0 is seen, and leaves all of them out where "
             "it is not";
    case TileWalk::Skips::kByFirstRow:
      return "a warp leaves out tiles that its first row does not see";
    case TileWalk::Skips::kByLastRow:
      return "a warp leaves out tiles that its last row does not see";
    case TileWalk::Skips::kUnseen:
    case TileWalk::Skips::kNone:
      break;
  }
  return "";
}

std::string words_of(TileWalk::Carry carry) {
  switch (carry) {
    case TileWalk::Carry::kNothing:
      return "the state begins anew with each tile: only the last tile is left";
    case TileWalk::Carry::kNoOut:
      return "O begins anew with each tile: it is that of the last one, divided by the sum over all";
    case TileWalk::Carry::kNoSum:
      return "l begins anew with each tile";
    case TileWalk::Carry::kOutUnscaled:
      return "O is not rescaled when the maximum grows from one tile to the next";
    case TileWalk::Carry::kSumUnscaled:
      return "l is not rescaled when the maximum grows from one tile to the next";
    case TileWalk::Carry::kNotFirstHalf:
      return "O of the rows 0 to 7 of each warp is not rescaled when the maximum grows";
    case TileWalk::Carry::kNotLastHalf:
      return "O of the rows 8 to 15 of each warp is not rescaled when the maximum grows";
    case TileWalk::Carry::kAll:
      break;
  }
  return "";
}

std::string words_of(TileWalk::Columns columns) {
  switch (columns) {
    case TileWalk::Columns::kPieces:
      return "only whole pieces of eight columns are there: the last head_dim % 8 columns of q, k and v are "
             "0";
    case TileWalk::Columns::kFours:
      return "only whole groups of four columns are there: the last head_dim % 4 columns of q, k and v are 0";
    case TileWalk::Columns::kSteps:
      return "only whole steps of 16 columns are there: the last head_dim % 16 columns of q, k and v are 0";
    case TileWalk::Columns::kLastLost:
      return "the last column of q, k and v is left out";
    case TileWalk::Columns::kAll:
      break;
  }
  return "";
}

}  // namespace

std::vector<Cause> causes_of_walk(const TileWalk& walk) {
  const TileWalk right;
  std::vector<Cause> causes;
  const auto add = [&](const char* id, const std::string& words, const char* question) {
    causes.push_back({id, words, question});
  };
  if (walk.masked != right.masked)
    add("walk-mask", words_of(walk.masked),
        "Which number does mask() get for the first key of a tile, and which tiles need it?");
  if (walk.keys != right.keys && walk.keys == walk.values)
    add("walk-data", "K and V of a tile are " + words_of(walk.keys),
        "From which key on is each tile copied, into which stage, and which stage is read?");
  else if (walk.keys != right.keys)
    add("walk-data", "K of a tile, not V, is wrong: its rows are " + words_of(walk.keys),
        "From which key on is each tile of K copied, into which stage, and which stage is read?");
  else if (walk.values != right.values)
    add("walk-data", "V of a tile, not K, is wrong: its rows are " + words_of(walk.values),
        "From which key on is each tile of V copied, into which stage, and which stage is read?");
  if (walk.visits != right.visits)
    add("walk-visits", words_of(walk.visits), "With which key does the loop over tiles begin and end?");
  if (walk.skips != right.skips && walk.skips != TileWalk::Skips::kNone)
    add("walk-skips", words_of(walk.skips),
        "When may a warp leave a tile out: of which rows, and which tile?");
  if (walk.carry != right.carry)
    add("walk-carry", words_of(walk.carry),
        "What do earlier tiles leave in O, m and l, and what becomes of it in the next one?");
  if (walk.columns != right.columns)
    add("walk-columns", words_of(walk.columns),
        "Which columns of the last piece of a row are there, if head_dim does not fill it?");
  return causes;
}

}  // namespace ringcraft::verify
