// Formulas that stand for the whole question: W / M in any rounding, where the right answer needs positions.
#include <algorithm>

#include "verify/diagnose/functions/reach/reach_words.hpp"

namespace ringcraft::verify {
namespace {

constexpr ReachFormula kReachFormulas[] = {
    {"W / M rounded up", [](Position w, Position m) { return (w + m - 1) / m; }},
    {"W / M rounded down", [](Position w, Position m) { return w / m; }},
    {"(W - 1) / M rounded up", [](Position w, Position m) { return w == 0 ? 0 : (w - 1 + m - 1) / m; }},
    {"W / M rounded down, and one more", [](Position w, Position m) { return w / m + 1; }},
    {"W / M rounded up, and one more", [](Position w, Position m) { return (w + m - 1) / m + 1; }},
    {"W / M rounded to the nearest number", [](Position w, Position m) { return (w + m / 2) / m; }},
    {"W", [](Position w, Position) { return w; }},
    {"1 where there is a window", [](Position w, Position) { return std::min<Position>(w, 1); }}};

struct FormulaShard {
  const char* words;
  Position (*rows)(const Sharding&, int source);
};
constexpr FormulaShard kFormulaShard[] = {
    {"M: rows of the largest shard", [](const Sharding& s, int) { return s.largest_rows(); }},
    {"M = S / N rounded down", [](const Sharding& s, int) { return s.seqlen / s.world_size; }},
    {"M = 4, whatever the shard", [](const Sharding&, int) { return Position{4}; }},
    {"M: rows of the last shard", [](const Sharding& s, int) { return s.rows(s.world_size - 1); }},
    {"M: rows of the block itself", [](const Sharding& s, int source) { return s.rows(source); }}};

struct FormulaCap {
  const char* words;
  int (*cap)(int source, int n);
};
constexpr FormulaCap kFormulaCaps[] = {{"at most N - 1 - s", [](int s, int n) { return n - 1 - s; }},
                                       {"at most N - 1", [](int, int n) { return n - 1; }},
                                       {"without a limit", [](int, int) { return 1 << 20; }}};

// The problems that a formula is applied to; the others are answered rightly.
struct FormulaScope {
  const char* words;
  bool (*applies)(const Problem&);
};
constexpr FormulaScope kFormulaScopes[] = {
    {"whatever the layout and the mask", [](const Problem&) { return true; }},
    {"for every window, whatever the layout", [](const Problem& p) { return p.mask.left != kNoLimit; }},
    {"for windows to the left, whatever the layout",
     [](const Problem& p) { return p.mask.left != kNoLimit && p.mask.right == 0; }},
    {"for windows to the left over one sequence, whatever the layout",
     [](const Problem& p) {
       return p.mask.left != kNoLimit && p.mask.right == 0 && p.mask.cu_seqlens.empty();
     }},
    {"for windows over contiguous shards",
     [](const Problem& p) { return p.mask.left != kNoLimit && p.layout == Layout::kContiguous; }},
    {"for windows to the left over contiguous shards",
     [](const Problem& p) {
       return p.mask.left != kNoLimit && p.mask.right == 0 && p.layout == Layout::kContiguous;
     }},
    {"for windows to the left over contiguous shards of one sequence", [](const Problem& p) {
       return p.mask.left != kNoLimit && p.mask.right == 0 && p.layout == Layout::kContiguous &&
              p.mask.cu_seqlens.empty();
     }}};

bool gives(const ReachView& view, const FormulaScope& scope, const ReachFormula& formula,
           const FormulaShard& rows, const FormulaCap& cap) {
  const Problem& p = view.problem();
  const int n = view.ranks();
  const Sharding sharding = p.sharding();
  const SightTable& right =
      view.table(reach_readings().front(), reach_readings().front(), sight_words().front());
  if (view.got().size() != static_cast<std::size_t>(n)) return false;
  for (int s = 0; s < n; ++s) {
    std::vector<bool> seen;
    for (int t = 0; t <= n; ++t) seen.push_back(right[(s + t) % n * n + s]);
    int want = pick_words().front().pick(n, seen);
    if (scope.applies(p)) {
      const Position m = rows.rows(sharding, s), most = cap.cap(s, n);
      if (m == 0) continue;  // divides by zero: there is no answer, or any
      want = static_cast<int>(
          p.mask.left == kNoLimit ? most : std::min<Position>(most, formula.ranks(p.mask.left, m)));
    }
    if (view.got()[s] != want) return false;
  }
  return true;
}

}  // namespace

std::string formula_of(const std::vector<ReachView>& views) {
  for (const FormulaCap& cap : kFormulaCaps)
    for (const FormulaShard& rows : kFormulaShard)
      for (const ReachFormula& formula : kReachFormulas)
        for (const FormulaScope& scope : kFormulaScopes)
          if (std::ranges::all_of(
                  views, [&](const ReachView& view) { return gives(view, scope, formula, rows, cap); }))
            return std::string("the reach of block s is ") + formula.words + ", " + cap.words + " (" +
                   rows.words + "), " + scope.words;
  return {};
}

}  // namespace ringcraft::verify
