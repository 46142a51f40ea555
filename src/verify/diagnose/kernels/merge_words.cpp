// Describes each mistake of a merge kernel in words, as a cause with an id and a question.
#include <string>

#include "verify/diagnose/kernels/merge_walk.hpp"

namespace ringcraft::verify {
namespace {

using Merge = MergeWalk;

std::string words_of(Merge::Row row, Merge::Of of, bool normalized) {
  const std::string what = of == Merge::Of::kOut   ? "O of the block is"
                           : of == Merge::Of::kSum ? "l of the block is"
                           : of == Merge::Of::kMax
                               ? (normalized ? "lse of the block is" : "m of the block is")
                           : of == Merge::Of::kNumbers ? "m and l of the block are"
                                                       : "the block is";
  switch (row) {
    case Merge::Row::kFirst:
      return what + " read at its first row for all rows";
    case Merge::Row::kNext:
      return what + " read one row too far";
    case Merge::Row::kBefore:
      return what + " read at the row before";
    case Merge::Row::kOfSixteen:
      return what + " read at the number of the row within its thread block (row % 16)";
    case Merge::Row::kHalf:
      return what + " read at row / 2: two rows, which share a warp, get the same one";
    case Merge::Row::kOfPair:
      return what + " read at the first of the two rows that share a warp";
    case Merge::Row::kRight:
      break;
  }
  return "";
}

std::string words_of(Merge::Pair pair, bool normalized) {
  const std::string numbers = normalized ? "lse" : "m and l";
  switch (pair) {
    case Merge::Pair::kKeepsNumbers:
      return numbers +
             " of every second row are not written: of the two rows that share a warp, only the first "
             "one's are";
    case Merge::Pair::kFirstMax:
      return "the second of the two rows that share a warp takes " + std::string(normalized ? "lse" : "m") +
             " of acc from the first one";
    case Merge::Pair::kFirstWeights:
      return "the second of the two rows that share a warp has the weights of the first one";
    case Merge::Pair::kOutAlone:
      return "O is merged, and " + numbers + " stay as they were in acc";
    case Merge::Pair::kRight:
      break;
  }
  return "";
}

std::string words_of(Merge::Largest largest, bool normalized) {
  const std::string m = normalized ? "lse" : "m";
  switch (largest) {
    case Merge::Largest::kAcc:
      return "both sides are counted from " + m + " of acc, not from the larger one";
    case Merge::Largest::kBlock:
      return "both sides are counted from " + m + " of the block, not from the larger one";
    case Merge::Largest::kSmaller:
      return "the smaller " + m + " is taken instead of the larger one";
    case Merge::Largest::kAtLeast:
      return "the larger " + m + " is taken to be at least -10000: below, every weight becomes 0";
    case Merge::Largest::kAtLeastZero:
      return "the larger " + m + " is taken to be at least 0";
    case Merge::Largest::kNone:
      return "the weights are exp(" + m + "), without subtracting the larger one: they overflow or vanish";
    case Merge::Largest::kRight:
      break;
  }
  return "";
}

std::string words_of(Merge::Exponent exponent) {
  switch (exponent) {
    case Merge::Exponent::kBaseTwo:
      return "the weights are powers of 2 instead of e: 2^(m - larger)";
    case Merge::Exponent::kInverse:
      return "the weights are exp(larger - m), the wrong way round";
    case Merge::Exponent::kHalf:
      return "the exponents of the weights are halved";
    case Merge::Exponent::kDoubled:
      return "the exponents of the weights are doubled";
    case Merge::Exponent::kRight:
      break;
  }
  return "";
}

std::string words_of(Merge::Weight weight) {
  if (weight > Merge::Weight::kOut)
    return "in O, " +
           words_of(
               static_cast<Merge::Weight>(static_cast<int>(weight) - static_cast<int>(Merge::Weight::kOut))) +
           " (the other numbers are right)";
  switch (weight) {
    case Merge::Weight::kAccOne:
      return "acc weighs 1, whatever its maximum is";
    case Merge::Weight::kBlockOne:
      return "the block weighs 1, whatever its maximum is";
    case Merge::Weight::kAccZero:
      return "acc weighs 0: the block takes its place";
    case Merge::Weight::kBlockZero:
      return "the block weighs 0: it is never added";
    case Merge::Weight::kExchanged:
      return "the weights of acc and of the block are exchanged";
    case Merge::Weight::kBoth:
      return "acc has the weight of the block";
    case Merge::Weight::kBothOld:
      return "the block has the weight of acc";
    default:
      return "";
  }
}

std::string words_of(Merge::Sum sum) {
  switch (sum) {
    case Merge::Sum::kAccTwice:
      return "l is that of acc twice, weighted, without that of the block";
    case Merge::Sum::kBlockTwice:
      return "l is that of the block twice, weighted, without that of acc";
    case Merge::Sum::kAccAlone:
      return "l of the block is not added";
    case Merge::Sum::kBlockAlone:
      return "l is that of the block alone, weighted";
    case Merge::Sum::kAccSixteen:
      return "l of acc counts 16 times: each of the row's 16 lanes adds it";
    case Merge::Sum::kBlockSixteen:
      return "l of the block counts 16 times: each of the row's 16 lanes adds it";
    case Merge::Sum::kAllSixteen:
      return "l counts 16 times: each of the row's 16 lanes adds it";
    case Merge::Sum::kAccUnweighted:
      return "l of acc is added as it is, without its weight";
    case Merge::Sum::kBlockUnweighted:
      return "l of the block is added as it is, without its weight";
    case Merge::Sum::kUnweighted:
      return "l of both sides are added as they are, without their weights";
    case Merge::Sum::kAccKept:
      return "l stays that of acc";
    case Merge::Sum::kExchanged:
      return "in l, the weights of acc and of the block are exchanged";
    case Merge::Sum::kRight:
      break;
  }
  return "";
}

std::string words_of(Merge::Lse lse) {
  switch (lse) {
    case Merge::Lse::kTimes:
      return "lse is the larger one times the logarithm of the sum of weights, instead of plus";
    case Merge::Lse::kAlone:
      return "lse is the logarithm of the sum of weights, without the larger one";
    case Merge::Lse::kMinus:
      return "the logarithm of the sum of weights is subtracted from the larger lse";
    case Merge::Lse::kBaseTwo:
      return "the logarithm in lse is to the base 2";
    case Merge::Lse::kLarger:
      return "lse becomes the larger of both, without the logarithm of the sum of weights";
    case Merge::Lse::kAccPlus:
      return "the logarithm of the sum of weights is added to lse of acc, not to the larger one";
    case Merge::Lse::kBlockPlus:
      return "the logarithm of the sum of weights is added to lse of the block, not to the larger one";
    case Merge::Lse::kAccKept:
      return "lse stays that of acc";
    case Merge::Lse::kRight:
      break;
  }
  return "";
}

std::string words_of(Merge::Norm norm) {
  switch (norm) {
    case Merge::Norm::kNone:
      return "the weighted sum of both out is not divided by the sum of weights";
    case Merge::Norm::kAccNot:
      return "the weight of acc is not divided by the sum of weights";
    case Merge::Norm::kBlockNot:
      return "the weight of the block is not divided by the sum of weights";
    case Merge::Norm::kTimes:
      return "the weights are multiplied by their sum instead of being divided by it";
    case Merge::Norm::kTwo:
      return "out is the plain mean of both sides";
    case Merge::Norm::kProduct:
      return "the weights are multiplied with each other where they must be added up";
    case Merge::Norm::kRight:
      break;
  }
  return "";
}

std::string words_of(Merge::Empty empty) {
  switch (empty) {
    case Merge::Empty::kEitherKept:
    case Merge::Empty::kAccKept:
      return "rows for which acc has seen no key are not merged: they stay empty";
    case Merge::Empty::kWeightOne:
      return "a side that has seen no key weighs 1 instead of 0";
    case Merge::Empty::kAccOne:
      return "acc weighs 1 instead of 0 where it has seen no key";
    case Merge::Empty::kWiped:
      return "a block that has seen no key wipes out what acc has";
    case Merge::Empty::kNumbersKept:
      return "where acc has seen no key, O is taken from the block, and m and l are not";
    case Merge::Empty::kRight:
      break;
  }
  return "";
}

std::string words_of(Merge::Columns columns) {
  switch (columns) {
    case Merge::Columns::kFours:
      return "only whole groups of four columns are merged: the last head_dim % 4 stay as they were in acc";
    case Merge::Columns::k64:
      return "columns from 64 on are not merged: each lane takes its first four and no others";
    case Merge::Columns::kWhole64:
      return "only whole rounds of 64 columns are merged: the last head_dim % 64 stay as they were in acc";
    case Merge::Columns::k16:
      return "columns from 16 on are not merged: each lane takes one";
    case Merge::Columns::kLastLost:
      return "the last column is not merged";
    case Merge::Columns::kFirstGroup:
      return "columns from 4 on are not merged";
    case Merge::Columns::kAll:
      break;
  }
  return "";
}

}  // namespace

std::vector<Cause> causes_of_walk(const MergeWalk& w, bool normalized) {
  const Merge right;
  std::vector<Cause> causes;
  const auto add = [&](bool wrong, const char* id, const std::string& words, const char* question) {
    if (wrong) causes.push_back({id, words, question});
  };
  add(w.empty != right.empty, "merge-empty", words_of(w.empty),
      "Merging with nothing must return the other side: on both sides?");
  add(w.exponent != right.exponent, "merge-exponent", words_of(w.exponent),
      "In which units are O and l counted, before the merge and after it?");
  add(w.weight != right.weight, "merge-weight", words_of(w.weight), "Which maximum do both sides follow?");
  add(w.sum != right.sum, "merge-sum", words_of(w.sum),
      "Which two numbers make the new l, and who adds them?");
  add(w.lse != right.lse, "merge-lse", words_of(w.lse),
      "What is log(exp(a) + exp(b)), if a is the larger one?");
  add(w.norm != right.norm, "merge-norm", words_of(w.norm),
      "Both out are divided already: which two shares must add up to 1?");
  add(w.largest != right.largest, "merge-largest", words_of(w.largest, normalized),
      "From which number are both sides counted, and how small may it be?");
  add(w.dropped != right.dropped, "merge-dropped",
      "a block whose maximum is clearly below that of acc is left out as if it weighed nothing",
      "How much does a block weigh that is 8 lower, and is it really nothing?");
  add(w.columns != right.columns, "merge-columns", words_of(w.columns),
      "Which columns does each lane take, and how does it go on from there?");
  add(w.pair != right.pair, "merge-pair", words_of(w.pair, normalized),
      "Two rows share a warp: which lane is the first one of its row?");
  add(w.row != right.row, "merge-row", words_of(w.row, w.of, normalized),
      "Which row of the block is this lane's?");
  return causes;
}

}  // namespace ringcraft::verify
