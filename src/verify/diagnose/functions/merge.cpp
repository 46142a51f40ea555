// Explains a wrong merge by solving for its weights. O is x O_acc + y O_block and l is p l_acc + q l_block,
// row by row: solves for x, y, p and q, and names them by the quantities that they consist of.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/functions/merge_row.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"

namespace ringcraft::verify {
namespace {

// x and y of O = x O_acc + y O_block, for every row; empty if O is no such sum.
std::optional<std::pair<std::vector<double>, std::vector<double>>> weights_of_out(
    const std::vector<MergeRow>& rows, const std::vector<std::size_t>& leave_out, const MergeNear& near) {
  std::vector<double> xs, ys;
  for (const MergeRow& r : rows) {
    std::vector<std::size_t> columns;
    for (std::size_t c = 0; c < r.out.size(); ++c)
      if (!std::ranges::binary_search(leave_out, c)) columns.push_back(c);
    double aa = 0, ab = 0, bb = 0, ac = 0, bc = 0, cc = 0;
    for (const std::size_t c : columns) {
      aa += r.out_a[c] * r.out_a[c], ab += r.out_a[c] * r.out_b[c], bb += r.out_b[c] * r.out_b[c];
      ac += r.out_a[c] * r.out[c], bc += r.out_b[c] * r.out[c], cc += r.out[c] * r.out[c];
    }
    const double det = aa * bb - ab * ab;
    if (columns.size() < 3 || !(det > 1e-9 * aa * bb)) continue;
    const double x = (ac * bb - bc * ab) / det, y = (bc * aa - ac * ab) / det;
    double left = 0;
    for (const std::size_t c : columns) {
      const double rest = r.out[c] - x * r.out_a[c] - y * r.out_b[c];
      left += rest * rest;
    }
    const double within = std::max(1e-8, near.exact);
    if (!(left <= within * within * std::max(cc, 1e-200))) return {};
    xs.push_back(x), ys.push_back(y);
  }
  return xs.size() == rows.size() && !xs.empty() ? std::optional{std::pair{xs, ys}} : std::nullopt;
}

constexpr const char* kQuestion = "Which maximum do both sides follow?";

// The weight of one side in O or l, or in both, if it is wrong.
struct WrongWeight {
  NamedWeight weight;
  const char* tensor;
  bool of_acc, of_both = false;

  Cause cause() const {
    if (weight.right && weight.off > 0)
      return {.id = "solved-merge-small",
              .sentence =
                  std::string("the weight of ") + (of_acc ? "acc" : "the block") +
                  " is right but for about " + short_number(weight.off) +
                  " of it: a small number is added where nothing should be, or a side is changed before it "
                  "is used",
              .question = "Which constant, or which write, makes so small a difference?",
              .guess = true};
    if (weight.right)
      return {.id = "solved-merge-float",
              .sentence = "the weights of the merge are right to float's digits only",
              .question = "In which type is each weight computed?",
              .guess = true};
    const std::string side = of_acc ? "acc" : "the block";
    return {std::string("solved-merge-") + tensor + (of_acc ? "-acc" : "-block"),
            (of_both ? side : std::string(tensor) + " of " + side) + " weighs " + weight.words, kQuestion};
  }
};

void add_weight(std::vector<WrongWeight>& all, const NamedWeight& weight, const char* tensor, bool of_acc) {
  if (weight.right && weight.exact) return;
  const auto of_out = std::ranges::find_if(all, [&](const WrongWeight& other) {
    return other.of_acc == of_acc && !weight.right && other.weight.words == weight.words;
  });
  if (of_out == all.end())
    all.push_back({weight, tensor, of_acc});
  else
    of_out->of_both = true;
}

constexpr double kOverflow = 88;  // exp of a larger number is infinite in float32

// Identifies the wrong m (or lse).
std::optional<Cause> cause_of_max(const std::vector<MergeRow>& rows, const MergeNear& near) {
  const auto is = [&](auto value) {
    return std::ranges::all_of(
        rows, [&](const MergeRow& r) { return agree(r.max, value(r), near.exact, near.floor); });
  };
  if (is([](const MergeRow& r) { return r.right_max(); })) return {};
  const bool lse = rows.front().normalized;
  const auto below = [](const MergeRow& r) { return std::exp(-std::fabs(r.max_a - r.max_b)); };
  const auto larger = [](const MergeRow& r) { return std::max(r.max_a, r.max_b); };
  const std::pair<const char*, std::function<double(const MergeRow&)>> maxima[] = {
      {"that of acc, never updated", [](const MergeRow& r) { return r.max_a; }},
      {"that of the block", [](const MergeRow& r) { return r.max_b; }},
      {"the larger of the two", larger},
      {"the smaller of the two", [](const MergeRow& r) { return std::min(r.max_a, r.max_b); }},
      {"the sum of the two", [](const MergeRow& r) { return r.max_a + r.max_b; }},
      {"the larger one plus log2(1 + exp(smaller - larger)): a logarithm to the base 2",
       [=](const MergeRow& r) { return larger(r) + std::log2(1 + below(r)); }},
      {"the larger one minus log(1 + exp(smaller - larger))",
       [=](const MergeRow& r) { return larger(r) - std::log1p(below(r)); }},
      {"the larger one plus 1 + exp(smaller - larger): the logarithm is missing",
       [=](const MergeRow& r) { return larger(r) + 1 + below(r); }},
      {"the larger one plus exp(smaller - larger)", [=](const MergeRow& r) { return larger(r) + below(r); }},
      {"log(1 + exp(smaller - larger)), without the larger one",
       [=](const MergeRow& r) { return std::log1p(below(r)); }},
      {"the smaller one plus log(1 + exp(smaller - larger))",
       [=](const MergeRow& r) { return std::min(r.max_a, r.max_b) + std::log1p(below(r)); }},
      {"the logarithm of the mean: log 2 too small",
       [](const MergeRow& r) { return r.right_max() - std::numbers::ln2; }},
      {"that of acc plus log(1 + exp(that of the block - that of acc)), which overflows where the block's is "
       "far larger",
       [](const MergeRow& r) { return r.max_b - r.max_a > kOverflow ? HUGE_VAL : r.right_max(); }},
      {"that of the block plus log(1 + exp(that of acc - that of the block)), which overflows where that of "
       "acc is far larger",
       [](const MergeRow& r) { return r.max_a - r.max_b > kOverflow ? HUGE_VAL : r.right_max(); }},
      {"with the wrong sign", [](const MergeRow& r) { return -r.right_max(); }},
      {"0", [](const MergeRow&) { return 0.0; }},
      {"at least 0", [](const MergeRow& r) { return std::max(r.right_max(), 0.0); }}};
  for (const auto& [words, value] : maxima)
    if (is(value))
      return Cause{"solved-merge-m",
                   std::string(lse ? "lse is " : "m is ") + words +
                       (lse ? " instead of log(exp(lse of acc) + exp(lse of the block))"
                            : " instead of the larger of the two"),
                   kQuestion};
  return {};
}

// Recognises a constant that is added to l.
std::optional<Cause> cause_of_constant(const std::vector<MergeRow>& rows) {
  constexpr double kAlike = 1e-3, kDigits = 1e-14;
  if (rows.size() < 4 || rows.front().normalized) return {};
  std::vector<double> added;
  for (const MergeRow& r : rows) {
    const double right = std::exp(r.max_a - r.max) * r.sum_a + std::exp(r.max_b - r.max) * r.sum_b;
    added.push_back(r.sum - right);
    if (!(std::fabs(added.back() - added.front()) <= kAlike * std::fabs(added.front()) + kDigits * right) ||
        !(std::fabs(added.front()) > 100 * kDigits * right))
      return {};
  }
  return Cause{"solved-merge-constant",
               "a constant of about " + short_number(added.front()) + " is added to l",
               "What does a sum of exponentials need besides its terms?"};
}

// Columns that keep the contents of acc in all rows; empty if there is none, or no other column.
std::vector<std::size_t> unmerged_columns(const std::vector<MergeRow>& rows) {
  std::vector<std::size_t> columns;
  const std::size_t width = rows.front().out.size();
  for (std::size_t c = 0; c < width; ++c)
    if (std::ranges::all_of(rows, [=](const MergeRow& r) { return r.out[c] == r.out_a[c]; }))
      columns.push_back(c);
  return columns.size() < width ? columns : std::vector<std::size_t>{};
}

std::optional<Cause> cause_of_columns(const std::vector<MergeRow>& rows) {
  const std::vector<std::size_t> columns = unmerged_columns(rows);
  if (columns.empty()) return {};
  const std::size_t width = rows.front().out.size(), first = columns.front();
  const bool to_the_end = first + columns.size() == width;
  return Cause{
      "solved-merge-columns",
      (to_the_end ? "the columns of O from " + std::to_string(first) + " on are"
                  : std::to_string(columns.size()) + " of " + std::to_string(width) +
                        " columns of O, column " + std::to_string(first) + " first, are") +
          " not merged: they stay as they were in acc",
      "Which columns does each pass of your loop, or each lane, take, and which one takes the last ones?"};
}

// Adds the weights of l: one equation for two of them, so pairs are tried, the right one of either side
// first.
void add_weights_of_sum(std::vector<WrongWeight>& all, const std::vector<MergeRow>& rows,
                        const MergeNear& near) {
  const auto fits = [&](auto of_acc, auto of_block, double within) {
    return std::ranges::all_of(rows, [&](const MergeRow& r) {
      return agree(r.sum, of_acc(r) * r.sum_a + of_block(r) * r.sum_b, within);
    });
  };
  const auto weight_of_acc = [](const MergeWeight& weight) {
    return [&weight](const MergeRow& r) { return weight.value(r, r.max_a, r.max_b); };
  };
  const auto weight_of_block = [](const MergeWeight& weight) {
    return [&weight](const MergeRow& r) { return weight.value(r, r.max_b, r.max_a); };
  };
  const MergeWeight& right = merge_weights().front();
  if (fits([](const MergeRow& r) { return std::exp(r.max_a - r.max); },
           [](const MergeRow& r) { return std::exp(r.max_b - r.max); }, near.exact) ||
      fits(weight_of_acc(right), weight_of_block(right), near.exact))
    return;
  const auto named = [&](auto value, bool of_acc, bool exact) {
    std::vector<double> x;
    for (const MergeRow& r : rows) x.push_back(value(r));
    NamedWeight found = *named_weight(rows, x, of_acc, near);
    found.exact = exact;
    return found;
  };
  for (const bool exact : {true, false})
    for (const MergeWeight& p : merge_weights())
      for (const MergeWeight& q : merge_weights()) {
        if (!fits(weight_of_acc(p), weight_of_block(q), exact ? near.exact : near.named)) continue;
        add_weight(all, named(weight_of_acc(p), true, exact), "l", true);
        add_weight(all, named(weight_of_block(q), false, exact), "l", false);
        return;
      }
}

// Causes in rows with keys on both sides.
std::vector<Cause> causes_of_full(const std::vector<MergeRow>& rows, const MergeNear& near) {
  std::vector<Cause> causes;
  const auto constant = cause_of_constant(rows);
  for (const auto& cause : {cause_of_max(rows, near), cause_of_columns(rows), constant})
    if (cause) causes.push_back(*cause);
  std::vector<WrongWeight> wrong;
  if (const auto solved = weights_of_out(rows, unmerged_columns(rows), near))
    for (const bool of_acc : {true, false})
      if (const auto weight = named_weight(rows, of_acc ? solved->first : solved->second, of_acc, near))
        add_weight(wrong, *weight, "O", of_acc);
  if (!rows.front().normalized && !constant) add_weights_of_sum(wrong, rows, near);
  for (const WrongWeight& each : wrong) causes.push_back(each.cause());
  return causes;
}

// Whether a row with keys on both sides is merged correctly.
bool is_right(const MergeRow& r, const MergeNear& near) {
  if (r.max_a == kNoKey || r.max_b == kNoKey) return true;
  const double a = std::exp(r.max_a - r.right_max()), b = std::exp(r.max_b - r.right_max());
  if (!agree(r.max, r.right_max(), near.named, 1) ||
      (!r.normalized && !agree(r.sum, a * r.sum_a + b * r.sum_b, near.named)))
    return false;
  for (std::size_t c = 0; c < r.out.size(); ++c)
    if (!agree(r.out[c], a * r.out_a[c] + b * r.out_b[c], near.named, 1)) return false;
  return true;
}

// Causes if rows are unchanged, though the block has seen keys, and the merge is right everywhere else.
std::vector<Cause> causes_of_unmoved(const MergeExhibit& x, const MergeNear& near) {
  bool others_are_right = true;
  Index first = -1, count = 0, empty = 0;
  for (Index row = 0; row < x.rows; ++row) {
    const MergeRow r = merge_row(x, row);
    if (r.max_b == kNoKey || r.max != r.max_a || r.sum != r.sum_a || !std::ranges::equal(r.out, r.out_a)) {
      others_are_right = others_are_right && is_right(r, near);
      continue;
    }
    if (first < 0) first = row;
    ++count;
    empty += r.max_a == kNoKey ? 1 : 0;
  }
  if (count == 0 || !others_are_right) return {};
  const char* kWhich = "Over which rows does your loop go, and what can end it early?";
  if (empty == count)
    return {{"solved-merge-empty-unmoved",
             "rows for which acc has seen no key are not merged: they stay empty",
             "Merging with nothing must return the other side: on both sides?"}};
  const bool to_the_end = first + count == x.rows;
  return {{"solved-merge-unmoved",
           (count == x.rows ? std::string("no row is merged")
            : to_the_end    ? "rows from " + std::to_string(first) + " on are not merged"
                            : std::to_string(count) + " of " + std::to_string(x.rows) +
                               " rows are not merged, row " + std::to_string(first) + " first") +
               ": they stay as they were in acc",
           kWhich}};
}

// Causes in rows for which one side, or both, have seen no key.
std::vector<Cause> causes_of_empty(const std::vector<MergeRow>& rows, const MergeNear& near) {
  std::vector<Cause> causes;
  for (const MergeRow& r : rows) {
    const bool empty_acc = r.max_a == kNoKey, empty_block = r.max_b == kNoKey;
    const std::string where = empty_acc && empty_block ? "where neither side has seen a key, "
                              : empty_acc              ? "where acc has seen no key, "
                                                       : "where the block has seen no key, ";
    const double max = empty_acc ? r.max_b : r.max_a, sum = empty_acc ? r.sum_b : r.sum_a;
    const std::span<const double> out = empty_acc ? r.out_b : r.out_a;
    const auto add = [&](const char* name, double got, double want, double unmoved) {
      if (agree(got, want, near.exact)) return;
      const std::string id = std::string("solved-merge-empty-") + name;
      if (std::ranges::find(causes, id, &Cause::id) != causes.end()) return;
      if (std::isnan(got))
        causes.push_back({"MG14", where + name + " becomes NaN: -inf - (-inf)",
                          "Merging with nothing must return the other side: what is your factor then?"});
      else
        causes.push_back(
            {id, where + name + (agree(got, unmoved, near.exact) ? " stays that of acc" : " changes"),
             "Merging with nothing must return the other side: all three parts of it?"});
    };
    add("m", r.max, max, r.max_a);
    add("l", r.sum, sum, r.sum_a);
    for (std::size_t c = 0; c < out.size() && causes.size() < 3; ++c) add("O", r.out[c], out[c], r.out_a[c]);
    if (!causes.empty() && causes[0].id == "MG14") causes.resize(1);
    if (!causes.empty()) break;
  }
  return causes;
}

}  // namespace

std::vector<Cause> causes_of(const MergeExhibit& exhibit) {
  const MergeNear near = merge_near(exhibit.precision);
  std::vector<MergeRow> full, empty;
  for (Index row = 0; row < exhibit.rows; ++row) {
    const MergeRow r = merge_row(exhibit, row);
    (r.max_a == kNoKey || r.max_b == kNoKey ? empty : full).push_back(r);
  }
  std::vector<Cause> causes = causes_of_unmoved(exhibit, near);
  if (causes.empty())
    if (const auto cause = cause_of_merged_elements(exhibit)) return {*cause};
  if (causes.empty() && !full.empty()) causes = causes_of_full(full, near);
  if (causes.empty()) causes = causes_of_empty(empty, near);
  return together(std::move(causes));  // of O, of l and of m
}

}  // namespace ringcraft::verify
