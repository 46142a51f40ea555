// Collects the mistakes visible in out or lse. Ids of two letters and a number are those of the lessons'
// misconceptions; ids in words concern the dump or the call.
#include <algorithm>

#include "ringcraft/core/error.hpp"
#include "verify/diagnose/suspects_detail.hpp"
#include "verify/diagnose/twisted/scan.hpp"

namespace ringcraft::verify {
namespace {

// Lists mistakes outside the algorithm: how the tensors were written, or the flags of the call.
std::vector<Suspect> dump_suspects() {
  return {
      {{"flags-causal", "the numbers are those of a causal mask: right, if causal is what was meant",
        "Which mask does the code that wrote the claim apply?"},
       {.mask = MaskTwist::kCausalAdded}},
      {{"rows-layout", "the rows stand rank by rank, in the order of the layout: right otherwise",
        "Before writing, who brings each row back to its global position?"},
       {.rows = RowTwist::kLayoutOrder}},
      {{"ZZ4", "the rows were put back by the permutation instead of its inverse",
        "Whose row is row 13 now: is what un-permutes the inverse of what permuted?"},
       {.rows = RowTwist::kInverseOrder}},
      {{"dump-bshd",
        "the memory is that of [batch, seqlen, heads, head_dim]: right, once transposed to "
        "[batch, heads, seqlen, head_dim]",
        "Was the tensor viewed in another shape where it should have been transposed?"},
       {.rows = RowTwist::kHeadsInside}},
      {{"dump-bhsd",
        "the memory of [batch, heads, seqlen, ...] is viewed as [batch, seqlen, heads, ...], and transposed "
        "from there",
        "Was the tensor viewed in another shape where it should have been transposed?"},
       {.rows = RowTwist::kHeadsOutside}},
      {{"shard-bshd",
        "the memory of each shard is that of [batch, rows, heads, ...], and is viewed as [batch, heads, "
        "rows, ...] "
        "instead of transposed",
        "Was the tensor viewed in another shape where it should have been transposed?"},
       {.rows = RowTwist::kShardInside}},
      {{"shard-bhsd",
        "the memory of each shard is that of [batch, heads, rows, ...], and is viewed as [batch, rows, "
        "heads, ...] "
        "before it is transposed",
        "Was the tensor viewed in another shape where it should have been transposed?"},
       {.rows = RowTwist::kShardOutside}},
      {{"rows-rank", "each rank's rows are those of the rank before it",
        "Which rank's rows are gathered to which place?"},
       {.rows = RowTwist::kRankBefore}},
      {{"rows-rank", "each rank's rows are those of the next rank",
        "Which rank's rows are gathered to which place?"},
       {.rows = RowTwist::kNextRank}},
      {{"rows-halves", "the two halves of each rank's rows (its two chunks, if there are two) are exchanged",
        kHalvesQuestion},
       {.rows = RowTwist::kHalves}},
  };
}

constexpr const char* kSinkQuestion =
    "Is it softmax, or softmax1 (an attention sink), that divides by 1 + the sum?";

std::vector<Suspect> tail_suspects() {
  std::vector<Suspect> all = {
      {{"buffer-cut",
        "a block that is longer than a rank's own shard loses its last keys when that rank receives it, and "
        "is passed on without them",
        "How many rows has the block that arrives, and how many does the receive buffer hold?"},
       {.tail = TailTwist::kLostOnTheWay}},
      {{"buffer-cut",
        "a block that is longer than a rank's own shard has zeros as its last keys and values once that rank "
        "has received it: they count with score 0 there and on later ranks",
        "How many rows has the block that arrives, and how many does the receive copy?"},
       {.tail = TailTwist::kZeroOnTheWay}},
      {{"buffer-cut", "of a block that is longer than the own shard, the last keys are not used",
        "How many rows has the block that arrives?"},
       {.tail = TailTwist::kLostHere}},
      {{"buffer-cut",
        "of a block that is longer than the own shard, the last keys and values are zeros, which count with "
        "score 0",
        "How many rows has the block that arrives?"},
       {.tail = TailTwist::kZeroHere}},
      {{"padding-repeats",
        "blocks are filled up to the length of the longest one with their last key and value, which are "
        "counted twice there",
        "Which keys of the block that arrives are padding, and what hides them?"},
       {.tail = TailTwist::kLastAgain}},
      {{"softmax-sink",
        "each row has one more key, of score 0 and value 0: exp(0) is added to the sum of its weights",
        kSinkQuestion},
       {.tail = TailTwist::kSink}},
      {{"softmax-sink",
        "each row has one more key, of score 0 and value 0, in each block: exp(0) is added to each block's "
        "sum "
        "of weights",
        kSinkQuestion},
       {.tail = TailTwist::kSinkInBlocks}},
      {{"softmax-sink",
        "each row has one more key, of score 0 and value 0, in each block that is not skipped: exp(0) is "
        "added "
        "to each block's sum of weights",
        kSinkQuestion},
       {.tail = TailTwist::kSinkInSeenBlocks}},
  };
  for (const int granule : {0, 16, 32, 64, 128}) {
    const std::string of = granule == 0 ? "blocks of equal length for all ranks"
                                        : "blocks of " + std::to_string(granule) + " keys";
    all.push_back({{"BL1", "the keys after the last whole block are dropped (" + of + ")",
                    "How many blocks cover 100 keys in steps of 32?"},
                   {.tail = TailTwist::kDropped, .granule = granule}});
    all.push_back({{"BL2", "the last block is filled up with keys of zeros, which vote (" + of + ")",
                    "A key of zeros has score 0, not minus infinity: who votes with it?"},
                   {.tail = TailTwist::kZeroPadded, .granule = granule}});
  }
  return all;
}

std::vector<Suspect> lse_suspects() {
  using L = LseTwist;
  return {
      {{"LSE-base2", "lse is to the base 2, not e", "Which logarithm does the kernel that wrote lse use?"},
       {.lse = L::kBase2}},
      {{"LSE-max", "lse is the row's maximum", "What does lse hold beyond the largest score?"},
       {.lse = L::kMaximum}},
      {{"LSE-sum", "lse is l, the sum of exp(score - maximum)",
        "How do m and l make the logarithm of sum exp(score)?"},
       {.lse = L::kSum}},
      {{"LSE-log-sum", "lse is log l: the maximum is not added back",
        "How do m and l make the logarithm of sum exp(score)?"},
       {.lse = L::kLogSum}},
      {{"LSE-log2-sum", "lse is m + log2(l): the logarithm alone is to the base 2",
        "In lse = m + log l, to which base is each part?"},
       {.lse = L::kLog2OfSum}},
      {{"LSE-exp", "lse is the sum of exp(score): the logarithm is missing",
        "What does the l of lse stand for?"},
       {.lse = L::kExp}},
      {{"LSE-zero", "lse is 0: it was never written", "Does the kernel that you call hand out lse at all?"},
       {.lse = L::kZero}},
      {{"LSE-last", "lse is that of the last block alone", "Which keys does the lse of a row sum over?"},
       {.lse = L::kLastBlock}},
      {{"LSE-own", "lse is that of the own block alone", "Which keys does the lse of a row sum over?"},
       {.lse = L::kOwnBlock}},
      {{"LSE-last-max", "lse takes the maximum of the last block",
        "To which maximum is l relative at the end?"},
       {.lse = L::kLastMaximum}},
      {{"MG11", "lse is the sum of the blocks' lse",
        "Logarithms add when the numbers are multiplied: are they?"},
       {.lse = L::kAdded}},
      {{"LSE-plus-log-n", "lse is too large by log(n), of n blocks: it was added, or the sum counts n times",
        "How often has each block added its share to l, and where does log(n) come in?"},
       {.lse = L::kPlusLogBlocks}},
      {{"LSE-negative", "lse has the wrong sign", "Is it log(sum) or log(1 / sum)?"}, {.lse = L::kNegative}},
      {{"LSE-weights", "lse is that of the weights, which have overwritten the scores",
        "What does the memory of the scores hold when lse is taken?"},
       {.lse = L::kOfWeights}},
      {{"solved-lse-bare", "the maximum in lse is that of q . k, without the softmax scale",
        "In lse = m + log l, are m and l about the same scores?"},
       {.lse = L::kBareMaximum}},
  };
}

std::vector<Suspect> scan_suspects() {
  std::vector<Suspect> all;
  for (const ScanMistake& mistake : scan_mistakes())
    all.push_back({{mistake.id, mistake.sentence, mistake.question}, {.scan = mistake.twist}});
  for (const ScanMistake& mistake : scan_mistakes())
    if (mistake.twist.hidden != ScanTwist::Hidden::kNothing || mistake.twist.max == ScanTwist::Max::kOfHidden)
      all.push_back({{mistake.id,
                      std::string(mistake.sentence) +
                          " (blocks of which the rank sees nothing are skipped, as is right)",
                      mistake.question},
                     {.route = RouteTwist::kSeen, .scan = mistake.twist}});
  return all;
}

}  // namespace

Suspect pair_of(const Suspect& a, const Suspect& b, const Twist& twist) {
  const Cause both{a.cause.id, a.cause.sentence + "; and " + b.cause.sentence, a.cause.question};
  return {both, twist, {a.cause, b.cause}};
}

const std::vector<Suspect>& forward_suspects() {
  static const std::vector<Suspect> all = [] {
    std::vector<Suspect> suspects;
    for (const auto& some : {dump_suspects(), score_suspects(), mask_suspects(), ring_suspects(),
                             merge_suspects(), lse_suspects(), tail_suspects(), scan_suspects()})
      suspects.insert(suspects.end(), some.begin(), some.end());
    // Mistakes that add nothing to O come first: an O of zeros identifies no other mistake.
    std::stable_partition(suspects.begin(), suspects.end(), [](const Suspect& suspect) {
      return suspect.twist.scan.out_when == ScanTwist::When::kNever;
    });
    return suspects;
  }();
  return all;
}

const Suspect& suspect_named(const std::string& id) {
  for (const auto* all : {&forward_suspects(), &backward_suspects()})
    for (const Suspect& suspect : *all)
      if (suspect.cause.id == id) return suspect;
  throw Error("suspect", "an id of the tables", "'" + id + "'", "see suspects_forward.cpp");
}

}  // namespace ringcraft::verify
