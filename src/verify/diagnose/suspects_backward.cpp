// Mistakes of the backward pass (see suspects.hpp).
#include "verify/diagnose/suspects.hpp"

namespace ringcraft::verify {
namespace {

std::vector<Suspect> journey_suspects() {
  using J = JourneyTwist;
  return {
      {{"RB1", "dk and dv stay where they are computed",
        "Your gradient for a key belongs to the key's owner: how does it get there?"},
       {.journey = J::kStay}},
      {{"RB2", "dk and dv end one hop short of home", "How many hops until block 2 is back at rank 2?"},
       {.journey = J::kOneHopShort}},
      {{"RB2-long", "dk and dv end one hop behind home", "How many hops until block 2 is back at rank 2?"},
       {.journey = J::kOneHopLong}},
      {{"RB3", "dk and dv walk against their block",
        "Luggage and passenger must take the same train: do they?"},
       {.journey = J::kOpposite}},
      {{"RB3-short", "dk and dv walk against their block, and one hop too few",
        "Luggage and passenger must take the same train: do they?"},
       {.journey = J::kOppositeShort}},
      {{"RB-reset", "dk and dv begin anew at each hop: only the last rank's part arrives",
        "What happens to the part that is already in the suitcase?"},
       {.journey = J::kReset}},
      {{"RB-own",
        "dk and dv hold the part of the owner's queries alone: the other ranks' parts are never added, or "
        "overwritten by the sum that arrives after them",
        "Who else's queries have seen this key?"},
       {.journey = J::kOwnOnly}},
      {{"RB-one-step", "the last step's part of dk and dv is lost",
        "After the last block is computed, is its gradient still sent?"},
       {.journey = J::kOneStepShort}},
      {{"BW9", "dk and dv hold the part of the last queries alone (`=` for `+=`)",
        "Each key is seen by many blocks of queries: who adds up?"},
       {.journey = J::kLastRank}},
      {{"RB6", "dk and dv are swapped", "Scale V alone: which of the two gradients must stay as it was?"},
       {.swapped = Done::kYes}},
      {{"RB11", "dk and dv are divided by the number of ranks",
        "Is a gradient a sum or an average over queries?"},
       {.dkv_ranks = -1}},
      {{"GR2", "dk and dv are multiplied by the number of ranks: summed once more",
        "Who has already added this?"},
       {.dkv_ranks = 1}},
      {{"GR1", "all gradients are divided by the number of ranks",
        "Does adding ranks change the loss function?"},
       {.dkv_ranks = -1, .dq_ranks = -1}},
      {{"GQ4", "dk and dv of a group hold its last query head alone",
        "How many query heads have read this key head?"},
       {.group = GroupTwist::kLastHead}},
      {{"GQ4-first", "dk and dv of a group hold its first query head alone",
        "How many query heads have read this key head?"},
       {.group = GroupTwist::kFirstHead}},
      {{"GQ4-average", "dk and dv of a group are the average of its query heads",
        "Is a gradient a sum or an average?"},
       {.group = GroupTwist::kAverage}},
  };
}

std::vector<Suspect> weight_suspects() {
  using W = WeightTwist;
  using D = DeltaTwist;
  return {
      {{"BW1", "the D term is missing: dS = P dP",
        "Adding a constant to one row of scores must not change out: does your row of dS sum to 0?"},
       {.delta = D::kNone}},
      {{"RB8", "D is taken from each block's own out (or the gradient through the block's lse is dropped)",
        "delta uses the final out: where do you keep it, and what became of the gradient of lse in the "
        "merge?"},
       {.delta = D::kBlockOut}},
      {{"RB8-share", "D is taken from each block's share of out",
        "delta has no step in its formula: does yours?"},
       {.delta = D::kBlockShare}},
      {{"BW2", "D is taken from the out that is not yet divided by l", "Which out does the loss see?"},
       {.delta = D::kRawOut}},
      {{"BW-plus", "D is added instead of subtracted", "Does your row of dS sum to 0?"},
       {.delta = D::kAdded}},
      {{"BW3", "P is computed again from the maximum instead of lse",
        "Do the rows of your recomputed P sum to 1?"},
       {.weights = W::kMaximum}},
      {{"RB7", "P is computed again from the lse of each block",
        "P must be normalised over all keys: is it?"},
       {.weights = W::kBlockLse}},
      {{"BW-base2", "P is computed again as exp(score - lse) with an lse to another base",
        "Which base has the lse that forward saved?"},
       {.weights = W::kBase2Lse}},
      {{"BW-unscaled", "P is computed again from scores without the softmax scale",
        "Which scores did forward put into exp?"},
       {.weights = W::kUnscaled}},
      {{"RB9", "the mask is missing in backward",
        "The forward mask is part of the function that you differentiate: where is it?"},
       {.mask = MaskTwist::kForgotten}},
      {{"RB9-local", "the mask of backward compares local rows", "Is row 3 of rank 2 token 3?"},
       {.positions = PositionTwist::kLocal}},
      {{"RB9-window", "the window is ignored in backward",
        "The forward mask is part of the function that you differentiate: where is it?"},
       {.mask = MaskTwist::kNoWindow}},
      {{"RB9-packs", "the borders of packed sequences are ignored in backward",
        "The forward mask is part of the function that you differentiate: where is it?"},
       {.mask = MaskTwist::kNoPacks}},
      {{"RB9-strict", "the mask of backward is strict (`>` for `>=`): no query sees itself",
        "The forward mask is part of the function that you differentiate: may a token attend to itself?"},
       {.mask = MaskTwist::kStrict}},
      {{"RB9-ahead", "the mask of backward is one key late: each query also sees the key behind its last one",
        "Row 0 of a causal mask: how many keys does it see in your code?"},
       {.mask = MaskTwist::kAhead}},
      {{"RB9-last-key", "backward leaves out the last key of each block",
        "Up to which key does the loop over a block run?"},
       {.mask = MaskTwist::kNotLastOfBlock}},
      {{"RB9-first-key", "backward leaves out the first key of each block",
        "From which key on does the loop over a block run?"},
       {.mask = MaskTwist::kNotFirstOfBlock}},
      {{"RB4", "backward takes the block in hand at step t for that of rank + t",
        "Which block does backward begin with, and which way does it walk?"},
       {.label = LabelTwist::kAhead}},
      {{"BW8", "dS has the wrong sign", "Increase one score: should its own weight rise?"},
       {.negated = Done::kYes}},
      {{"ZZ8", "dout is not dealt like q: each rank holds the rows of another one",
        "Every tensor of rows changes its order together: which did you leave out?"},
       {.dout = DealTwist::kPlain}},
      {{"ZZ8-D", "D is computed before dout is dealt to the ranks",
        "Every tensor of rows changes its order together: which did you leave out?"},
       {.delta = D::kPlainRows}},
  };
}

std::vector<Suspect> other_suspects() {
  return {
      {{"RB-stale", "backward uses the own keys and values at every step: the labels walk, the data do not",
        "Which k and v does the block function of backward read: the arriving ones, or those that forward "
        "saved?"},
       {.stale = Done::kYes}},
      {{"RB10", "dq holds the last step's part alone",
        "Each hop adds a part to your queries' gradient: what happens to the parts before it?"},
       {.dq = DqTwist::kLastSeen}},
      {{"RB10-step", "dq holds the part of step N - 1 alone",
        "Each hop adds a part to your queries' gradient: what happens to the parts before it?"},
       {.dq = DqTwist::kLastStep}},
      {{"RB10-own", "dq holds the own block's part alone",
        "Each hop adds a part to your queries' gradient: what happens to the parts after the first?"},
       {.dq = DqTwist::kOwnBlock}},
      {{"RB10-short", "the last step's part of dq is missing",
        "How many blocks did forward use, and how many does backward?"},
       {.dq = DqTwist::kOneShort}},
      {{"RB-short", "backward stops one step short: the last step's parts of dq, dk and dv are missing",
        "How many blocks did forward use, and how many does backward?"},
       {.dq = DqTwist::kOneShort, .journey = JourneyTwist::kOneStepShort}},
      {{"BW7", "dk lacks the softmax scale",
        "The scale appears once in forward: how often in each gradient?"},
       {.dk_scales = 0}},
      {{"BW7-dq", "dq lacks the softmax scale",
        "The scale appears once in forward: how often in each gradient?"},
       {.dq_scales = 0}},
      {{"BW7-both", "dq and dk lack the softmax scale",
        "The scale appears once in forward: how often in each gradient?"},
       {.dq_scales = 0, .dk_scales = 0}},
      {{"BW7-twice", "dq is scaled twice", "The scale appears once in forward: how often in each gradient?"},
       {.dq_scales = 2}},
      {{"BW7-dk-twice", "dk is scaled twice",
        "The scale appears once in forward: how often in each gradient?"},
       {.dk_scales = 2}},
      {{"BW7-both-twice", "dq and dk are scaled twice",
        "The scale appears once in forward: how often in each gradient?"},
       {.dq_scales = 2, .dk_scales = 2}},
      {{"BW5", "dv is computed with P instead of its transpose", "Key j receives from which queries?"},
       {.dv_turned = Done::kYes}},
      {{"BW11", "dk is computed with dS instead of its transpose", "Which index is summed?"},
       {.dk_turned = Done::kYes}},
      {{"GQ1-back", "backward reads key head h % kv_heads for query head h",
        "Are the query heads of a group neighbours, or every k-th?"},
       {.heads = HeadTwist::kModulo}},
      {{"rows-layout-back", "the rows of the gradients stand rank by rank: right otherwise",
        "Before writing, who brings each row back to its global position?"},
       {.rows = RowTwist::kLayoutOrder}},
      {{"ZZ4-back", "the rows of the gradients were put back by the permutation instead of its inverse",
        "Is what un-permutes the inverse of what permuted?"},
       {.rows = RowTwist::kInverseOrder}},
      {{"dump-bshd-back", "the memory of the gradients is that of [batch, seqlen, heads, head_dim]",
        "Was the tensor viewed in another shape where it should have been transposed?"},
       {.rows = RowTwist::kHeadsInside}},
  };
}

}  // namespace

const std::vector<Suspect>& backward_suspects() {
  static const std::vector<Suspect> all = [] {
    std::vector<Suspect> suspects;
    for (const auto& some : {journey_suspects(), weight_suspects(), other_suspects()})
      suspects.insert(suspects.end(), some.begin(), some.end());
    return suspects;
  }();
  return all;
}

}  // namespace ringcraft::verify
