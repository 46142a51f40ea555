// Describes a law in words: subject, verb and the other block, with the domain in front.
#include "verify/diagnose/solve/tell.hpp"

namespace ringcraft::verify {
namespace {

using Kind = NamedMask::Kind;
using Deed = Law::Deed;

// A grammatical subject, and whether it is plural.
struct Subject {
  std::string words;
  bool many;
};

Subject subject_of(const Domain& d, const Arrangement& place) {
  const std::string number = std::to_string(d.number), unit = place.ring ? "step" : "tile";
  switch (d.kind) {
    case Domain::Kind::kAll:
      return place.count() == 1 ? Subject{"the keys", true} : Subject{"all blocks", true};
    case Domain::Kind::kOwn:
      return {"the own block", false};
    case Domain::Kind::kReceived:
      return {"every block that arrives", false};
    case Domain::Kind::kLater:
      return {"the blocks of later ranks", true};
    case Domain::Kind::kEarlier:
      return {"the blocks of earlier ranks", true};
    case Domain::Kind::kStep:
      return {place.ring ? "the block of step " + number : "tile " + number, false};
    case Domain::Kind::kFromStep:
      return {"the blocks from " + unit + " " + number + " on", true};
    case Domain::Kind::kUpToStep:
      return {"the blocks up to " + unit + " " + number, true};
    case Domain::Kind::kShard:
      return {"on rank " + number + " every block", false};
    case Domain::Kind::kBlock:
      return {"the block of rank " + number, false};
    case Domain::Kind::kPairs:
      break;
  }
  std::string words;
  for (std::size_t i = 0; i < d.pairs.size(); ++i) {
    if (i == 4) {
      words += ", ...";
      break;
    }
    const auto& [shard, block] = d.pairs[i];
    words += (i == 0 ? "" : ", ") +
             (place.ring ? "on rank " + std::to_string(shard) + " the block of rank " + std::to_string(block)
                         : "tile " + std::to_string(block));
  }
  return {words, d.pairs.size() > 1};
}

// "that of rank + t", for a law with another block.
std::string other_of(const Law& law, const Arrangement& place) {
  switch (law.which) {
    case Law::Which::kOwn:
      return "the rank's own";
    case Law::Which::kMirror:
      return "that of rank + t";
    case Law::Which::kOffset:
      if (law.offset == 1) return place.reversed ? "that of the next step" : "that of the step before";
      if (law.offset == place.count() - 1)
        return place.reversed ? "that of the step before" : "that of the next step";
      return "that of " + std::to_string(law.offset) + " ranks further";
    case Law::Which::kFixed:
      return "that of rank " + std::to_string(law.offset);
    case Law::Which::kReflected:
    case Law::Which::kNone:
      break;
  }
  return "another";
}

// A quarter of the pairs of a shard and a block.
std::string quarter_words(int quarter) {
  return std::string(quarter / 2 == 0 ? "early" : "late") + " half of the rows on the " +
         (quarter % 2 == 0 ? "early" : "late") + " half of the keys";
}

std::string mask_words(NamedMask mask) {
  switch (mask.kind) {
    case Kind::kNone:
      return "seen whole, without a mask";
    case Kind::kLocal:
      return "seen through a mask of local rows: row of the shard against key of the block";
    case Kind::kStrict:
      return "seen through a strict mask (`>` for `>=`): no query sees its own key";
    case Kind::kAhead:
      return "seen one key too far: each query also sees the key after its last one";
    case Kind::kNotCausal:
      return "seen without the causal limit";
    case Kind::kNoWindow:
      return "seen without the window";
    case Kind::kWindowShort:
      return "seen through a window of one key fewer";
    case Kind::kWindowLong:
      return "seen through a window of one key more";
    case Kind::kNoPacks:
      return "seen across the borders of packed sequences";
    case Kind::kPacksOfRows:
      return "given the packed sequences of the rank's own rows, not those of its keys";
    case Kind::kPackPositions:
      return "compared by positions within the packed sequences alone, whichever sequence a key is in";
    case Kind::kTurned:
      return "seen through the transposed mask";
    case Kind::kTurnedHere:
      return "seen through the transpose of its own part of the mask";
    case Kind::kEarlyKeys:
      return "used by all rows on the first half of the keys";
    case Kind::kLateKeys:
      return "used by all rows on the second half of the keys";
    case Kind::kEarlyRows:
      return "used by the first half of the rows on all keys";
    case Kind::kLateRows:
      return "used by the second half of the rows on all keys";
    case Kind::kDiagonalLost:
      return "used without its diagonal: no row sees the key at its own place in the block";
    case Kind::kFirstKeyLost:
      return "used without the first key";
    case Kind::kLastKeyLost:
      return "used without the last key";
    case Kind::kTailLost:
      return "used without the keys after the last whole tile of " + std::to_string(mask.other);
    case Kind::kWindowOfTiles:
      return "seen through a window that begins with a whole tile of " + std::to_string(mask.other) + " keys";
    case Kind::kPacksOverRanks:
      return "seen through borders of packed sequences that are divided by the number of ranks, for local "
             "rows";
    case Kind::kLayout:
      return "seen as if rows and keys lay in the " + std::string(name_of(static_cast<Layout>(mask.other))) +
             " layout";
    case Kind::kKeysOfLayout:
      return "seen as if the keys lay in the " + std::string(name_of(static_cast<Layout>(mask.other))) +
             " layout";
    case Kind::kEqualShards:
      return "placed as if all shards had as many rows as the rank's own";
    case Kind::kOwnLengths:
      return "placed as if the shards before each had as many rows as that one: rank times its own length";
    case Kind::kZigzagSwapped:
      return "used by the wrong half: the two cases of zig-zag (first half of the keys for an earlier rank's "
             "block, second half of the rows for a later one's) are exchanged";
    case Kind::kHalvesApart:
      return "used by each half of the rows on its own half of the keys alone";
    case Kind::kQuarterLost:
      return "used without the pairs of the " + quarter_words(mask.other);
    case Kind::kQuarterWhole:
      return "seen whole by the " + quarter_words(mask.other) + ", without a mask";
    case Kind::kWindowOf:
      return "seen through a window of " + std::to_string(mask.other) + " keys to the left";
    case Kind::kWindowBoth:
      return "seen through a window to both sides";
    case Kind::kWindowOfFirst:
      return "seen by all rows of a rank through the window of its first row";
    case Kind::kWindowOfLast:
      return "seen by all rows of a rank through the window of its last row";
    case Kind::kBorderLost:
      return "seen across the border of packed sequences number " + std::to_string(mask.other);
    case Kind::kBorderAlone:
      return "seen as if only the inner border number " + std::to_string(mask.other) +
             " divided the packed sequences";
    case Kind::kBordersAfter:
      return "seen with each border of packed sequences counted to the sequence before it (`<=` for `<`)";
    case Kind::kPacksOfPlaces:
      return "seen with rows and keys looked for between the borders by their places in shard and block, not "
             "by their positions";
    case Kind::kPackLengths:
      return "seen with the lengths of packed sequences taken for their borders";
    case Kind::kPackOneBefore:
      return "seen with one key too many at the beginning of each packed sequence";
    case Kind::kRight:
    case Kind::kLabel:
    case Kind::kRowsOf:
      break;
  }
  return "seen through another mask";
}

std::string predicate_of(const Law& law, bool many, const Arrangement& place, bool of_dq) {
  const std::string is = many ? " are " : " is ", has = many ? " have " : " has ";
  switch (law.deed) {
    case Deed::kMissing:
      return is + "not used";
    case Deed::kTwice:
      return is + "used twice";
    case Deed::kMask:
      return is + mask_words(law.mask);
    case Deed::kTakenFor:
      return is + "masked as " + other_of(law, place);
    case Deed::kRowsTaken:
      return is + "masked with the rows of the rank " + std::to_string(law.offset) + " further";
    case Deed::kHolds:
      return has + "the keys and values of another one: " + other_of(law, place);
    case Deed::kValuesOf:
      return is +
             (of_dq ? "multiplied with the keys of another one: " : "used with the values of another one: ") +
             other_of(law, place);
    case Deed::kKeysOf:
      return is +
             (of_dq ? "multiplied with the dS of another one: " : "used with the keys of another one: ") +
             other_of(law, place);
    case Deed::kShareOf:
      return " " + std::string(many ? "get" : "gets") +
             " the part of another one instead of its own: " + other_of(law, place);
    case Deed::kShareToo:
      return " " + std::string(many ? "get" : "gets") +
             " the part of another one besides its own: " + other_of(law, place);
    case Deed::kKeysForValues:
      return has + "its keys instead of its values";
    case Deed::kOtherTensor:
      return " " + std::string(many ? "give" : "gives") + " the part of the other one of dk and dv";
    case Deed::kOtherToo:
      return " " + std::string(many ? "give" : "gives") + " the parts of both dk and dv";
  }
  return "";
}

std::string mask_id(Kind kind) {
  switch (kind) {
    case Kind::kNone:
      return "none";
    case Kind::kLocal:
      return "local";
    case Kind::kStrict:
      return "strict";
    case Kind::kAhead:
      return "ahead";
    case Kind::kNotCausal:
      return "not-causal";
    case Kind::kNoWindow:
      return "no-window";
    case Kind::kWindowShort:
      return "window-short";
    case Kind::kWindowLong:
      return "window-long";
    case Kind::kNoPacks:
      return "no-packs";
    case Kind::kPacksOfRows:
      return "packs-of-rows";
    case Kind::kPackPositions:
      return "pack-positions";
    case Kind::kPacksOverRanks:
      return "packs-over-ranks";
    case Kind::kTurned:
    case Kind::kTurnedHere:
      return "turned";
    case Kind::kEarlyKeys:
    case Kind::kLateKeys:
    case Kind::kEarlyRows:
    case Kind::kLateRows:
      return "half";
    case Kind::kDiagonalLost:
      return "diagonal";
    case Kind::kFirstKeyLost:
      return "first-key";
    case Kind::kLastKeyLost:
      return "last-key";
    case Kind::kTailLost:
      return "tail";
    case Kind::kWindowOfTiles:
      return "window-of-tiles";
    case Kind::kLayout:
    case Kind::kKeysOfLayout:
      return "layout";
    case Kind::kEqualShards:
      return "equal-shards";
    case Kind::kOwnLengths:
      return "own-lengths";
    case Kind::kZigzagSwapped:
      return "zigzag-swapped";
    case Kind::kHalvesApart:
    case Kind::kQuarterLost:
    case Kind::kQuarterWhole:
      return "quarter";
    case Kind::kWindowOf:
      return "window-of";
    case Kind::kWindowBoth:
      return "window-both";
    case Kind::kWindowOfFirst:
    case Kind::kWindowOfLast:
      return "window-of-shard";
    case Kind::kBorderLost:
      return "border-lost";
    case Kind::kBorderAlone:
      return "border-alone";
    case Kind::kBordersAfter:
      return "borders-after";
    case Kind::kPacksOfPlaces:
      return "packs-of-places";
    case Kind::kPackLengths:
      return "pack-lengths";
    case Kind::kPackOneBefore:
      return "pack-one-before";
    case Kind::kRight:
    case Kind::kLabel:
    case Kind::kRowsOf:
      break;
  }
  return "other";
}

std::string id_of(const Law& law) {
  static constexpr const char* kDeeds[] = {
      "missing", "twice",    "mask",      "label",           "rows",         "holds",    "values-of",
      "keys-of", "share-of", "share-too", "keys-for-values", "other-tensor", "other-too"};
  std::string id = std::string("solved-") + kDeeds[static_cast<std::size_t>(law.deed)];
  if (law.deed == Deed::kMask) id += "-" + mask_id(law.mask.kind);
  return id;
}

std::string question_of(const Law& law) {
  switch (law.deed) {
    case Deed::kMissing:
    case Deed::kTwice:
      return "How many blocks exist, and how often is each of them used?";
    case Deed::kMask:
      return "Which keys of this block may its first row see, and which its last?";
    case Deed::kTakenFor:
    case Deed::kRowsTaken:
      return "At step t, whose keys are in your hands?";
    case Deed::kHolds:
      return "Which buffer is read at this step, and who wrote it last?";
    case Deed::kValuesOf:
    case Deed::kKeysOf:
    case Deed::kKeysForValues:
      return "Do key j and value j still come from the same token?";
    case Deed::kShareOf:
    case Deed::kShareToo:
    case Deed::kOtherTensor:
    case Deed::kOtherToo:
      break;
  }
  return "Your gradient for a key belongs to the key's owner: how does it get there?";
}

}  // namespace

Cause cause_of(const Told& told, const Arrangement& place, const std::string& where, bool of_dq) {
  if (told.law.which == Law::Which::kReflected)
    return {"solved-reflected",
            (where.empty() ? "" : where + ": ") +
                std::string("labels count the ranks in one direction and the blocks walk in the other: each "
                            "block is taken for that of another rank"),
            question_of(told.law)};
  const Subject subject = subject_of(told.where, place);
  std::string sentence = (where.empty() ? "" : where + ": ") + subject.words +
                         predicate_of(told.law, subject.many, place, of_dq);
  if (!told.others.empty())
    sentence +=
        " (or, which gives the same:" + predicate_of(told.others.front(), subject.many, place, of_dq) + ")";
  return {id_of(told.law), sentence, question_of(told.law)};
}

}  // namespace ringcraft::verify
