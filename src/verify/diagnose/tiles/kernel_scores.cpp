// Explains a wrong kernel of the scores, and defines which numbers of a matrix a kernel computes at all.
#include <algorithm>
#include <cmath>

#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/functions/agree.hpp"
#include "verify/diagnose/tiles/kernel_stages.hpp"
#include "verify/diagnose/tiles/law_search.hpp"

namespace ringcraft::verify {
namespace {

constexpr double kScoresNear = 2e-5;  // of the sum of the terms without their signs

const char* const kIndexQuestion =
    "Write down the place in memory of one number: what does each index of it count, and how far is it to "
    "the next?";

struct ScaleOfScores {
  const char* words;
  double (*of)(double scale, double width);
};
constexpr ScaleOfScores kScalesOfScores[] = {
    {"the softmax scale is missing in S", [](double, double) { return 1.0; }},
    {"the softmax scale is applied twice in S", [](double s, double) { return s * s; }},
    {"S is divided by the softmax scale", [](double s, double) { return 1 / s; }},
    {"S is multiplied by 1/sqrt(head_dim), not by the softmax scale that is given",
     [](double, double n) { return 1 / std::sqrt(n); }},
    {"S is multiplied by 1/head_dim, not by the softmax scale that is given",
     [](double, double n) { return 1 / n; }},
    {"S has the wrong sign", [](double s, double) { return -s; }},
    {"S is in units of log 2, as for exp2", [](double s, double) { return s * 1.4426950408889634; }}};

// The value written for a key that the row does not see.
struct UnseenScore {
  const char* words;
  double number;
};
constexpr UnseenScore kUnseenScores[] = {
    {"minus infinity is written to S where a row does not see the key", -HUGE_VAL},
    {"0 is written to S where a row does not see the key", 0},
    {"-1e9 is written to S where a row does not see the key", -1e9f},
    {"-1e30 is written to S where a row does not see the key", -1e30f},
    {"-10000 is written to S where a row does not see the key", -1e4f},
    {"the lowest number is written to S where a row does not see the key", -3.402823466e38}};

enum PlaceOfScores : std::size_t {
  kScoreQ,
  kScoreK,
  kScoreColumns,
  kScoreMemory,
  kScoreNumbers,
  kScoreKeys,
  kScoreScale,
  kScoreUnseen
};

struct ScoresLaws {
  const StepExhibit& x;
  std::vector<AddressWord> q = address_words(TensorRole::kQuery), k = address_words(TensorRole::kKey),
                           memory = address_words(TensorRole::kScores);
  std::vector<ColumnWord> columns = column_words();
  std::vector<NumberWord> numbers = number_words("S");
  std::vector<KeyWord> keys = key_words();

  bool visits(const LawChoice& law, Index a, Index b) const {
    if (law[kScoreNumbers] > 0 && !numbers[law[kScoreNumbers] - 1].of(a, b, x.rows, x.keys, x.width))
      return false;
    return law[kScoreKeys] > 0 ? keys[law[kScoreKeys] - 1].of(key_of(x, a, b)) : is_seen(x, a, b);
  }
  // The score, and the sum of its terms without their signs.
  std::pair<double, double> score(const LawChoice& law, Index a, Index b) const {
    double sum = 0, size = 0;
    for (Index d = 0; d < x.width; ++d) {
      const Index times = law[kScoreColumns] > 0 ? columns[law[kScoreColumns] - 1].of(d, x.width) : 1;
      Spot of_q = spot_of(a, d, x.rows, x.width, x.keys), of_k = spot_of(b, d, x.keys, x.width, x.rows);
      of_q.other = b, of_k.other = a, of_k.begin = x.begin[static_cast<std::size_t>(a)];
      const Index q_at = law[kScoreQ] > 0 ? q[law[kScoreQ] - 1].of(of_q) : a * x.width + d;
      const Index k_at = law[kScoreK] > 0 ? k[law[kScoreK] - 1].of(of_k) : b * x.width + d;
      const double term = static_cast<double>(times) * number_or_zero(x.q, q_at) * number_or_zero(x.k, k_at);
      sum += term, size += std::fabs(term);
    }
    const double factor =
        law[kScoreScale] > 0 ? kScalesOfScores[law[kScoreScale] - 1].of(x.scale, static_cast<double>(x.width))
                             : x.scale;
    return std::pair{factor * sum, std::fabs(factor) * size};
  }

  bool gives(const LawChoice& law) const {
    const std::vector<double>&before = x.after[0].scores, &after = x.after[1].scores;
    if (law[kScoreMemory] == 0) {
      for (Index a = 0; a < x.rows; ++a)
        for (Index b = 0; b < x.keys; ++b) {
          const auto at = static_cast<std::size_t>(a * x.keys + b);
          if (!visits(law, a, b)) {
            const double kept =
                law[kScoreUnseen] > 0 ? kUnseenScores[law[kScoreUnseen] - 1].number : before[at];
            if (!agree_or_nan(after[at], kept, 0)) return false;
            continue;
          }
          const auto [want, size] = score(law, a, b);
          if (!agree_or_nan(after[at], want, kScoresNear, size)) return false;
        }
      return true;
    }
    std::vector<std::pair<double, double>> numbers_there;
    for (const double number : before) numbers_there.emplace_back(number, 0);
    for (Index a = 0; a < x.rows; ++a)
      for (Index b = 0; b < x.keys; ++b) {
        if (!visits(law, a, b)) continue;
        const Index place = memory[law[kScoreMemory] - 1].of(spot_of(a, b, x.rows, x.keys, x.width));
        if (place < 0 || place >= static_cast<Index>(before.size())) return false;
        numbers_there[static_cast<std::size_t>(place)] = score(law, a, b);
      }
    for (std::size_t at = 0; at < before.size(); ++at)
      if (!agree_or_nan(after[at], numbers_there[at].first, kScoresNear, numbers_there[at].second))
        return false;
    return true;
  }
};

}  // namespace

std::vector<NumberWord> number_words(const std::string& m) {
  using I = Index;
  std::vector<NumberWord> all{
      {"row and column of " + m +
           " are taken from the number of the thread with the wrong extent: divided by the "
           "number of rows",
       [](I a, I b, I r, I c, I) { return b < r && a * r + b < r * c; }},
      {"row and column of " + m +
           " are taken from the number of the thread with the wrong extent: divided by the "
           "extent of the other matrix",
       [](I a, I b, I r, I c, I o) { return b < o && a * o + b < r * c; }},
      {"row and column of " + m + " are exchanged when they are taken from the number of the thread",
       [](I a, I b, I r, I c, I) { return a < c && b < r && b * c + a < r * c; }},
      {"the last number of " + m + " is never computed",
       [](I a, I b, I r, I c, I) { return a * c + b + 1 < r * c; }},
      {"the first number of " + m + " is never computed", [](I a, I b, I, I, I) { return a + b > 0; }},
      {"the last row of " + m + " is never computed", [](I a, I, I r, I, I) { return a + 1 < r; }},
      {"the last column of " + m + " is never computed", [](I, I b, I, I c, I) { return b + 1 < c; }},
      {"only row 0 of " + m + " is computed", [](I a, I, I, I, I) { return a == 0; }},
      {"only column 0 of " + m + " is computed", [](I, I b, I, I, I) { return b == 0; }}};
  for (const I size : {256, 128, 64, 32, 512, 1024}) {
    const std::string text = std::to_string(size);
    all.push_back(
        {"the first " + text + " numbers of " + m + " alone are computed: those of the first thread block",
         [=](I a, I b, I, I c, I) { return a * c + b < size; }});
    all.push_back({"the numbers of " + m + " after the last whole thread block of " + text +
                       " are never computed: the number of thread blocks is rounded down",
                   [=](I a, I b, I r, I c, I) { return a * c + b < r * c / size * size; }});
  }
  for (const I size : {8, 16, 32, 64}) {
    const std::string text = std::to_string(size);
    all.push_back({"the first " + text + " columns of " + m + " alone are computed",
                   [=](I, I b, I, I, I) { return b < size; }});
    all.push_back({"the first " + text + " rows of " + m + " alone are computed",
                   [=](I a, I, I, I, I) { return a < size; }});
    all.push_back({"columns of " + m + " after the last whole tile of " + text + " are never computed",
                   [=](I, I b, I, I c, I) { return b < c / size * size; }});
    all.push_back({"rows of " + m + " after the last whole tile of " + text + " are never computed",
                   [=](I a, I, I r, I, I) { return a < r / size * size; }});
    all.push_back({"tiles of " + m + " of " + text + " x " + text + " that cross a border are never computed",
                   [=](I a, I b, I r, I c, I) { return a < r / size * size && b < c / size * size; }});
    all.push_back({"of each tile of " + text + " rows of " + m +
                       " the first quarter alone is computed: a thread writes "
                       "one of its four numbers",
                   [=](I a, I, I, I, I) { return a % size < size / 4; }});
  }
  return all;
}

std::vector<std::string> words_of_loop(const std::vector<KeyWord>& words, const std::string& loop,
                                       const std::string& where) {
  constexpr std::string_view kLoop = "the loop";
  std::vector<std::string> texts = texts_of(words);
  for (std::string& text : texts)
    if (text.starts_with(kLoop)) text = loop + text.substr(kLoop.size()) + where;
  return texts;
}

std::vector<Cause> causes_of_scores(const StepExhibit& x) {
  const ScoresLaws laws{x};
  return causes_by_law(
      {{"kernel-q", kIndexQuestion, texts_of(laws.q)},
       {"kernel-k", kIndexQuestion, texts_of(laws.k)},
       {"kernel-columns",
        "A dot product runs over all head_dim columns: which of them does yours leave out, or take "
        "twice?",
        texts_of(laws.columns)},
       {"kernel-S", kIndexQuestion, texts_of(laws.memory)},
       {"kernel-S-numbers", "Which thread computes the last number of S, and which row and key are its?",
        texts_of(laws.numbers)},
       {"kernel-S-keys",
        "Row a sees the keys from begin[a] up to, not including, end[a]: which scores does the kernel "
        "write?",
        words_of_loop(laws.keys, "the kernel of the scores"),
        {{5, "SW-none"}, {7, "CM0"}}},
       {"kernel-scale",
        "By what is q . k multiplied, and how often?",
        texts_of(kScalesOfScores),
        {{1, "BL5"}, {2, "BL5-twice"}, {3, "BL4"}, {4, "solved-scale"}}},
       {"kernel-unseen", "Who reads S where a row does not see a key?", texts_of(kUnseenScores)}},
      [&](const LawChoice& law) { return laws.gives(law); });
}

std::vector<Cause> causes_of(const StepExhibit& x) {
  if (x.after.size() < 4) return {};
  std::vector<Cause> causes;
  for (auto* const stage : {&causes_of_scores, &causes_of_softmax, &causes_of_values})
    for (Cause& cause : (*stage)(x)) causes.push_back(std::move(cause));
  return causes;
}

}  // namespace ringcraft::verify
