// Searches the mistakes of a program for those that explain an answer: single ones, then pairs at different
// places.
#include <algorithm>
#include <limits>
#include <span>

#include "verify/diagnose/tiles/attention_program.hpp"

namespace ringcraft::verify {
namespace {

using Slip = SoftmaxSlip;

constexpr SoftmaxWord kSoftmaxWords[] = {
    {"softmax-no-maximum", "no maximum is subtracted from the scores: exp(score) overflows or vanishes",
     "How large may a score become before exp(score) is infinite?", Slip::kMaximumIs, 0},
    {"softmax-maximum-from", "the maximum of a row begins at 0, also where all of its scores are far below",
     "Which start value is smaller than every score?", Slip::kMaximumFrom, 0},
    {"softmax-maximum-from",
     "the maximum of a row begins at the smallest positive number, not at minus infinity",
     "Is numeric_limits::min() below every score?", Slip::kMaximumFrom, std::numeric_limits<float>::min()},
    {"softmax-maximum-from", "the maximum of a row begins at -1, also where all of its scores are far below",
     "Which start value is smaller than every score?", Slip::kMaximumFrom, -1},
    {"softmax-maximum-from",
     "the maximum of a row begins at -100, also where all of its scores are far below",
     "Which start value is smaller than every score?", Slip::kMaximumFrom, -100},
    {"softmax-maximum-from",
     "the maximum of a row begins at -1000, also where all of its scores are far below",
     "Which start value is smaller than every score?", Slip::kMaximumFrom, -1e3},
    {"softmax-maximum-from",
     "the maximum of a row begins at -10000, also where all of its scores are far below",
     "Which start value is smaller than every score?", Slip::kMaximumFrom, -1e4},
    {"softmax-column-sum",
     "the weights of a key, over all rows, add up to 1: normalised by columns instead of rows",
     "Over which index does the sum of one query's weights run?", Slip::kColumnSum},
    {"softmax-column-maximum",
     "the maximum is that of the key's column, over all rows, instead of the row's own",
     "Over which index does the maximum of one query's scores run?", Slip::kColumnMaximum},
    {"softmax-matrix-sum", "the weights of all rows together add up to 1, not those of each row",
     "Over which index does the sum of one query's weights run?", Slip::kMatrixSum},
    {"softmax-unscaled-maximum",
     "the maximum is that of q . k, without the softmax scale: not that of the scores",
     "Is the number that you subtract the largest of those that you subtract it from?",
     Slip::kUnscaledMaximum},
    {"softmax-first-score", "the score of the first visible key is subtracted, not the largest one",
     "Is the first score the largest of its row?", Slip::kFirstScore},
    {"softmax-smallest", "the smallest score of a row is subtracted, not the largest one",
     "Which score must be subtracted so that no exponent is positive?", Slip::kSmallest},
    {"softmax-largest-of-all", "the largest score of the whole matrix is subtracted, not that of the row",
     "What is left of a row whose scores are all far below those of another?", Slip::kLargestOfAll},
    {"softmax-sum-goes-on", "l is not reset: the sum of a row begins with that of the row before",
     "Which of m, l and O must begin anew with each row?", Slip::kSumGoesOn},
    {"softmax-sum-goes-on",
     "l is not reset: the sum of a row begins with that of the row before (and the maximum is that of q . k, "
     "without the softmax scale)",
     "Which of m, l and O must begin anew with each row?", Slip::kSumGoesOn, 1},
    {"softmax-out-goes-on", "O is not reset: a row begins with the sum that the row before has left",
     "Which of m, l and O must begin anew with each row?", Slip::kOutGoesOn},
    {"softmax-out-goes-on", "out is not reset: a row is added to the result of the row before",
     "Which of m, l and O must begin anew with each row?", Slip::kQuotientGoesOn},
    {"softmax-state-goes-on", "l and O are not reset: a row begins with what the row before has left",
     "Which of m, l and O must begin anew with each row?", Slip::kBothGoOn},
    {"softmax-state-goes-on", "m, l and O are not reset: a row goes on with the state of the row before",
     "Which of m, l and O must begin anew with each row?", Slip::kAllGoOn},
    {"softmax-maximum-goes-on", "m is not reset: the maximum of a row begins with that of the row before",
     "Which of m, l and O must begin anew with each row?", Slip::kMaximumGoesOn},
    {"softmax-score-goes-on",
     "the product q . k is not reset: that of a key begins with that of the key before",
     "What must the sum of a dot product hold before its first term?", Slip::kScoreGoesOn},
    {"softmax-sum-so-far",
     "each weight is divided by the sum up to its own key, not by that of the whole row",
     "When is the sum of a row complete?", Slip::kSumSoFar},
    {"softmax-maximum-so-far",
     "each weight that is multiplied with v is relative to the maximum so far, and does not follow when it "
     "grows (l does)",
     "What becomes of the weights that were taken before the maximum grew?", Slip::kMaximumSoFar, 0},
    {"softmax-maximum-so-far",
     "each weight is relative to the maximum so far, and neither it nor its share of l follows when the "
     "maximum grows",
     "What becomes of the weights that were taken before the maximum grew?", Slip::kMaximumSoFar, 1},
    {"softmax-squares", "the weights are divided by the root of the sum of their squares, not by their sum",
     "What must the weights of a row add up to?", Slip::kSquares},
    {"float-scores", "the scores are kept in float32", "Which of your variables are float where T is double?",
     Slip::kFloatScores},
    {"float-weights", "the weights are kept in float32",
     "Which of your variables are float where T is double?", Slip::kFloatWeights},
    {"float-scores-and-weights", "scores and weights are kept in float32",
     "Which of your variables are float where T is double?", Slip::kFloatBoth},
    {"float-shares", "the normalised weights are kept in float32",
     "Which of your variables are float where T is double?", Slip::kFloatShares},
};

// One mistake, with its wording.
struct Slipped {
  AttentionLaw law;
  int place;  // two at the same place cannot be combined
  bool usual;
  Cause cause;
};

const char* words_of_loops(unsigned loops) {
  constexpr const char* kWords[] = {
      "",
      " (only where the maximum is looked for)",
      " (only where the weights are added up)",
      " (where the maximum is looked for and the weights are added up, not where the values are added)",
      " (only where the values are added)",
      " (not where the weights are added up)",
      " (where the weights are added up and the values are added, not where the maximum is looked for)",
      ""};
  return kWords[loops];
}

template <class Word>
void add_addresses(const char* tensor, int place, const std::vector<AddressWord>& words,
                   Word AttentionLaw::*member, std::vector<Slipped>& all) {
  for (std::size_t n = 0; n < words.size(); ++n) {
    Slipped& slip = all.emplace_back(Slipped{{}, place, words[n].usual, {}});
    slip.law.*member = &words[n];
    slip.cause = {
        "index-" + std::string(tensor) + "-" + std::to_string(n), words[n].words,
        "Write down the place in memory of one number: what does each index of it count, and how far is "
        "it to the next?"};
  }
}

// All mistakes; their wordings live as long as the program.
const std::vector<Slipped>& all_slips() {
  static const std::vector<AddressWord> queries = address_words(TensorRole::kQuery),
                                        keys = address_words(TensorRole::kKey),
                                        values = address_words(TensorRole::kValue),
                                        outs = address_words(TensorRole::kOut);
  static const std::vector<ColumnWord> columns = column_words();
  static const std::vector<KeyWord> loops = key_words();
  static const std::vector<Slipped> all = [] {
    std::vector<Slipped> slips;
    for (const SoftmaxWord& word : kSoftmaxWords) {
      slips.push_back({{}, 0, true, {word.id, word.words, word.question}});
      slips.back().law.softmax = &word;
    }
    for (const unsigned mask : {7u, 6u, 4u, 2u, 1u, 3u, 5u})
      for (std::size_t n = 0; n < loops.size(); ++n) {
        slips.push_back({{}, 1, mask == 7, {}});
        slips.back().law.keys = &loops[n], slips.back().law.loops = mask;
        slips.back().cause = {
            "loop-keys-" + std::to_string(n) + "-" + std::to_string(mask),
            loops[n].words + words_of_loops(mask),
            "Row i sees the keys from begin[i] up to, not including, end[i]: does each of your "
            "loops visit just these?"};
      }
    for (std::size_t n = 0; n < columns.size(); ++n) {
      slips.push_back({{}, 2, true, {}});
      slips.back().law.columns = &columns[n];
      slips.back().cause = {
          "loop-columns-" + std::to_string(n), columns[n].words,
          "A dot product runs over all head_dim columns: which of them does yours leave out?"};
    }
    add_addresses("q", 3, queries, &AttentionLaw::query, slips);
    add_addresses("k", 4, keys, &AttentionLaw::key, slips);
    add_addresses("v", 5, values, &AttentionLaw::value, slips);
    add_addresses("out", 6, outs, &AttentionLaw::out, slips);
    return slips;
  }();
  return all;
}

AttentionLaw together(AttentionLaw a, const AttentionLaw& b) {
  if (b.query != nullptr) a.query = b.query;
  if (b.key != nullptr) a.key = b.key;
  if (b.value != nullptr) a.value = b.value;
  if (b.out != nullptr) a.out = b.out;
  if (b.columns != nullptr) a.columns = b.columns;
  if (b.softmax != nullptr) a.softmax = b.softmax;
  if (b.keys != nullptr) a.keys = b.keys, a.loops = b.loops;
  return a;
}

}  // namespace

std::vector<Cause> causes_of_program(const Evidence& e) {
  constexpr double kMostWork = 4e6;  // multiplications of all rows
  constexpr double kMostOfPairs = 1.5e7;
  if (e.ring != nullptr || e.problem.queries.empty() || e.problem.keys.empty()) return {};
  const AttentionProgram program(e);
  const double rows =
      static_cast<double>(e.problem.batch * e.problem.heads) * static_cast<double>(e.problem.queries.size());
  if (program.work_of_row() * rows > kMostWork) return {};
  std::vector<Cause> causes;
  for (const Slipped& slip : all_slips())
    if (program.explains(slip.law)) causes.push_back(slip.cause);
  if (!causes.empty() || !program.tells_pairs()) return causes;
  std::vector<const Slipped*> usual;
  for (const Slipped& slip : all_slips())
    if (slip.usual) usual.push_back(&slip);
  const double pairs = static_cast<double>(usual.size() * usual.size()) / 2;
  if (pairs * program.work_of_row() > kMostOfPairs) return {};
  for (std::size_t a = 0; a < usual.size(); ++a)
    for (std::size_t b = a + 1; b < usual.size(); ++b) {
      if (usual[a]->place == usual[b]->place || !program.explains(together(usual[a]->law, usual[b]->law)))
        continue;
      Cause cause = usual[a]->cause;
      cause.sentence += "; and " + usual[b]->cause.sentence;
      causes.push_back(std::move(cause));
    }
  return causes;
}

}  // namespace ringcraft::verify
