// Finds the 8 x 8 matrices that a product used: least squares over all that may stand at a place, with
// coefficients that must be whole numbers.
#include "verify/diagnose/kernels/fragments.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <set>

#include "verify/diagnose/solve/line_system.hpp"

namespace ringcraft::verify {
namespace {

constexpr double kOfScores = 2e-5, kWhole = 0.03;

double root_mean_square(const std::vector<double>& x) {
  double sum = 0;
  for (const double each : x) sum += each * each;
  return std::sqrt(sum / static_cast<double>(std::max<std::size_t>(x.size(), 1)));
}

// A matrix [rows, width] of an exhibit.
struct Numbers8 {
  const std::vector<double>& numbers;
  Index width;
  double operator()(Index row, Index column) const {
    const auto i = static_cast<std::size_t>(row * width + column);
    return row < 0 || column >= width || i >= numbers.size() ? 0.0 : numbers[i];
  }
  // Element (i, j) of a matrix of eight.
  double at(const Eight& e, Index i, Index j) const {
    return e.turned ? (*this)(kEight * e.row + j, kEight * e.column + i)
                    : (*this)(kEight * e.row + i, kEight * e.column + j);
  }
};

std::vector<Eight> eights_of(Index rows, Index width) {
  std::vector<Eight> all;
  for (Index row = 0; row < rows / kEight; ++row)
    for (Index column = 0; column < width / kEight; ++column)
      for (const bool turned : {false, true}) all.push_back({row, column, turned});
  return all;
}

// Whole coefficients that give `wanted`; empty if there are none.
std::optional<std::vector<int>> whole_coefficients(const std::vector<std::vector<double>>& columns,
                                                   const std::vector<double>& wanted) {
  const auto [x, left] = least_squares(columns, wanted);
  double size = 0;
  for (const auto& column : columns) size = std::max(size, root_mean_square(column));
  if (!(left <= 10 * kOfScores * std::max(size, 1e-30))) return {};
  std::vector<int> whole;
  for (const double each : x) {
    if (!(std::fabs(each - std::round(each)) <= kWhole) || std::fabs(each) > 64) return {};
    whole.push_back(static_cast<int>(std::lround(each)));
  }
  return whole;
}

// S for all rows and the keys that were requested.
class Scores {
 public:
  explicit Scores(const TileExhibit& t) : t_(t), q_{t.q, t.width}, k_{t.k, t.width} {}

  double claimed(Index row, std::size_t n) const {
    return t_.scores[n * static_cast<std::size_t>(t_.rows) + static_cast<std::size_t>(row)] / t_.scale;
  }
  double right(Index row, Index key) const {
    double sum = 0;
    for (Index d = 0; d < t_.width; ++d) sum += q_(row, d) * k_(key, d);
    return sum;
  }
  double size(Index row, Index key) const {
    double sum = 0;
    for (Index d = 0; d < t_.width; ++d) sum += std::fabs(q_(row, d) * k_(key, d));
    return sum;
  }
  template <class Value>
  bool all(Value value, double within = kOfScores) const {
    for (std::size_t n = 0; n < t_.seen.size(); ++n)
      for (Index row = 0; row < t_.rows; ++row)
        if (!(std::fabs(claimed(row, n) - value(row, t_.seen[n])) <= within * size(row, t_.seen[n])))
          return false;
    return true;
  }

  // How often each column counts.
  std::optional<std::vector<int>> columns() const {
    std::vector<std::vector<double>> terms(static_cast<std::size_t>(t_.width));
    std::vector<double> wanted;
    for (std::size_t n = 0; n < t_.seen.size(); ++n)
      for (Index row = 0; row < t_.rows; ++row) {
        wanted.push_back(claimed(row, n));
        for (Index d = 0; d < t_.width; ++d)
          terms[static_cast<std::size_t>(d)].push_back(q_(row, d) * k_(t_.seen[n], d));
      }
    return whole_coefficients(terms, wanted);
  }

  // The matrices used in operand B at the eight keys from 8 `eight` on, if A is `query`.
  template <class Query>
  std::optional<EightMap> keys(Index eight, Query query) const {
    const std::vector<Eight> all = eights_of(t_.keys, t_.width);
    return parts(t_.width / kEight, all, eight, [&](auto add) {
      for (Index row = 0; row < t_.rows; ++row)
        for (Index j = 0; j < kEight; ++j)
          add(claimed(row, static_cast<std::size_t>(kEight * eight + j)), [&](Index half, const Eight& e) {
            double sum = 0;
            for (Index c = 0; c < kEight; ++c) sum += query(row, half, c) * k_.at(e, j, c);
            return sum;
          });
    });
  }
  // The same for operand A and rows, if B is right.
  std::optional<EightMap> rows(Index eight) const {
    const std::vector<Eight> all = eights_of(t_.rows, t_.width);
    return parts(t_.width / kEight, all, eight, [&](auto add) {
      for (Index i = 0; i < kEight; ++i)
        for (Index key = 0; key < t_.keys; ++key)
          add(claimed(kEight * eight + i, static_cast<std::size_t>(key)), [&](Index half, const Eight& e) {
            double sum = 0;
            for (Index c = 0; c < kEight; ++c) sum += q_.at(e, i, c) * k_(key, kEight * half + c);
            return sum;
          });
    });
  }
  double q(const Eight& e, Index i, Index c) const { return q_.at(e, i, c); }

 private:
  template <class Body>
  static std::optional<EightMap> parts(Index halves, const std::vector<Eight>& all, Index eight, Body body) {
    std::vector<std::vector<double>> terms(static_cast<std::size_t>(halves) * all.size());
    std::vector<double> wanted;
    body([&](double claimed, auto value) {
      wanted.push_back(claimed);
      for (std::size_t i = 0; i < terms.size(); ++i)
        terms[i].push_back(value(static_cast<Index>(i / all.size()), all[i % all.size()]));
    });
    const auto whole = whole_coefficients(terms, wanted);
    if (!whole) return {};
    EightMap map;
    for (Index half = 0; half < halves; ++half) map[{eight, half}] = {};
    for (std::size_t i = 0; i < whole->size(); ++i)
      if ((*whole)[i] != 0)
        map[{eight, static_cast<Index>(i / all.size())}][all[i % all.size()]] = (*whole)[i];
    return map;
  }

  const TileExhibit& t_;
  Numbers8 q_, k_;
};

// The map of a whole operand, if each of its eights can be solved for.
template <class Solve>
std::optional<EightMap> map_of(Index eights, Solve solve) {
  EightMap all;
  for (Index eight = 0; eight < eights; ++eight) {
    const auto part = solve(eight);
    if (!part) return {};
    all.insert(part->begin(), part->end());
  }
  return all;
}

// Explains wrong fragments of both operands: the quarters of A are permuted in one way everywhere.
std::optional<Cause> cause_of_both(const TileExhibit& t, const Scores& s) {
  std::vector<int> order{0, 1, 2, 3};  // register r holds quarter order[r]: row % 2, column / 2
  do {
    for (const bool turned : {false, true}) {
      const auto query = [&](Index row, Index half, Index c) {
        const Index held = order[static_cast<std::size_t>(row / kEight % 2 + 2 * half)];
        return s.q({row / kEight / 2 * 2 + held % 2, held / 2, turned}, row % kEight, c);
      };
      if (!s.keys(0, query)) continue;
      const auto map = map_of(t.keys / kEight, [&](Index eight) { return s.keys(eight, query); });
      if (!map) continue;
      EightMap of_query;
      for (Index r = 0; r < 4; ++r) {
        const Index held = order[static_cast<std::size_t>(r)];
        of_query[{r % 2, r / 2}] = {{Eight{held % 2, held / 2, turned}, 1}};
      }
      auto cause = cause_of_map(Operand8::kQuery, of_query);
      const auto more = cause_of_map(Operand8::kKey, *map);
      if (!cause) return more;
      if (more) cause->sentence += "; and " + more->sentence;
      return cause;
    }
  } while (std::ranges::next_permutation(order).found);
  return {};
}

// The columns that a dot product sums, and how often each.
std::optional<Cause> cause_of_summed_columns(const TileExhibit& t, const std::vector<int>& times) {
  std::vector<Index> wrong;
  for (Index d = 0; d < t.width; ++d)
    if (times[static_cast<std::size_t>(d)] != 1) wrong.push_back(d);
  if (wrong.empty()) return {};
  const int how = times[static_cast<std::size_t>(wrong.front())];
  const bool alike =
      std::ranges::all_of(wrong, [&](Index d) { return times[static_cast<std::size_t>(d)] == how; });
  if (alike && static_cast<Index>(wrong.size()) == t.width) return {};  // a factor of all scores
  const bool run = wrong.back() - wrong.front() + 1 == static_cast<Index>(wrong.size());
  const std::string deed =
      how == 0 ? "are left out of the scores" : "are added to the scores " + std::to_string(how) + " times";
  std::string which;
  if (how == 0 && alike && run && wrong.front() == 0 && wrong.back() + 17 == t.width)
    return Cause{"fragment-columns",
                 "only the last 16 of " + std::to_string(t.width) +
                     " columns count in the scores: the accumulators begin anew with every 16 columns",
                 "Of which earlier steps is there anything left in the accumulators?"};
  if (run)
    which = "the columns " + std::to_string(wrong.front()) + " to " + std::to_string(wrong.back());
  else
    which =
        std::to_string(wrong.size()) + " of the columns, column " + std::to_string(wrong.front()) + " first,";
  return Cause{
      "fragment-columns",
      which + " of " + std::to_string(t.width) + " " + (alike ? deed : "count too often or not at all"),
      "Over which columns does the loop of q kᵀ run, in which steps, and what do the accumulators "
      "hold when it goes on?"};
}

std::optional<Cause> cause_of_rounded_scores(const TileExhibit& t, const Scores& s) {
  const auto rounded = [&](double factor, bool nearest) {
    return s.all([&](Index row, Index key) { return to_bf16(s.right(row, key) * factor, nearest) / factor; });
  };
  for (const double factor : {1.0, t.scale, t.scale / std::log(2.0)})
    for (const bool nearest : {true, false})
      if (rounded(factor, nearest))
        return Cause{"fragment-rounding",
                     std::string("the scores are ") + (nearest ? "rounded to bf16" : "cut off to bf16") +
                         ", though mma adds them up in float32",
                     "Of which precision is C, and which of its numbers is an operand again?"};
  return {};
}

}  // namespace

double to_bf16(double x, bool nearest) {
  auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
  if (nearest) bits += 0x7fff + (bits >> 16 & 1);
  return std::bit_cast<float>(bits & 0xffff0000u);
}

bool has_right_scores(const TileExhibit& tile) {
  const Scores s(tile);
  return s.all([&](Index row, Index key) { return s.right(row, key); });
}

std::optional<Cause> cause_of_scores(const std::vector<TileExhibit>& tiles) {
  std::optional<Cause> of_columns;
  for (const TileExhibit& t : tiles) {
    if (has_right_scores(t)) continue;
    const Scores s(t);
    if (const auto times = s.columns()) {
      if (const auto cause = cause_of_summed_columns(t, *times)) of_columns = cause;
      continue;  // or a factor of all scores, which fragments do not explain
    }
    const bool asked = static_cast<Index>(t.seen.size()) == t.keys;
    if (of_columns || !asked) continue;
    if (const auto cause = cause_of_rounded_scores(t, s)) return cause;
    const auto plain = [&](Index row, Index half, Index c) {
      return s.q({row / kEight, half, false}, row % kEight, c);
    };
    if (const auto map = map_of(t.keys / kEight, [&](Index eight) { return s.keys(eight, plain); }))
      return cause_of_map(Operand8::kKey, *map);
    if (const auto map = map_of(t.rows / kEight, [&](Index eight) { return s.rows(eight); }))
      return cause_of_map(Operand8::kQuery, *map);
    return cause_of_both(t, s);
  }
  return of_columns;
}

}  // namespace ringcraft::verify
