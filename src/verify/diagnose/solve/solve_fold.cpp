// Recognises wrong merges of normalised block results, one block after the other: a grammar of the new lse,
// the weight of the old out and that of the block's. A formula that gives every row is described by its
// deviations.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "verify/diagnose/solve/solve.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

// One step of a fold: the quantities known when a block arrives.
struct Step {
  double old_lse, new_lse;  // of all blocks so far, and of this one
  double merged;            // log(exp(old_lse) + exp(new_lse))
  double stored;            // the number stored as lse instead
  int number;               // blocks before this one
  ExponentRange range;

  double larger() const { return std::max(old_lse, new_lse); }
  double exp(double x) const { return range.exp(x); }
};

// A part of the formula; words of nullptr: a correct form.
struct Term {
  const char* words;
  double (*value)(const Step&);
};

constexpr const char* kOldLse = "the old one, never updated";

constexpr Term kLse[] = {
    {nullptr, [](const Step& s) { return s.merged; }},
    {"old lse + log(1 + exp(new lse - old lse)), which overflows where the new one is far larger",
     [](const Step& s) {
       return s.old_lse == -HUGE_VAL ? s.new_lse : s.old_lse + std::log(1 + s.exp(s.new_lse - s.old_lse));
     }},
    {"new lse + log(1 + exp(old lse - new lse)), which overflows where the old one is far larger",
     [](const Step& s) { return s.new_lse + std::log(1 + s.exp(s.old_lse - s.new_lse)); }},
    {"old lse + log(1 + exp(old lse - new lse)): the difference has the wrong sign",
     [](const Step& s) { return s.old_lse + std::log(1 + s.exp(s.old_lse - s.new_lse)); }},
    {"log(exp(old lse) + exp(new lse)) without subtracting the larger one: it overflows or vanishes",
     [](const Step& s) { return std::log(s.exp(s.old_lse) + s.exp(s.new_lse)); }},
    {kOldLse, [](const Step& s) { return s.old_lse; }},
    {"the larger of the two", [](const Step& s) { return s.larger(); }},
    {"that of the newest block", [](const Step& s) { return s.new_lse; }},
    {"the sum of the two", [](const Step& s) { return s.old_lse + s.new_lse; }},
    {"the mean of the two", [](const Step& s) { return (s.old_lse + s.new_lse) / 2; }},
    {"log(1 + exp(new lse - old lse)), without the old lse",
     [](const Step& s) { return std::log(1 + s.exp(s.new_lse - s.old_lse)); }},
    {"taken with log2 and powers of 2",
     [](const Step& s) {
       return s.larger() + std::log2(1 + std::exp2(std::min(s.old_lse, s.new_lse) - s.larger()));
     }},
    {"larger + log2(sum): the logarithm alone is to the base 2", [](const Step& s) {
       return s.larger() + std::log2(1 + s.exp(std::min(s.old_lse, s.new_lse) - s.larger()));
     }}};

constexpr Term kOld[] = {
    {nullptr, [](const Step& s) { return s.exp(s.old_lse - s.merged); }},
    {nullptr, [](const Step& s) { return 1 - 1 / (1 + s.exp(s.old_lse - s.new_lse)); }},
    {"exp(old lse - the lse that is stored)", [](const Step& s) { return s.exp(s.old_lse - s.stored); }},
    {"1: it is not rescaled (or the joined lse is stored before its weight is computed from it)",
     [](const Step&) { return 1.0; }},
    {"that of the new one", [](const Step& s) { return s.exp(s.new_lse - s.merged); }},
    {"1 - sigmoid(new lse - joined lse): lse is updated before out is",
     [](const Step& s) { return 1 - 1 / (1 + s.exp(s.merged - s.new_lse)); }},
    {"1/2", [](const Step&) { return 0.5; }},
    {"its share of the number of blocks",
     [](const Step& s) { return static_cast<double>(s.number) / (s.number + 1); }},
    {"exp(old lse - larger lse), which do not add up to 1",
     [](const Step& s) { return s.exp(s.old_lse - s.larger()); }},
    {"exp(old lse), without subtracting anything", [](const Step& s) { return s.exp(s.old_lse); }},
    {"a power of 2 instead of e", [](const Step& s) { return std::exp2(s.old_lse - s.merged); }},
    {"its share of the sum of the lse themselves, without exp",
     [](const Step& s) { return s.old_lse / (s.old_lse + s.new_lse); }},
    {"inverted: exp(joined lse - old lse)", [](const Step& s) { return s.exp(s.merged - s.old_lse); }},
    {"exp(old lse - new lse)", [](const Step& s) { return s.exp(s.old_lse - s.new_lse); }},
    {"0: it is thrown away", [](const Step&) { return 0.0; }}};

constexpr Term kNew[] = {
    {nullptr, [](const Step& s) { return s.exp(s.new_lse - s.merged); }},
    {nullptr, [](const Step& s) { return 1 / (1 + s.exp(s.old_lse - s.new_lse)); }},
    {"exp(new lse - the lse that is stored)", [](const Step& s) { return s.exp(s.new_lse - s.stored); }},
    {"1", [](const Step&) { return 1.0; }},
    {"that of the old one", [](const Step& s) { return s.exp(s.old_lse - s.merged); }},
    {"sigmoid(new lse - joined lse) instead of sigmoid(new lse - old lse)",
     [](const Step& s) { return 1 / (1 + s.exp(s.merged - s.new_lse)); }},
    {"1/2", [](const Step&) { return 0.5; }},
    {"its share of the number of blocks", [](const Step& s) { return 1.0 / (s.number + 1); }},
    {"exp(new lse - larger lse), which do not add up to 1",
     [](const Step& s) { return s.exp(s.new_lse - s.larger()); }},
    {"exp(new lse), without subtracting anything", [](const Step& s) { return s.exp(s.new_lse); }},
    {"a power of 2 instead of e", [](const Step& s) { return std::exp2(s.new_lse - s.merged); }},
    {"its share of the sum of the lse themselves, without exp",
     [](const Step& s) { return s.new_lse / (s.old_lse + s.new_lse); }},
    {"inverted: exp(joined lse - new lse)", [](const Step& s) { return s.exp(s.merged - s.new_lse); }},
    {"exp(new lse - old lse)", [](const Step& s) { return s.exp(s.new_lse - s.old_lse); }},
    {"0: it is left out", [](const Step&) { return 0.0; }}};

// How a fold treats its first block, and blocks without a visible key.
struct Manner {
  bool from_first;        // begins with the first block unchanged; or with zero and an lse of minus infinity
  bool all_blocks;        // merges those without a visible key, too
  bool remembers;         // the next step uses the stored lse; or the right one
  bool restarts = false;  // treats any infinite lse as a state that has seen nothing
};

struct Fold {
  const Term *lse, *old_out, *new_out;
  Manner manner;

  int deviations() const {
    return (lse->words != nullptr) + (old_out->words != nullptr) + (new_out->words != nullptr);
  }
};

struct BlockResult {
  std::vector<double> out;  // divided by its own sum
  double lse;
};

Merged folded(const Fold& f, const std::vector<BlockResult>& blocks, const ExponentRange& range) {
  Merged state{std::vector<double>(blocks.front().out.size(), 0.0), -HUGE_VAL};
  double right = -HUGE_VAL;
  int number = 0;
  for (const BlockResult& block : blocks) {
    if (block.lse == -HUGE_VAL && !f.manner.all_blocks) continue;
    const bool begins = number == 0 || (f.manner.restarts && std::isinf(state.lse));
    ++number;
    if (begins && f.manner.from_first) {
      state = {block.out, block.lse};
      right = block.lse;
      continue;
    }
    Step s{f.manner.remembers ? state.lse : right, block.lse, 0, 0, number - 1, range};
    const double larger = s.larger();
    s.merged = larger == -HUGE_VAL ? -HUGE_VAL
                                   : larger + std::log1p(std::exp(std::min(s.old_lse, s.new_lse) - larger));
    s.stored = f.lse->value(s);
    const double of_old = f.old_out->value(s), of_new = f.new_out->value(s);
    for (std::size_t c = 0; c < state.out.size(); ++c)
      state.out[c] = of_old * state.out[c] + of_new * block.out[c];
    state.lse = s.stored;
    right = s.merged;
  }
  return state;
}

// Compares folds with the claim, a few rows first.
class Rows {
 public:
  Rows(const Evidence& e, const Sample& sample)
      : e_(e), ring_(e.problem, e.inputs, e.oracle.value, e.place, e.exponents()) {
    for (const RowPlace& row : sample.rows) {
      std::vector<BlockResult> blocks;
      for (BlockPartial& part : ring_.partials({}, row)) {
        if (part.keys > 0)
          for (double& x : part.out) x /= part.sum;
        blocks.push_back({std::move(part.out), part.keys > 0 ? part.lse() : -HUGE_VAL});
      }
      rows_.emplace_back(row, std::move(blocks));
    }
  }

  bool fits(const Fold& f, std::size_t most, bool lse_alone) const {
    for (std::size_t i = 0; i < std::min(most, rows_.size()); ++i) {
      const auto& [row, blocks] = rows_[i];
      const Merged value = folded(f, blocks, e_.exponents());
      const bool lse =
          !e_.has("lse") || is_claimed_row(e_, e_.claim.lse, e_.units().lse, row, {&value.lse, 1});
      if (!lse ||
          (!lse_alone && e_.has("out") && !is_claimed_row(e_, e_.claim.out, e_.units().out, row, value.out)))
        return false;
    }
    return true;
  }

  std::size_t count() const { return rows_.size(); }

 private:
  const Evidence& e_;
  TwistedRing ring_;
  std::vector<std::pair<RowPlace, std::vector<BlockResult>>> rows_;
};

Cause cause_of(const Fold& f) {
  if (f.deviations() == 1 && f.lse->words == kOldLse && !f.manner.remembers)
    return {"solved-fold", "the lse that is returned is the one from before the last block was joined",
            "Which lse do you return: that before the last merge, or the one after it?"};
  std::string words;
  for (const auto& [what, term] :
       {std::pair{"the joined lse is ", f.lse}, std::pair{"the weight of the block's out is ", f.new_out},
        std::pair{"the weight of the old out is ", f.old_out}})
    if (term->words != nullptr) words += (words.empty() ? "" : "; ") + std::string(what) + term->words;
  return {"solved-fold", "where the results of blocks are joined by their lse, " + words,
          "What are the weights of the old out and of the new one, and from which lse are they computed?"};
}

}  // namespace

std::optional<Cause> cause_of_fold(const Evidence& e) {
  constexpr std::size_t kGlance = 3;
  if (e.place.count() < 2) return {};
  const Rows rows(e, sample_of(e, TensorGroup::kForward, 48, 48));
  if (rows.count() < 4) return {};
  std::vector<Fold> folds;
  for (const Manner manner :
       {Manner{true, false, true}, Manner{false, false, true}, Manner{true, true, true},
        Manner{false, true, true}, Manner{true, false, false}, Manner{true, false, true, true}})
    for (const Term& lse : kLse) {
      if (!manner.remembers && lse.words == nullptr) continue;
      if (!rows.fits({&lse, kOld, kNew, manner}, kGlance, true)) continue;
      for (const Term& old_out : kOld)
        for (const Term& new_out : kNew) folds.push_back({&lse, &old_out, &new_out, manner});
    }
  std::ranges::stable_sort(folds, {}, &Fold::deviations);
  for (const Fold& fold : folds)
    if (fold.deviations() > 0 && rows.fits(fold, kGlance, false) && rows.fits(fold, rows.count(), false))
      return cause_of(fold);
  return {};
}

}  // namespace ringcraft::verify
