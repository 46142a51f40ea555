// A wrong merge, solved for (see diagnose.hpp). O is x O_acc + y O_block and l is p l_acc + q l_block, row by
// row: x, y, p and q are solved for, and then named by what they are made of.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "verify/diagnose/diagnose.hpp"

namespace ringcraft::verify {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();
constexpr double kNear = 1e-6;  // of a named weight: also one that was rounded to float
constexpr double kExact = 1e-11;

// One row of a merge.
struct Row {
  double max_a, max_b, sum_a, sum_b, max, sum;  // of acc, of the block, and of what came out
  std::span<const double> out_a, out_b, out;

  double right_max() const { return std::max(max_a, max_b); }
};

Row row_at(const MergeExhibit& x, Index row) {
  const auto i = static_cast<std::size_t>(row), wide = static_cast<std::size_t>(x.cols);
  const auto part = [=](const std::vector<double>& all) { return std::span(all).subspan(i * wide, wide); };
  return {x.acc.max[i],    x.block.max[i],  x.acc.sum[i],      x.block.sum[i],    x.result.max[i],
          x.result.sum[i], part(x.acc.out), part(x.block.out), part(x.result.out)};
}

bool same(double a, double b, double within) {
  return a == b || (std::isfinite(a) && std::isfinite(b) &&
                    std::fabs(a - b) <= within * std::max(std::fabs(a), std::fabs(b)));
}

// What a weight may be made of, of the side whose maximum is `own`.
struct Named {
  const char* words;
  std::function<double(const Row&, double own, double other)> value;
};
const std::vector<Named>& weights() {
  static const std::vector<Named> all{
      {"exp(m_own - m)", [](const Row& r, double own, double) { return std::exp(own - r.right_max()); }},
      {"1", [](const Row&, double, double) { return 1.0; }},
      {"0", [](const Row&, double, double) { return 0.0; }},
      {"exp(m_other - m)",
       [](const Row& r, double, double other) { return std::exp(other - r.right_max()); }},
      {"exp(m - m_own)", [](const Row& r, double own, double) { return std::exp(r.right_max() - own); }},
      {"exp(m - m_other)",
       [](const Row& r, double, double other) { return std::exp(r.right_max() - other); }},
      {"exp(m_own - m_other)", [](const Row&, double own, double other) { return std::exp(own - other); }},
      {"exp(m_other - m_own)", [](const Row&, double own, double other) { return std::exp(other - own); }},
      {"exp(m_own)", [](const Row&, double own, double) { return std::exp(own); }},
      {"exp(-m_own)", [](const Row&, double own, double) { return std::exp(-own); }},
      {"exp(m_own - m) squared",
       [](const Row& r, double own, double) { return std::exp(2 * (own - r.right_max())); }},
      {"2^(m_own - m)", [](const Row& r, double own, double) { return std::exp2(own - r.right_max()); }},
      {"1/2", [](const Row&, double, double) { return 0.5; }},
  };
  return all;
}

// What a weight may be multiplied with besides.
const std::vector<Named>& factors() {
  static const std::vector<Named> all{
      {"", [](const Row&, double, double) { return 1.0; }},
      {", divided by the new l",
       [](const Row& r, double, double) {
         return 1 /
                (std::exp(r.max_a - r.right_max()) * r.sum_a + std::exp(r.max_b - r.right_max()) * r.sum_b);
       }},
      {", divided by l of acc", [](const Row& r, double, double) { return 1 / r.sum_a; }},
      {", divided by l of the block", [](const Row& r, double, double) { return 1 / r.sum_b; }},
      {", divided by both l", [](const Row& r, double, double) { return 1 / (r.sum_a + r.sum_b); }},
      {", times l of acc", [](const Row& r, double, double) { return r.sum_a; }},
      {", times l of the block", [](const Row& r, double, double) { return r.sum_b; }},
      {", halved", [](const Row&, double, double) { return 0.5; }},
  };
  return all;
}

// "exp(m_acc - m), divided by the new l": the name of one number per row; nothing if it has none. `right`:
// whether it is what it should be, as the rows' own maximum has it or as the true one has.
struct NamedWeight {
  std::string words;
  bool right;
  bool exact;
};
std::optional<NamedWeight> named(const std::vector<Row>& rows, const std::vector<double>& x, bool of_acc) {
  const auto own = [=](const Row& r) { return of_acc ? r.max_a : r.max_b; };
  const auto other = [=](const Row& r) { return of_acc ? r.max_b : r.max_a; };
  const auto all = [&](auto value, double within) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!same(x[i], value(rows[i]), within)) return false;
    return true;
  };
  const auto by_claimed = [&](const Row& r) { return std::exp(own(r) - r.max); };
  if (all(by_claimed, kExact)) return NamedWeight{"", true, true};
  for (const Named& factor : factors())
    for (const Named& weight : weights()) {
      const auto value = [&](const Row& r) {
        return weight.value(r, own(r), other(r)) * factor.value(r, own(r), other(r));
      };
      if (!all(value, kNear)) continue;
      std::string words = std::string(weight.words) + factor.words;
      for (const auto& [from, to] : {std::pair{"m_own", of_acc ? "m_acc" : "m_block"},
                                     std::pair{"m_other", of_acc ? "m_block" : "m_acc"}})
        for (std::size_t at; (at = words.find(from)) != std::string::npos;)
          words.replace(at, std::string(from).size(), to);
      return NamedWeight{words, &weight == &weights().front() && &factor == &factors().front(),
                         all(value, kExact)};
    }
  return {};
}

// x and y of O = x O_acc + y O_block, of every row; nothing if that is not what O is.
std::optional<std::pair<std::vector<double>, std::vector<double>>> weights_of_out(
    const std::vector<Row>& rows) {
  std::vector<double> xs, ys;
  for (const Row& r : rows) {
    double aa = 0, ab = 0, bb = 0, ac = 0, bc = 0, cc = 0;
    for (std::size_t c = 0; c < r.out.size(); ++c) {
      aa += r.out_a[c] * r.out_a[c], ab += r.out_a[c] * r.out_b[c], bb += r.out_b[c] * r.out_b[c];
      ac += r.out_a[c] * r.out[c], bc += r.out_b[c] * r.out[c], cc += r.out[c] * r.out[c];
    }
    const double det = aa * bb - ab * ab;
    if (r.out.size() < 3 || !(det > 1e-9 * aa * bb)) continue;
    const double x = (ac * bb - bc * ab) / det, y = (bc * aa - ac * ab) / det;
    double left = 0;
    for (std::size_t c = 0; c < r.out.size(); ++c) {
      const double rest = r.out[c] - x * r.out_a[c] - y * r.out_b[c];
      left += rest * rest;
    }
    if (!(left <= 1e-16 * std::max(cc, 1e-200))) return {};
    xs.push_back(x), ys.push_back(y);
  }
  return xs.size() == rows.size() && !xs.empty() ? std::optional{std::pair{xs, ys}} : std::nullopt;
}

constexpr const char* kQuestion = "Which maximum do both sides follow?";

void add_weight(std::vector<Cause>& causes, const NamedWeight& weight, const char* tensor, bool of_acc) {
  if (weight.right && weight.exact) return;
  const std::string side = of_acc ? "acc" : "the block";
  const auto id = [of_acc](const char* name) {
    return std::string("solved-merge-") + name + (of_acc ? "-acc" : "-block");
  };
  const auto sentence = [&](const char* name) {
    return std::string(name) + " of " + side + " weighs " + weight.words;
  };
  if (weight.right) {
    causes.push_back({"solved-merge-float", "the weights of the merge are right to float's digits only",
                      "In which type is each weight computed?"});
    return;
  }
  const auto of_out = std::ranges::find(causes, sentence("O"), &Cause::sentence);
  if (of_out == causes.end())
    causes.push_back({id(tensor), sentence(tensor), kQuestion});
  else
    of_out->sentence = side + " weighs " + weight.words;  // all of it
}

// Rows that have keys on both sides.
std::vector<Cause> causes_of_full(const std::vector<Row>& rows) {
  std::vector<Cause> causes;
  const auto all = [&](auto holds) { return std::ranges::all_of(rows, holds); };
  const bool right_max = all([](const Row& r) { return same(r.max, r.right_max(), kExact); });
  if (!right_max) {
    const std::pair<const char*, std::function<double(const Row&)>> maxima[] = {
        {"that of acc, never updated", [](const Row& r) { return r.max_a; }},
        {"that of the block", [](const Row& r) { return r.max_b; }},
        {"the smaller of the two", [](const Row& r) { return std::min(r.max_a, r.max_b); }},
        {"the sum of the two", [](const Row& r) { return r.max_a + r.max_b; }},
        {"0", [](const Row&) { return 0.0; }},
        {"at least 0", [](const Row& r) { return std::max(r.right_max(), 0.0); }}};
    for (const auto& [words, value] : maxima)
      if (all([&, &value = value](const Row& r) { return same(r.max, value(r), kExact); })) {
        causes.push_back({"solved-merge-m",
                          std::string("m is ") + words + " instead of the larger of the two", kQuestion});
        break;
      }
  }
  if (const auto solved = weights_of_out(rows))
    for (const bool of_acc : {true, false})
      if (const auto weight = named(rows, of_acc ? solved->first : solved->second, of_acc))
        add_weight(causes, *weight, "O", of_acc);
  // One equation for two weights of l: the pairs are tried, the right one of either side first.
  const auto fits = [&](const Named& p, const Named& q, double within, bool claimed_p, bool claimed_q) {
    return all([&](const Row& r) {
      const double wa = claimed_p ? std::exp(r.max_a - r.max) : p.value(r, r.max_a, r.max_b);
      const double wb = claimed_q ? std::exp(r.max_b - r.max) : q.value(r, r.max_b, r.max_a);
      return same(r.sum, wa * r.sum_a + wb * r.sum_b, within);
    });
  };
  const Named& right = weights().front();
  if (fits(right, right, kExact, true, true) || fits(right, right, kExact, false, false)) return causes;
  for (const double within : {kExact, kNear})
    for (const Named& p : weights())
      for (const Named& q : weights()) {
        if (!fits(p, q, within, false, false)) continue;
        const auto as_named = [&](const Named& weight, bool of_acc) {
          std::vector<double> x;
          for (const Row& r : rows)
            x.push_back(of_acc ? weight.value(r, r.max_a, r.max_b) : weight.value(r, r.max_b, r.max_a));
          NamedWeight found = *named(rows, x, of_acc);
          found.exact = within == kExact;
          return found;
        };
        add_weight(causes, as_named(p, true), "l", true);
        add_weight(causes, as_named(q, false), "l", false);
        return causes;
      }
  return causes;
}

// Rows that are as they were, though the block has seen keys; everywhere else the merge is right.
std::vector<Cause> causes_of_unmoved(const MergeExhibit& x) {
  Index first = -1, count = 0;
  for (Index row = 0; row < x.rows; ++row) {
    const Row r = row_at(x, row);
    if (r.max_b == kNothing || r.max != r.max_a || r.sum != r.sum_a || !std::ranges::equal(r.out, r.out_a))
      continue;
    if (first < 0) first = row;
    ++count;
  }
  if (count == 0) return {};
  const bool to_the_end = first + count == x.rows;
  return {{"solved-merge-unmoved",
           (count == x.rows ? std::string("no row is merged")
            : to_the_end    ? "rows from " + std::to_string(first) + " on are not merged"
                            : std::to_string(count) + " of " + std::to_string(x.rows) +
                               " rows are not merged, row " + std::to_string(first) + " first") +
               ": they stay as they were in acc",
           "Over which rows does your loop go, and what can end it early?"}};
}

// Rows for which one side, or both, have seen no key.
std::vector<Cause> causes_of_empty(const std::vector<Row>& rows) {
  std::vector<Cause> causes;
  for (const Row& r : rows) {
    const bool empty_acc = r.max_a == kNothing, empty_block = r.max_b == kNothing;
    const std::string where = empty_acc && empty_block ? "where neither side has seen a key, "
                              : empty_acc              ? "where acc has seen no key, "
                                                       : "where the block has seen no key, ";
    const double max = empty_acc ? r.max_b : r.max_a, sum = empty_acc ? r.sum_b : r.sum_a;
    const std::span<const double> out = empty_acc ? r.out_b : r.out_a;
    const auto add = [&](const char* name, double got, double want, double unmoved) {
      if (same(got, want, kExact)) return;
      const std::string id = std::string("solved-merge-empty-") + name;
      if (std::ranges::find(causes, id, &Cause::id) != causes.end()) return;
      if (std::isnan(got))
        causes.push_back({"MG14", where + name + " becomes NaN: -inf - (-inf)",
                          "Merging with nothing must return the other side: what is your factor then?"});
      else
        causes.push_back({id, where + name + (same(got, unmoved, kExact) ? " stays that of acc" : " changes"),
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
  std::vector<Row> full, empty;
  for (Index row = 0; row < exhibit.rows; ++row) {
    const Row r = row_at(exhibit, row);
    (r.max_a == kNothing || r.max_b == kNothing ? empty : full).push_back(r);
  }
  std::vector<Cause> causes = causes_of_unmoved(exhibit);
  if (causes.empty() && !full.empty()) causes = causes_of_full(full);
  if (causes.empty()) causes = causes_of_empty(empty);
  return causes;
}

namespace {

// Whether wrong rows see enough keys for mistakes to differ: with one key, every weight is 1.
bool is_telling(const Exhibit& exhibit) {
  const auto* const attention = std::get_if<AttentionExhibit>(exhibit.get());
  if (attention == nullptr) return true;
  const BlockProblem& p = attention->problem;
  int telling = 0;
  for (const TensorComparison& tensor : attention->comparison.tensors)
    for (const auto& [position, difference] : tensor.wrong_rows) {
      if (tensor.name == "dk" || tensor.name == "dv") return true;
      const Position q = p.queries[static_cast<std::size_t>(position)];
      telling += std::ranges::count_if(p.keys, [&](Position k) { return visible(p.mask, q, k); }) > 1;
    }
  return telling > 2;
}

}  // namespace

std::vector<Cause> causes_of(const std::vector<Exhibit>& exhibits) {
  struct Held {
    Cause cause;
    int exhibits;
  };
  std::vector<Held> all;
  int telling = 0;
  for (const Exhibit& exhibit : exhibits) {
    if (!is_telling(exhibit)) continue;
    ++telling;
    for (const Cause& cause : causes_of(exhibit)) {
      const auto known = std::ranges::find(all, cause.id, [](const Held& held) { return held.cause.id; });
      if (known == all.end())
        all.push_back({cause, 1});
      else
        ++known->exhibits;
    }
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &Held::exhibits);
  std::vector<Cause> causes;
  for (const Held& held : all)
    if (held.exhibits == all.front().exhibits && 2 * held.exhibits >= telling) causes.push_back(held.cause);
  return causes;
}

std::vector<Cause> causes_of(const Exhibit& exhibit) {
  if (const auto* const merge = std::get_if<MergeExhibit>(exhibit.get())) return causes_of(*merge);
  return diagnose(std::get<AttentionExhibit>(*exhibit)).causes(100);
}

}  // namespace ringcraft::verify
