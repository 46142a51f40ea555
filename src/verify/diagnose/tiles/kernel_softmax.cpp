// Explains a wrong kernel of the softmax: m' = max(m, S), P = exp(S - m'), l' = exp(m - m') l + sum P.
// Searches the words for the maximum, the loops, the lanes, the weights, the sum and the stores.
#include <algorithm>
#include <array>
#include <cmath>

#include "verify/diagnose/functions/agree.hpp"
#include "verify/diagnose/tiles/kernel_stages.hpp"
#include "verify/diagnose/tiles/law_search.hpp"

namespace ringcraft::verify {
namespace {

constexpr double kSoftmaxNear = 4e-5;  // of weights and sums; exponents err by their scores besides
constexpr std::size_t kLanes = 32;

// A row during the kernel's computation.
struct SoftmaxRow {
  std::vector<double> scores, weights;  // of the keys that the loop visits, in order
  std::vector<double> at_the_moment;    // exp(score - the maximum so far)
  double old_max, old_sum, max, part_max, rescale, sum;
  double moment_sum;  // sum of at_the_moment, rescaled whenever the maximum grows
};

struct SoftmaxWordOf {
  const char* words;
  double (*of)(const SoftmaxRow& row);
};

// The number that is subtracted.
constexpr SoftmaxWordOf kMaximaOfRow[] = {
    {"m is the maximum of these keys alone, also where an earlier one was larger",
     [](const SoftmaxRow& r) { return r.part_max; }},
    {"no maximum is subtracted", [](const SoftmaxRow&) { return 0.0; }},
    {"the old m is subtracted, also where these keys have a larger score",
     [](const SoftmaxRow& r) { return r.old_max; }},
    {"the maximum begins at 0", [](const SoftmaxRow& r) { return std::max(0.0, r.max); }},
    {"the score of the first visible key is subtracted",
     [](const SoftmaxRow& r) { return r.scores.front(); }},
    {"the score of the last visible key is subtracted", [](const SoftmaxRow& r) { return r.scores.back(); }},
    {"the smallest score is subtracted", [](const SoftmaxRow& r) { return std::ranges::min(r.scores); }},
    {"the maximum is that of the score and the old m for the last key alone",
     [](const SoftmaxRow& r) { return std::max(r.old_max, r.scores.back()); }},
    {"old m and maximum of these keys are added",
     [](const SoftmaxRow& r) { return r.old_max + r.part_max; }}};

constexpr SoftmaxWordOf kSumsOfRow[] = {
    {"l is that of these keys alone: the old l is lost", [](const SoftmaxRow& r) { return r.sum; }},
    {"the old l is not rescaled when m grows", [](const SoftmaxRow& r) { return r.old_sum + r.sum; }},
    {"the new sum is rescaled as well as the old l",
     [](const SoftmaxRow& r) { return r.rescale * (r.old_sum + r.sum); }},
    {"the new sum is rescaled instead of the old l",
     [](const SoftmaxRow& r) { return r.old_sum + r.rescale * r.sum; }},
    {"the new keys are not added to l", [](const SoftmaxRow& r) { return r.rescale * r.old_sum; }},
    {"l is not written", [](const SoftmaxRow& r) { return r.old_sum; }},
    {"the factor of the old l is inverted: exp(new m - old m)",
     [](const SoftmaxRow& r) { return r.old_sum / r.rescale + r.sum; }},
    {"the old l is counted by each of the 32 lanes",
     [](const SoftmaxRow& r) { return 32 * r.rescale * r.old_sum + r.sum; }},
    {"the old l is counted by each of the 32 lanes, and is not rescaled",
     [](const SoftmaxRow& r) { return 32 * r.old_sum + r.sum; }},
    {"the sum of these keys is counted by each of the 32 lanes",
     [](const SoftmaxRow& r) { return r.rescale * r.old_sum + 32 * r.sum; }},
    {"l is counted by each of the 32 lanes",
     [](const SoftmaxRow& r) { return 32 * (r.rescale * r.old_sum + r.sum); }},
    {"the old l is rescaled twice",
     [](const SoftmaxRow& r) { return r.rescale * r.rescale * r.old_sum + r.sum; }},
    {"l adds weights of the maximum so far, which do not follow when m grows",
     [](const SoftmaxRow& r) {
       double sum = r.rescale * r.old_sum;
       for (const double weight : r.at_the_moment) sum += weight;
       return sum;
     }},
    {"l counts keys instead of weights",
     [](const SoftmaxRow& r) { return r.rescale * r.old_sum + static_cast<double>(r.scores.size()); }},
    {"l adds scores instead of weights",
     [](const SoftmaxRow& r) {
       double sum = r.rescale * r.old_sum;
       for (const double score : r.scores) sum += score;
       return sum;
     }},
    {"l keeps the last weight alone: each is stored over the sum",
     [](const SoftmaxRow& r) { return r.rescale * r.old_sum + r.weights.back(); }},
    {"l is at least 1", [](const SoftmaxRow& r) { return std::max(1.0, r.rescale * r.old_sum + r.sum); }},
    {"the old l is counted without its factor: exp(old m) stands for it",
     [](const SoftmaxRow& r) { return r.rescale + r.sum; }}};

constexpr SoftmaxWordOf kFactorsOfRow[] = {
    {"the factor of the old O is inverted: exp(new m - old m)",
     [](const SoftmaxRow& r) { return 1 / r.rescale; }},
    {"the factor of the old O is 1: m is overwritten before the factor is computed, or the factor is left "
     "out",
     [](const SoftmaxRow&) { return 1.0; }},
    {"the factor of the old O is 0: what earlier keys gave is lost", [](const SoftmaxRow&) { return 0.0; }},
    {"the factor of the old O is that of the maximum of these keys alone",
     [](const SoftmaxRow& r) { return std::exp(r.old_max - r.part_max); }},
    {"the factor of the old O is that of a mean: O is taken to be divided by l already",
     [](const SoftmaxRow& r) { return r.rescale * r.old_sum / (r.rescale * r.old_sum + r.sum); }},
    {"the factor of the old O is old l / new l",
     [](const SoftmaxRow& r) { return r.old_sum / (r.rescale * r.old_sum + r.sum); }},
    {"the factor of the old O is divided by the new l",
     [](const SoftmaxRow& r) { return r.rescale / (r.rescale * r.old_sum + r.sum); }},
    {"the factor of the old O is a power of 2, not e",
     [](const SoftmaxRow& r) { return std::exp2(r.old_max - r.max); }},
    {"the factor of the old O is the difference of the maxima: exp is missing",
     [](const SoftmaxRow& r) { return r.old_max - r.max; }},
    {"the factor of the old O is exp(old m)", [](const SoftmaxRow& r) { return std::exp(r.old_max); }},
    {"the factor of the old O is the old one squared",
     [](const SoftmaxRow& r) { return r.rescale * r.rescale; }}};

constexpr SoftmaxWordOf kStoredMaxima[] = {
    {"m is not written", [](const SoftmaxRow& r) { return r.old_max; }},
    {"the maximum of these keys alone is written to m", [](const SoftmaxRow& r) { return r.part_max; }},
    {"lse is written to m",
     [](const SoftmaxRow& r) { return r.max + std::log(r.rescale * r.old_sum + r.sum); }},
    {"the last score is written to m", [](const SoftmaxRow& r) { return r.scores.back(); }},
    {"the sum of old and new maximum is written to m",
     [](const SoftmaxRow& r) { return r.old_max + r.max; }}};

struct WeightWordOf {
  const char* words;
  double (*of)(const SoftmaxRow& row, std::size_t key);
};
constexpr WeightWordOf kWeightsOfRow[] = {
    {"the weights are not written down: the scores stay in S",
     [](const SoftmaxRow& r, std::size_t k) { return r.scores[k]; }},
    {"each weight is that of the maximum so far, and does not follow when m grows",
     [](const SoftmaxRow& r, std::size_t k) { return r.at_the_moment[k]; }},
    {"the weights are relative to the old m, not the new one",
     [](const SoftmaxRow& r, std::size_t k) { return std::exp(r.scores[k] - r.old_max); }},
    {"the weights are relative to the maximum of these keys alone",
     [](const SoftmaxRow& r, std::size_t k) { return std::exp(r.scores[k] - r.part_max); }},
    {"the weights are exp(score): no maximum is subtracted",
     [](const SoftmaxRow& r, std::size_t k) { return std::exp(r.scores[k]); }},
    {"the weights are powers of 2, not e",
     [](const SoftmaxRow& r, std::size_t k) { return std::exp2(r.scores[k] - r.max); }},
    {"the weights are divided by the sum of these keys",
     [](const SoftmaxRow& r, std::size_t k) { return r.weights[k] / r.sum; }},
    {"the weights are divided by the new l",
     [](const SoftmaxRow& r, std::size_t k) { return r.weights[k] / (r.rescale * r.old_sum + r.sum); }},
    {"the weights are the inverse: exp(m - score)",
     [](const SoftmaxRow& r, std::size_t k) { return 1 / r.weights[k]; }},
    {"the weights are score - m: exp is missing",
     [](const SoftmaxRow& r, std::size_t k) { return r.scores[k] - r.max; }},
    {"the weights are rescaled as if they were old",
     [](const SoftmaxRow& r, std::size_t k) { return r.rescale * r.weights[k]; }},
    {"the sum so far is written instead of the weight", [](const SoftmaxRow& r, std::size_t k) {
       double sum = 0;
       for (std::size_t i = 0; i <= k; ++i) sum += r.weights[i];
       return sum;
     }}};

// The reduction over a warp whose lanes each handle every 32nd key.
struct LaneWord {
  const char* words;
  unsigned of_max, of_sum;  // the distances of the exchanges
  bool down_max, down_sum;  // shuffled down instead of across
};
constexpr LaneWord kLaneWords[] = {
    {"each lane subtracts the maximum of the scores that it has looked at itself", 0, 31, false, false},
    {"l is the share of lane 0: every 32nd key", 31, 0, false, false},
    {"neither maximum nor sum is brought together over the lanes", 0, 0, false, false},
    {"the maximum is brought together over 16 lanes, not 32", 15, 31, false, false},
    {"the sum is brought together over 16 lanes, not 32", 31, 15, false, false},
    {"maximum and sum are brought together over 16 lanes, not 32", 15, 15, false, false},
    {"maximum and sum are brought together over 8 lanes, not 32", 7, 7, false, false},
    {"the maximum is brought together over every second lane: the last exchange is missing", 30, 31, false,
     false},
    {"the sum is brought together over every second lane: the last exchange is missing", 31, 30, false,
     false},
    {"maximum and sum are brought together over every second lane: the last exchange is missing", 30, 30,
     false, false},
    {"the maximum is shuffled down: lane 0 alone has it, and the other lanes subtract something else", 31, 31,
     true, false},
    {"maximum and sum are shuffled down: lane 0 alone has the maximum, and the others subtract something "
     "else",
     31, 31, true, true},
    {"maximum and sum are exchanged with the lane at distance 16 alone", 16, 16, false, false},
    {"maximum and sum are exchanged with the neighbouring lane alone", 1, 1, false, false}};

template <class Join>
std::array<double, kLanes> over_lanes(std::array<double, kLanes> x, unsigned distances, bool down,
                                      Join join) {
  for (std::size_t d = kLanes / 2; d > 0; d /= 2) {
    if ((distances & d) == 0) continue;
    const std::array<double, kLanes> before = x;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::size_t other = !down ? lane ^ d : lane + d < kLanes ? lane + d : lane;
      x[lane] = join(before[lane], before[other]);
    }
  }
  return x;
}

enum PlaceOfSoftmax : std::size_t {
  kRowMax,
  kRowLanes,
  kRowSum,
  kRowWeights,
  kRowFactor,
  kRowStored,
  kRowLoop,
  kRowUnseen,
  kRowPlace,
  kRowNumbers
};

struct SoftmaxLaws {
  const StepExhibit& x;
  std::vector<AddressWord> memory = address_words(TensorRole::kScores);
  std::vector<KeyWord> keys = key_words();
  std::vector<std::pair<std::string, std::function<bool(Index)>>> rows = rows_of_kernel();

  static std::vector<std::pair<std::string, std::function<bool(Index)>>> rows_of_kernel() {
    std::vector<std::pair<std::string, std::function<bool(Index)>>> all{
        {"only row 0 is turned into weights", [](Index a) { return a == 0; }}};
    for (const Index n : {8, 16, 32, 64, 128, 256})
      all.emplace_back("the first " + std::to_string(n) + " rows alone are turned into weights",
                       [n](Index a) { return a < n; });
    for (const Index n : {4, 8, 32})
      all.emplace_back("every " + std::to_string(n) + "th row alone is turned into weights",
                       [n](Index a) { return a % n == 0; });
    return all;
  }
  std::vector<std::string> loops_in_words() const {
    std::vector<std::string> texts = words_of_loop(keys, "the loop of the softmax");
    for (const char* loop : {"the loop of the maximum", "the loop of the weights and their sum"}) {
      const std::vector<std::string> more = words_of_loop(keys, loop);
      texts.insert(texts.end(), more.begin() + 1, more.end());
    }
    return texts;
  }
  // Whether the loop of the maximum (or of the sum) visits a key.
  bool visits(const LawChoice& law, Index a, Index b, bool of_max) const {
    const std::size_t n = law[kRowLoop], where = n == 0 ? 0 : (n - 1) / keys.size();
    const bool right = n == 0 || (where == 1 && !of_max) || (where == 2 && of_max);
    return right ? is_seen(x, a, b) : keys[(n - 1) % keys.size()].of(key_of(x, a, b));
  }

  bool row_is_kept(Index a) const {
    const auto row = static_cast<std::size_t>(a);
    const StepExhibit::Memory &was = x.after[1], &is = x.after[2];
    for (Index b = 0; b < x.keys; ++b) {
      const auto at = static_cast<std::size_t>(a * x.keys + b);
      if (!agree_or_nan(is.scores[at], was.scores[at], 0)) return false;
    }
    return agree_or_nan(is.max[row], was.max[row], 0) && agree_or_nan(is.sum[row], was.sum[row], 0) &&
           agree_or_nan(is.rescale[row], was.rescale[row], 0);
  }

  bool gives_row(const LawChoice& law, Index a) const {
    const auto row = static_cast<std::size_t>(a);
    const StepExhibit::Memory &was = x.after[1], &is = x.after[2];
    if (x.begin[row] >= x.end[row]) return row_is_kept(a);
    if (law[kRowNumbers] > 0 && !rows[law[kRowNumbers] - 1].second(a)) return row_is_kept(a);
    SoftmaxRow r{
        .old_max = was.max[row], .old_sum = was.sum[row], .max = was.max[row], .part_max = -HUGE_VAL};
    std::array<double, kLanes> maxima, sums{};
    maxima.fill(r.old_max);
    std::vector<std::size_t> places, lanes;
    for (Index b = 0; b < x.keys; ++b) {
      const bool in_max = visits(law, a, b, true), in_sum = visits(law, a, b, false);
      const auto own = static_cast<std::size_t>(a * x.keys + b);
      if (!in_sum && law[kRowPlace] == 0) {
        const double left = law[kRowUnseen] == 0 ? was.scores[own] : law[kRowUnseen] == 1 ? 0.0 : -HUGE_VAL;
        if (!agree_or_nan(is.scores[own], left, 0)) return false;
      }
      if (!in_max && !in_sum) continue;
      const Index place = law[kRowPlace] > 0
                              ? memory[law[kRowPlace] - 1].of(spot_of(a, b, x.rows, x.keys, x.width))
                              : a * x.keys + b;
      if (place < 0 || place >= static_cast<Index>(was.scores.size())) return false;
      const double score = was.scores[static_cast<std::size_t>(place)];
      const auto lane = static_cast<std::size_t>(((b - x.begin[row]) % 32 + 32) % 32);
      if (in_max && !std::isnan(score)) {
        r.part_max = std::max(r.part_max, score);
        maxima[lane] = std::max(maxima[lane], score);
      }
      if (!in_sum) continue;
      r.scores.push_back(score);
      places.push_back(static_cast<std::size_t>(place));
      lanes.push_back(lane);
    }
    r.max = std::max(r.old_max, r.part_max);
    if (r.scores.empty()) return false;
    if (law[kRowMax] > 0) r.max = kMaximaOfRow[law[kRowMax] - 1].of(r), maxima.fill(r.max);
    const LaneWord lane_word =
        law[kRowLanes] > 0 ? kLaneWords[law[kRowLanes] - 1] : LaneWord{"", 31, 31, false, false};
    maxima = over_lanes(maxima, lane_word.of_max, lane_word.down_max,
                        [](double p, double q) { return std::max(p, q); });
    if (law[kRowLanes] > 0) r.max = maxima[0];
    double so_far = r.old_max;
    for (std::size_t k = 0; k < r.scores.size(); ++k) {
      so_far = std::max(so_far, r.scores[k]);
      r.at_the_moment.push_back(std::exp(r.scores[k] - so_far));
      r.weights.push_back(std::exp(r.scores[k] - maxima[lanes[k]]));
      sums[lanes[k]] += r.weights[k];
    }
    r.sum =
        over_lanes(sums, lane_word.of_sum, lane_word.down_sum, [](double p, double q) { return p + q; })[0];
    r.rescale = std::exp(r.old_max - r.max);
    const double near = kSoftmaxNear * (1 + 1e-2 * std::fabs(r.max));
    for (std::size_t k = 0; k < r.scores.size(); ++k) {
      const double want = law[kRowWeights] > 0 ? kWeightsOfRow[law[kRowWeights] - 1].of(r, k) : r.weights[k];
      if (!agree_or_nan(is.scores[places[k]], want, near)) return false;
    }
    const auto part = [&](const auto& words, std::size_t place, double right) {
      return law[place] > 0 ? words[law[place] - 1].of(r) : right;
    };
    return agree_or_nan(is.sum[row], part(kSumsOfRow, kRowSum, r.rescale * r.old_sum + r.sum), near) &&
           agree_or_nan(is.rescale[row], part(kFactorsOfRow, kRowFactor, r.rescale), near) &&
           agree_or_nan(is.max[row], part(kStoredMaxima, kRowStored, r.max), 1e-6);
  }

  bool gives(const LawChoice& law) const {
    for (Index a = x.rows; a-- > 0;)  // the last rows are more informative
      if (!gives_row(law, a)) return false;
    return true;
  }
};

}  // namespace

std::vector<Cause> causes_of_softmax(const StepExhibit& x) {
  const SoftmaxLaws laws{x};
  std::vector<std::string> places{""}, rows{""};
  for (const AddressWord& word : laws.memory) places.push_back(word.words + " by the kernel of the softmax");
  for (const auto& word : laws.rows) rows.push_back(word.first);
  return causes_by_law(
      {{"kernel-m",
        "Which scores has a row seen so far, the old ones too, and which of them is the largest?",
        texts_of(kMaximaOfRow),
        {{1, "scan-max-part"}, {2, "softmax-no-maximum"}}},
       {"kernel-lanes",
        "Each lane has looked at every 32nd score only: which of them know the maximum and the sum of "
        "all?",
        texts_of(kLaneWords),
        {{2, "scan-one-lane"}}},
       {"kernel-l",
        "To which maximum is each part of l relative, and who adds the old one?",
        texts_of(kSumsOfRow),
        {{1, "scan-factor-zero-sum"}, {2, "OS1"}}},
       {"kernel-weights", "To which maximum are the weights relative that the next kernel reads?",
        texts_of(kWeightsOfRow)},
       {"kernel-factor",
        "What was added to O before was measured against the old m: what brings it to the new one?",
        texts_of(kFactorsOfRow)},
       {"kernel-stored-m", "Which maximum does the next step find?", texts_of(kStoredMaxima)},
       {"kernel-loop",
        "Row a sees the keys from begin[a] up to, not including, end[a]: does each loop visit just these?",
        laws.loops_in_words(),
        {{1, "scan-keys-last"}}},
       {"kernel-unseen-weights",
        "Who reads P where a row does not see a key?",
        {"", "weights of 0 are written where a row does not see the key",
         "minus infinity is written where a row does not see the key"}},
       {"kernel-S-place", "Where does row a of S begin, and how many numbers has it?", std::move(places)},
       {"kernel-rows", "Which thread, or warp, has the last row?", std::move(rows)}},
      [&](const LawChoice& law) { return laws.gives(law); });
}

}  // namespace ringcraft::verify
