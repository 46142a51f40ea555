// Explains wrong out and lse: first by known mistakes, then by everything that can be solved for, from the
// most specific to the most general.
#include <algorithm>
#include <cmath>

#include "verify/diagnose/diagnose_detail.hpp"
#include "verify/diagnose/solve/precision/few_digits.hpp"
#include "verify/diagnose/solve/ring/block_sources.hpp"
#include "verify/diagnose/solve/ring/running_state.hpp"
#include "verify/diagnose/tiles/attention_program.hpp"
#include "verify/diagnose/tiles/blind_rows.hpp"
#include "verify/diagnose/tiles/tile_program.hpp"

namespace ringcraft::verify {
namespace {

// Whether no row of out holds numbers, or all rows are zero.
bool all_rows_missing(const Comparison& comparison, const Buffer& out) {
  if (!out.empty() && all_zero(out)) return true;
  return std::any_of(comparison.tensors.begin(), comparison.tensors.end(), [&](const TensorComparison& t) {
    return t.name == "out" && static_cast<Index>(t.wrong_rows.size()) == out.extents().rows &&
           std::none_of(t.wrong_rows.begin(), t.wrong_rows.end(),
                        [](const auto& row) { return std::isfinite(row.second.got); });
  });
}

// Explains out and lse: each step sees the findings of the previous ones.
class Forward {
 public:
  Forward(const Evidence& e, Ranks ranks) : e_(e) {
    result_.setting.scale = e.problem.softmax_scale;
    Known known = all_rows_missing(e.comparison, e.claim.out)
                      ? searched_without_numbers(e)
                      : searched(e, TensorGroup::kForward, e.oracle.value, ranks);
    result_.causes = std::move(known.causes);
    result_.found = std::move(known.found);
    explained_ = explains_all(result_.found);
  }

  ForwardResult explained() && {
    if (!by_place()) solve();
    by_program();
    by_pairs();
    by_parts();
    // An explanation of a part of one pass may be a coincidence.
    if (is_open() && !result_.found.matches.empty() &&
        !explains_each(result_.found, e_.comparison, TensorGroup::kForward))
      result_.causes.clear();
    if (result_.causes.empty()) append(result_.causes, causes_by_numbers(e_, TensorGroup::kForward));
    return std::move(result_);
  }

 private:
  // Whether neither a known mistake nor a solution explains everything.
  bool is_open() const { return !solved_ && !explained_; }

  void take(std::vector<Cause> causes) {
    result_.causes = std::move(causes);
    solved_ = true;
  }

  // Tries a wrong index, missing rows, and a rounded state.
  bool by_place() {
    std::optional<Cause> placed;
    if (!explained_ || is_of_lost_keys(result_.found)) placed = cause_of_unread_blocks(e_);
    if (!explained_ && !placed) placed = cause_of_tile_index(e_, TensorGroup::kForward);
    if (!explained_ && !placed) placed = cause_of_missing(e_, 0);
    if (!explained_ && !placed) placed = cause_of_rounded_state(e_);
    if (placed) take({*placed});
    return placed.has_value();
  }

  void solve() {
    // As near as the numbers are compared, right attention explains them best.
    if (!is_half(e_.precision) && is_near_right(e_, TensorGroup::kForward)) return;
    if (!explains_each_row(result_.found) && are_numbers(e_, TensorGroup::kForward)) {
      SolvedPass solved = solve_forward(e_);
      if (explained_ ? !is_clear(solved.causes) : !is_told(solved)) return;
      result_.setting = solved.setting;
      take(together(std::move(solved.causes)));
    } else if (!explained_) {
      if (const auto cause = cause_of_fold(e_)) take({*cause});
    }
  }

  // Solves by rows, folds and places if `solved` is still empty; false if a known mistake that explains every
  // wrong tensor says more.
  bool is_told(SolvedPass& solved) const {
    const auto all_of = [&](std::vector<Cause> causes) {
      SolvedPass pass{.setting = {.scale = e_.problem.softmax_scale}};
      pass.solved = !causes.empty();
      pass.causes = std::move(causes);
      return pass;
    };
    const auto plain = [&](const std::optional<Cause>& cause) {
      return all_of(cause ? std::vector<Cause>{*cause} : std::vector<Cause>{});
    };
    const auto particular_rows = [&] {
      SolvedPass rows = solve_rows(e_);
      rows.solved = rows.solved && std::ranges::none_of(rows.causes, is_general);
      return rows;
    };
    attempt(solved, {{Attempt::When::kVague, particular_rows},
                     {Attempt::When::kVague, [&] { return all_of(causes_of_block_sources(e_)); }},
                     {Attempt::When::kVague, [&] { return plain(cause_of_traded_state(e_)); }},
                     {Attempt::When::kVague, [&] { return plain(cause_of_fold(e_)); }},
                     {Attempt::When::kVague, [&] { return plain(cause_of_rescaling(e_)); }},
                     {Attempt::When::kVague, [&] { return plain(cause_of_finite_mask(e_)); }},
                     {Attempt::When::kVague, [&] { return plain(cause_of_padded_blocks(e_)); }},
                     {Attempt::When::kVague, [&] { return plain(cause_of_other_scores(e_)); }},
                     {Attempt::When::kVague, [&] { return plain(cause_of_rounded_sums(e_)); }},
                     {Attempt::When::kVague, [&] { return plain(cause_of_short_blocks(e_)); }},
                     {Attempt::When::kUnsolved, [&] { return solve_rows(e_); }},
                     {Attempt::When::kUnsolved, [&] { return plain(cause_of_places(e_, 0)); }},
                     {Attempt::When::kUnsolved, [&] { return plain(cause_of_weights(e_, false)); }}});
    return solved.solved &&
           (!is_vague(solved) || !explains_each(result_.found, e_.comparison, TensorGroup::kForward));
  }

  // Tries the loops of one device, if no particular mistake is known.
  void by_program() {
    const bool particular = !is_open() && !std::ranges::all_of(result_.causes, is_general) &&
                            (result_.causes.empty() || result_.causes[0].id != "NaN");
    if (particular) return;
    std::vector<Cause> places = causes_of_program(e_);
    if (places.empty()) return;
    append(places, result_.causes);
    take(std::move(places));
  }

  void by_pairs() {
    if (!is_open()) return;
    Found pairs = search_pairs(e_, e_.oracle.value, e_.place);
    if (pairs.matches.empty()) {
      if (auto causes = causes_of_tile_index_and_scan(e_); !causes.empty()) take(std::move(causes));
      return;
    }
    take(causes_of_known(pairs));
    result_.found = std::move(pairs);
    explained_ = explains_all(result_.found);
  }

  // Tries heads, batch entries or ranks, some of which have a mistake of their own.
  void by_parts() {
    if (!is_open() && !std::ranges::all_of(result_.causes, is_general)) return;
    if (std::vector<Cause> causes = causes_by_parts(e_); !causes.empty()) take(together(std::move(causes)));
  }

  const Evidence& e_;
  ForwardResult result_;
  bool explained_ = false;  // by a known mistake
  bool solved_ = false;     // by anything else
};

}  // namespace

ForwardResult explain_forward(const Evidence& e, Ranks ranks) {
  const auto all = [](const Cause& cause) { return ForwardResult{.causes = {cause}, .alone = true}; };
  if (const auto unwritten = cause_of_unwritten(e, TensorGroup::kForward)) return all(*unwritten);
  if (!any_wrong(e.comparison, TensorGroup::kForward)) return {.setting = {.scale = e.problem.softmax_scale}};
  const auto half = cause_of_half_scores(e);
  if (const auto scaled = cause_of_scaled_mask(e)) return all(*scaled);
  if (is_without_numbers(e, TensorGroup::kForward)) {
    std::vector<Cause> causes = half ? std::vector<Cause>{*half} : std::vector<Cause>{};
    append(causes, causes_by_numbers(e, TensorGroup::kForward));
    return {.causes = std::move(causes), .setting = {.scale = e.problem.softmax_scale}};
  }
  if (half) return all(*half);
  if (const auto scores = cause_of_rounded_scores(e))
    return {.causes = {*scores}, .setting = {.scale = e.problem.softmax_scale}};
  if (const auto blind = cause_of_blind_rows(e, TensorGroup::kForward)) return all(*blind);
  if (const auto lost = cause_of_cancelled_out(e))
    return {.causes = with_known(e, TensorGroup::kForward, *lost),
            .setting = {.scale = e.problem.softmax_scale}};
  return Forward(e, ranks).explained();
}

}  // namespace ringcraft::verify
