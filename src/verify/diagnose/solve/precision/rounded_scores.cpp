// Recognises lse and out of scores that were rounded to a 16-bit type before the softmax. Each row is
// computed again from such scores: most rows of the claim are then right to the last digits of float32, and
// the others, in which a product has fallen on the other side of a tie, are near.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "verify/diagnose/solve/precision/few_digits.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"
#include "verify/oracle/rounding.hpp"

namespace ringcraft::verify {
namespace {

using Numbers = std::vector<double>;

enum class ScoreRounding : std::uint8_t {
  kTwice,      // q . k, and again once it is scaled
  kBefore,     // q . k alone
  kAfter,      // the scaled score alone
  kQueries,    // q once it is scaled, and the score
  kBothRoots,  // q and k, each times the root of the scale, and the score
};

// How scores were rounded: the type, where, and whether q and k were rounded to it first.
struct ScoreLaw {
  DType type;
  ScoreRounding where;
  bool inputs;
};

Numbers operand(std::span<const double> row, const ScoreLaw& law, double factor) {
  Numbers result(row.begin(), row.end());
  for (double& x : result) {
    if (law.inputs) x = rounded(x, law.type);
    if (factor != 1) x = rounded(x * factor, law.type);
  }
  return result;
}

// A query row by a law: lse, and the softmax of v unless it is rounded further.
Merged row_by(const Evidence& e, const ScoreLaw& law, const RowPlace& row) {
  const double scale = e.problem.softmax_scale, root = std::sqrt(scale);
  const bool roots = law.where == ScoreRounding::kBothRoots, scaled = law.where == ScoreRounding::kQueries;
  const Index kv_head = row.head / e.problem.group();
  const Numbers q = operand(row_of(e.inputs.q, row.batch, row.head, row.row), law,
                            roots    ? root
                            : scaled ? scale
                                     : 1);
  Numbers scores;
  std::vector<Index> keys;
  for (std::size_t key = 0; key < e.problem.keys.size(); ++key) {
    if (!visible(e.problem.mask, e.problem.queries[static_cast<std::size_t>(row.row)], e.problem.keys[key]))
      continue;
    const auto at = static_cast<Index>(key);
    double score = dot(q, operand(row_of(e.inputs.k, row.batch, kv_head, at), law, roots ? root : 1));
    if (law.where != ScoreRounding::kAfter) score = rounded(score, law.type);
    if (!roots && !scaled) score *= scale;
    if (law.where == ScoreRounding::kTwice || law.where == ScoreRounding::kAfter)
      score = rounded(score, law.type);
    scores.push_back(score), keys.push_back(at);
  }
  Merged result{Numbers(static_cast<std::size_t>(e.problem.head_dim), 0.0), kNoKey};
  if (keys.empty()) return result;
  const double largest = *std::ranges::max_element(scores);
  double sum = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const double weight = std::exp(scores[i] - largest);
    const auto v = row_of(e.inputs.v, row.batch, kv_head, keys[i]);
    sum += weight;
    for (std::size_t c = 0; c < v.size(); ++c) result.out[c] += weight * v[c];
  }
  for (double& x : result.out) x /= sum;
  result.lse = largest + std::log(sum);
  return result;
}

// Rows that a law gives, of those whose numbers it changes; and the errors that it leaves, and all errors.
struct LawFit {
  Index given = 0, told = 0;
  double left = 0, all = 0;

  // Most rows, and the rest nearly.
  bool is_good() const { return told >= 3 && 5 * given >= 3 * told && left < 0.1 * all; }
};

// Adds a row of one tensor; `near` is what float32 may lose, for a scale of 1.
void add_row(LawFit& fit, std::span<const double> got, std::span<const double> right,
             std::span<const double> by_law, std::span<const double> scale) {
  constexpr double kNear = 4e-6, kTold = 10 * kNear;  // of the scale
  bool given = true, told = false;
  for (std::size_t c = 0; c < got.size(); ++c) {
    const double unit = scale[c] + 1e-288;
    const double left = (got[c] - by_law[c]) / unit, all = (got[c] - right[c]) / unit;
    given = given && std::fabs(left) <= kNear;
    told = told || std::fabs(by_law[c] - right[c]) / unit > kTold;
    fit.left += left * left, fit.all += all * all;
  }
  if (!told) return;
  ++fit.told;
  if (given) ++fit.given;
}

LawFit fit_of(const Evidence& e, const ScoreLaw& law, const std::vector<RowPlace>& rows) {
  constexpr Index kFirst = 12;  // after so many, a law that gives none is left
  LawFit fit;
  for (const RowPlace& row : rows) {
    e.tick();
    const Merged by_law = row_by(e, law, row);
    if (!std::isfinite(by_law.lse)) continue;
    const auto of = [&](const Buffer& tensor) { return row_of(tensor, row.batch, row.head, row.row); };
    if (e.is_wrong("lse"))
      add_row(fit, of(e.claim.lse), of(e.oracle.value.lse), {&by_law.lse, 1}, of(e.oracle.scale.lse));
    if (e.is_wrong("out"))
      add_row(fit, of(e.claim.out), of(e.oracle.value.out), by_law.out, of(e.oracle.scale.out));
    if (fit.told >= kFirst && 4 * fit.given < fit.told) break;
  }
  return fit;
}

bool holds(const Buffer& tensor, DType type) {
  return std::ranges::all_of(tensor.values<double>(), [=](double x) { return rounded(x, type) == x; });
}

constexpr std::pair<ScoreRounding, const char*> kWays[] = {
    {ScoreRounding::kTwice, " before they are scaled, and once more after it"},
    {ScoreRounding::kBefore, " before they are scaled"},
    {ScoreRounding::kAfter, " once they are scaled"},
    {ScoreRounding::kQueries, ", as is q once it is scaled"},
    {ScoreRounding::kBothRoots, ", as are q and k, each times the root of the scale"},
};

Cause cause_by(const ScoreLaw& law, const std::string& where, bool lse_alone) {
  return {"solved-rounded-scores",
          (law.inputs ? "q, k and the scores are rounded to " : "the scores are rounded to ") +
              std::string(name_of(law.type)) + where +
              (lse_alone ? "; lse is computed from them, but needs scores in float32"
                         : "; the softmax needs them in float32"),
          "Which type does the product of q and k have, and how many digits of it are left when exp or log "
          "reads it?"};
}

}  // namespace

std::optional<Cause> cause_of_rounded_scores(const Evidence& e) {
  constexpr Index kMost = 60;  // wrong rows, and right ones: a law gives these to more digits
  if (e.precision == DType::kFloat64 || (is_half(e.precision) && e.is_wrong("out"))) return {};
  constexpr double kMostProducts = 2e9;  // some seconds, for all laws
  if (200.0 * static_cast<double>(e.problem.keys.size()) * static_cast<double>(e.problem.head_dim) >
      kMostProducts)
    return {};
  const std::vector<RowPlace> rows = sample_of(e, TensorGroup::kForward, kMost, kMost).rows;
  for (const DType type : {DType::kBFloat16, DType::kFloat16}) {
    const bool held = holds(e.inputs.q, type) && holds(e.inputs.k, type);
    for (const bool inputs : {false, true}) {
      if (inputs && held) continue;  // rounds nothing
      for (const auto& [where, words] : kWays) {
        const ScoreLaw law{type, where, inputs};
        if (fit_of(e, law, rows).is_good()) return cause_by(law, words, !e.is_wrong("out"));
      }
    }
  }
  return {};
}

}  // namespace ringcraft::verify
