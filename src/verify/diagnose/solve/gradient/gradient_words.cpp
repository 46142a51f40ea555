// Describes the mistakes of a recipe of backward in words, as causes with ids and questions.
#include <iterator>
#include <utility>

#include "verify/diagnose/solve/gradient/gradient_recipe.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"

namespace ringcraft::verify {
namespace {

using Lse = Recipe::Lse;
using Delta = Recipe::Delta;
using Formula = Recipe::Formula;
using Group = Recipe::Group;
using From = Recipe::From;
using StepData = Recipe::Data;

// "lse of the first query head of the group is read for every one".
Cause cause_of_source(const char* tensor, From from) {
  struct Words {
    const char *id, *words;
  };
  constexpr Words kWords[] = {
      {"", ""},
      {"first", " of the first query head of the group is read for every head of it"},
      {"last", " of the last query head of the group is read for every head of it"},
      {"kv-head", " of head h / group is read for query head h"},
      {"zero", " of head 0 is read for every query head"},
      {"interleaved", " of heads r, r + N, r + 2 N, ... is read for the neighbouring heads of rank r"},
      {"next-head", " of head h + 1 is read for head h"},
      {"head-before", " of head h - 1 is read for head h"},
      {"batch", " of batch entry 0 is read for every entry"},
      {"reshaped", " is stored as [rows, heads] and read as [heads, rows]"},
      {"halves", " of a row is that of the row in the other half of its shard"},
      {"later-halves",
       " of a row is that of the row in the other half of its shard where the block comes from a later rank"},
      {"owner", " is that of the rows of the rank that owns the block, not that of the rank's own rows"},
      {"next-rank", " is that of the rows of rank + 1"},
      {"rank-before", " is that of the rows of rank - 1"},
      {"next-row", " of row i + 1 is read for row i of a rank"},
      {"row-before", " of row i - 1 is read for row i of a rank"},
      {"reversed", " is read in the opposite order of the rows of a rank"}};
  const Words& words = kWords[static_cast<std::size_t>(from)];
  return {std::string("solved-") + tensor + "-" + words.id, std::string(tensor) + words.words,
          "How do head, batch entry and row enter the place of each tensor that backward reads?"};
}

// Adds the cause for a wrong owner of k and v in hand.
void add_data(const Recipe& recipe, const Arrangement& place, std::vector<Cause>& causes) {
  constexpr const char* kIds[] = {"", "own", "before", "next", "mirror"};
  constexpr const char* kWords[] = {
      "", "of the rank's own block at every step", "of the block of the step before (a step late)",
      "of the block of the next step (a step early)", "of the block of rank + t"};
  const auto add = [&](const std::string& tensors, const char* id, StepData data) {
    if (place.reversed && data == StepData::kBefore)
      data = StepData::kNext;
    else if (place.reversed && data == StepData::kNext)
      data = StepData::kBefore;
    const auto at = static_cast<std::size_t>(data);
    causes.push_back({std::string("solved-back-") + id + "-" + kIds[at],
                      "backward reads " + tensors + " " + kWords[at] + ", under the label of the right one",
                      "Which buffers hold k and v at each step of backward, and who wrote them last?"});
  };
  if (recipe.k_data == recipe.v_data && recipe.k_data != StepData::kRight)
    return add("k and v", "kv", recipe.k_data);
  if (recipe.k_data != StepData::kRight) add("k", "k", recipe.k_data);
  if (recipe.v_data != StepData::kRight) add("v", "v", recipe.v_data);
}

}  // namespace

std::vector<Cause> causes_of(const Recipe& recipe, GradientName name, const Setting& forward,
                             const Arrangement& place) {
  Setting reads = recipe.setting;
  std::vector<Cause> causes;
  if (name == GradientName::kDv && reads.heads == Setting::Heads::kRight &&
      reads.value_heads != forward.value_heads)  // dv reads no v: it is added to that of a head
    causes = {cause_of_target_heads(std::exchange(reads.value_heads, Setting::Heads::kRight))};
  std::ranges::move(causes_of(reads), std::back_inserter(causes));
  const auto add = [&](const char* id, const char* sentence, const char* question) {
    causes.push_back({id, sentence, question});
  };
  if (recipe.out_for_dout)
    add("solved-out-for-dout", "dP and dv are made of out instead of dout",
        "Backward gets out and dout, of the same shape: which of them is which?");
  constexpr const char* kWhichLse = "Do the rows of your recomputed P add up to 1?";
  switch (recipe.lse) {
    case Lse::kClaimed:
      break;
    case Lse::kRight:
      add("solved-lse-right", "P is made from right lse, not from the one that was handed out", kWhichLse);
      break;
    case Lse::kBase2:
      add("BW-base2", "P is computed again as exp(score - lse) with an lse to the base 2", kWhichLse);
      break;
    case Lse::kTimesLn2:
      add("solved-lse-ln2", "P is computed again from lse times ln 2", kWhichLse);
      break;
    case Lse::kOwnBlock:
      add("RB7", "P is computed again from the lse of each block", kWhichLse);
      break;
    case Lse::kNegative:
      add("solved-lse-negative", "P is computed again with lse of the wrong sign: exp(score + lse)",
          kWhichLse);
      break;
    case Lse::kNone:
      add("solved-lse-none", "P is computed again without lse: exp(score)", kWhichLse);
      break;
  }
  constexpr const char* kWhichD =
      "Adding a constant to one row of scores must not change out: does your row of dS sum to 0?";
  switch (recipe.delta) {
    case Delta::kClaimed:
      break;
    case Delta::kRight:
      add("solved-D-right", "D is made from right out, not from the one that was handed out", kWhichD);
      break;
    case Delta::kNone:
      add("BW1", "the D term is missing: dS = P dP", kWhichD);
      break;
    case Delta::kMean:
      add("solved-D-mean", "D is the mean of dout * out over the columns, not their sum", kWhichD);
      break;
    case Delta::kOfDout:
      add("solved-D-dout", "D is the sum of dout * dout instead of dout * out", kWhichD);
      break;
    case Delta::kOfOut:
      add("solved-D-out", "D is the sum of out * out instead of dout * out", kWhichD);
      break;
    case Delta::kOverHeads:
      add("solved-D-heads", "D is summed over the heads besides the columns", kWhichD);
      break;
    case Delta::kFirstHalf:
      add("solved-D-columns", "D sums dout * out over the first half of the columns alone", kWhichD);
      break;
    case Delta::kDoubled:
      add("solved-D-twice", "D is subtracted twice", kWhichD);
      break;
  }
  switch (recipe.formula) {
    case Formula::kRight:
      break;
    case Formula::kAdded:
      add("BW-plus", "D is added instead of subtracted", kWhichD);
      break;
    case Formula::kUnweighted:
    case Formula::kUnweightedHidden:
      add("solved-dS-unweighted", "D is not multiplied by P: dS = P dP - D instead of P (dP - D)", kWhichD);
      break;
    case Formula::kWithoutP:
    case Formula::kWithoutPHidden:
      add("solved-dS-without-P", "dS is not multiplied by P: dS = dP - D instead of P (dP - D)", kWhichD);
      break;
    case Formula::kDiagonal:
      add("solved-dS-diagonal",
          "dS = P (1 - P) dP: the derivative of softmax is taken for its diagonal alone", kWhichD);
      break;
    case Formula::kScaledDp:
      add("solved-dS-scaled-dP", "dP is scaled before D is subtracted: dS = P (scale dP - D)", kWhichD);
      break;
    case Formula::kScaledD:
      add("solved-dS-scaled-D", "D is scaled, and dP is not: dS = P (dP - scale D)", kWhichD);
      break;
    case Formula::kSquared:
      add("solved-dS-squared", "dS is multiplied by P twice", kWhichD);
      break;
  }
  constexpr const char* kWhichFactors =
      "Write the three products of backward with their shapes: which two tensors make this gradient?";
  switch (recipe.product) {
    case Recipe::Product::kRight:
      break;
    case Recipe::Product::kOtherFactor:
      add("solved-product-factor",
          "the weights are right, and they are multiplied with the wrong tensor (right are dS k, dS^T q and "
          "P^T dout)",
          kWhichFactors);
      break;
    case Recipe::Product::kOtherWeights:
    case Recipe::Product::kPlainWeights:
      add("solved-product-weights", "P and dS have changed places (right are dS k, dS^T q and P^T dout)",
          kWhichFactors);
      break;
  }
  constexpr const char* kWhichHeads = "How many query heads have read this key head?";
  switch (recipe.group) {
    case Group::kSum:
      break;
    case Group::kFirst:
      add("GQ4-first", "a group's sum holds its first query head alone", kWhichHeads);
      break;
    case Group::kLast:
      add("GQ4", "a group's sum holds its last query head alone", kWhichHeads);
      break;
    case Group::kMean:
      add("GQ4-average", "the query heads of a group are averaged, not added", kWhichHeads);
      break;
    case Group::kStrided:
      add("solved-group-strided",
          "heads g, g + kv_heads, ... are added for key head g, not the neighbours of its group",
          kWhichHeads);
      break;
  }
  for (const auto& [tensor, from] : {std::pair{"lse", recipe.lse_from}, std::pair{"D", recipe.delta_from},
                                     std::pair{"dout", recipe.dout_from}, std::pair{"q", recipe.query_from}})
    if (from != From::kRight) {
      causes.push_back(cause_of_source(tensor, from));
      if (recipe.only_in_product) causes.back().sentence += ", in the product dS^T q alone";
    }
  add_data(recipe, place, causes);
  return causes;
}

}  // namespace ringcraft::verify
