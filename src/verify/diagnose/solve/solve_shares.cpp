// Recognises a gradient whose parts are right but in the wrong sum: parts are the contributions of one shard
// of rows to one block of keys, or to half of it. Solves for the surplus and deficit of a sum as whole
// multiples of all parts.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "ringcraft/core/matrix.hpp"
#include "verify/diagnose/solve/gradient/gradient_recipe.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

using Values = std::vector<double>;

constexpr double kMostPairs = 4e6;  // of row and key, over all heads: larger problems are skipped
constexpr std::size_t kMostParts = 300;
constexpr double kWholeEnough = 0.2;  // how far a coefficient may be from a whole number

// Rows of a shard, or keys of a block: all, or one half.
struct Piece {
  int owner;
  int half;  // 0: the early one, 1: the late one, -1: all
  Index begin, end;

  Index size() const { return end - begin; }
};

std::vector<Piece> pieces_of(const std::vector<std::vector<Index>>& parts, bool halves) {
  std::vector<Piece> all;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto size = static_cast<Index>(parts[i].size()), middle = (size + 1) / 2;
    const int owner = static_cast<int>(i);
    if (halves) {
      all.push_back({owner, 0, 0, middle});
      all.push_back({owner, 1, middle, size});
    } else {
      all.push_back({owner, -1, 0, size});
    }
  }
  return all;
}

// A wrong sum: the parts that it lacks (-1) and has in surplus (+1), by the giver and by the sum that they
// were computed for.
struct WrongSum {
  std::size_t target;
  std::map<std::pair<std::size_t, std::size_t>, int> parts;  // (giver, intended sum) -> surplus
};

class Shares {
 public:
  Shares(const Evidence& e, GradientName name, const Setting& forward, bool halves)
      : e_(e),
        name_(name),
        weights_(e, {.setting = forward}),
        claim_(named(e.claim)[2 + static_cast<std::size_t>(name)].tensor),
        sums_(pieces_of(of_keys() ? e.place.blocks : e.place.shards, halves)),
        givers_(pieces_of(of_keys() ? e.place.shards : e.place.blocks, halves)),
        threshold_(yardsticks_of(e).threshold) {
    for (const Piece& giver : givers_)
      for (const Piece& sum : sums_) parts_.push_back(part(giver, sum));
    for (const Piece& sum : sums_) tolerances_.push_back(tolerances(sum));
  }

  bool of_keys() const { return name_ != GradientName::kDq; }
  const std::vector<Piece>& sums() const { return sums_; }
  const std::vector<Piece>& givers() const { return givers_; }

  // Every wrong sum; empty if one of them is no sum of whole parts.
  std::optional<std::vector<WrongSum>> wrong_sums() const {
    std::vector<WrongSum> all;
    for (std::size_t target = 0; target < sums_.size(); ++target) {
      const auto wrong = solved(target);
      if (!wrong) return {};
      if (!wrong->parts.empty()) all.push_back(*wrong);
    }
    return all;
  }

  // Whether each rank's buffer for the part of a step still holds its results for the blocks of earlier
  // steps.
  bool keeps_buffers() const {
    const auto ranks = static_cast<int>(sums_.size());
    if (!of_keys() || givers_.size() != sums_.size()) return false;
    for (int target = 0; target < ranks; ++target) {
      const auto to = static_cast<std::size_t>(target);
      Values left = excess(to, right_sum(to));
      for (int rank = 0; rank < ranks; ++rank)
        for (int block = rank; block != target; block = e_.place.wrapped(block - 1)) {
          const auto giver = static_cast<std::size_t>(rank), from = static_cast<std::size_t>(block);
          const Values more = landed(part(giver, from), from, to);
          for (std::size_t i = 0; i < left.size(); ++i) left[i] -= more[i];
        }
      if (!(residual_of(left, 0) <= threshold_)) return false;
    }
    return true;
  }

  // Whether the claim is the right sums plus, for each, the right ones of all before it: batch entries,
  // heads, or rows.
  bool carries(Index Extents::*over) const {
    const Extents& x = claim_.extents();
    if (x.*over < 2) return false;
    Buffer carried(x, DType::kFloat64);
    for (std::size_t target = 0; target < sums_.size(); ++target) put(carried, target, right_sum(target));
    for (Index b = over == &Extents::batch ? 1 : 0; b < x.batch; ++b)
      for (Index h = over == &Extents::heads ? 1 : 0; h < x.heads; ++h)
        for (Index row = over == &Extents::rows ? 1 : 0; row < x.rows; ++row)
          for (Index c = 0; c < x.width; ++c)
            head_of<double>(carried, b, h)(row, c) +=
                over == &Extents::batch   ? head_of<double>(carried, b - 1, h)(row, c)
                : over == &Extents::heads ? head_of<double>(carried, b, h - 1)(row, c)
                                          : head_of<double>(carried, b, h)(row - 1, c);
    for (std::size_t target = 0; target < sums_.size(); ++target)
      if (!(residual_of(excess(target, taken(carried, target)), 0) <= threshold_)) return false;
    return true;
  }

 private:
  const Values& part(std::size_t giver, std::size_t sum) const { return parts_[giver * sums_.size() + sum]; }

  std::size_t at(const Piece& sum, Index b, Index h, Index row) const {
    const Extents& x = claim_.extents();
    return static_cast<std::size_t>(((b * x.heads + h) * sum.size() + row) * x.width);
  }

  Index row_in_tensor(const Piece& sum, Index row) const {
    const auto& parts = of_keys() ? e_.place.blocks : e_.place.shards;
    return parts[static_cast<std::size_t>(sum.owner)][static_cast<std::size_t>(sum.begin + row)];
  }

  // The contribution of a giver to a sum, [batch, heads, rows of the sum, width].
  Values part(const Piece& giver, const Piece& sum) const {
    const BlockProblem& p = e_.problem;
    const Extents& x = claim_.extents();
    Values result(static_cast<std::size_t>(x.batch * x.heads * sum.size() * x.width), 0.0);
    const Piece &rows = of_keys() ? giver : sum, &keys = of_keys() ? sum : giver;
    for (Index i = rows.begin; i < rows.end; ++i)
      for (Index n = keys.begin; n < keys.end; ++n) {
        if (!sees(p, e_.place, {}, rows.owner, i, keys.owner, n)) continue;
        const Index row = e_.place.shards[static_cast<std::size_t>(rows.owner)][static_cast<std::size_t>(i)];
        const Index key = e_.place.at(keys.owner, n);
        for (Index b = 0; b < p.batch; ++b)
          for (Index h = 0; h < p.heads; ++h) {
            const Index kv_head = h / p.group();
            const Weights::Pair pair = weights_(b, h, row, key);
            const double weight = name_ == GradientName::kDv ? pair.p : pair.ds;
            const auto with = name_ == GradientName::kDq   ? row_of(e_.inputs.k, b, kv_head, key)
                              : name_ == GradientName::kDk ? weights_.query(b, h, row, keys.owner)
                                                           : weights_.dout(b, h, row, keys.owner);
            const std::size_t to =
                of_keys() ? at(sum, b, kv_head, n - sum.begin) : at(sum, b, h, i - sum.begin);
            for (std::size_t c = 0; c < with.size(); ++c) result[to + c] += weight * with[c];
          }
      }
    return result;
  }

  Values right_sum(std::size_t target) const {
    Values sum(part(0, target).size(), 0.0);
    for (std::size_t giver = 0; giver < givers_.size(); ++giver)
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part(giver, target)[i];
    return sum;
  }

  // Iterates over the rows of a sum: their batch entry, head and number, and their offset in its values.
  template <class Body>
  void for_rows(const Piece& sum, Body body) const {
    const Extents& x = claim_.extents();
    for (Index b = 0; b < x.batch; ++b)
      for (Index h = 0; h < x.heads; ++h)
        for (Index row = 0; row < sum.size(); ++row) body(b, h, row, at(sum, b, h, row));
  }

  // Copies the values of a sum from a float64 tensor.
  Values taken(const Buffer& tensor, std::size_t target) const {
    Values values(part(0, target).size());
    for_rows(sums_[target], [&](Index b, Index h, Index row, std::size_t at) {
      const auto from = row_of(tensor, b, h, row_in_tensor(sums_[target], row));
      std::ranges::copy(from, values.begin() + static_cast<std::ptrdiff_t>(at));
    });
    return values;
  }
  void put(Buffer& tensor, std::size_t target, const Values& values) const {
    for_rows(sums_[target], [&](Index b, Index h, Index row, std::size_t at) {
      for (Index c = 0; c < claim_.extents().width; ++c)
        head_of<double>(tensor, b, h)(row_in_tensor(sums_[target], row), c) =
            values[at + static_cast<std::size_t>(c)];
    });
  }

  // Tolerance of each value of a sum.
  Values tolerances(const Piece& sum) const {
    const auto tensor = 2 + static_cast<std::size_t>(name_);
    Values values;
    for_rows(sum, [&](Index b, Index h, Index row, std::size_t) {
      const Values more = tolerance_of(e_, claim_, named(e_.units())[tensor].tensor,
                                       named(e_.oracle.scale)[tensor].tensor, b, h, row_in_tensor(sum, row));
      values.insert(values.end(), more.begin(), more.end());
    });
    return values;
  }

  // A part for one sum as it is added to another, row by row, in units of the latter's tolerance.
  Values landed(const Values& values, std::size_t from, std::size_t target) const {
    Values result(tolerances_[target].size(), 0.0);
    const auto width = static_cast<std::size_t>(claim_.extents().width);
    for_rows(sums_[target], [&](Index b, Index h, Index row, std::size_t to) {
      if (row >= sums_[from].size()) return;
      const std::size_t first = at(sums_[from], b, h, row);
      for (std::size_t c = 0; c < width; ++c)
        result[to + c] = values[first + c] / tolerances_[target][to + c];
    });
    return result;
  }

  // The claim minus these values, in the same units.
  Values excess(std::size_t target, const Values& values) const {
    Values more = taken(claim_, target);
    for (std::size_t i = 0; i < more.size(); ++i) more[i] -= values[i];
    return landed(more, target, target);
  }

  std::optional<WrongSum> solved(std::size_t target) const {
    const Values wanted = excess(target, right_sum(target));
    if (residual_of(wanted, 0) <= threshold_) return WrongSum{target, {}};
    std::vector<Values> columns;
    std::vector<std::pair<std::size_t, std::size_t>> names;
    for (std::size_t giver = 0; giver < givers_.size(); ++giver)
      for (std::size_t sum = 0; sum < sums_.size(); ++sum) {
        Values column = landed(part(giver, sum), sum, target);
        if (std::ranges::all_of(column, [](double value) { return value == 0; })) continue;
        columns.push_back(std::move(column));
        names.emplace_back(giver, sum);
      }
    if (columns.size() > kMostParts || 2 * columns.size() > wanted.size()) return {};
    const Values found = least_squares(columns, wanted).first;
    WrongSum result{target, {}};
    Values left = wanted;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const double whole = std::round(found[i]);
      if (!(std::fabs(found[i] - whole) <= kWholeEnough)) return {};
      if (whole == 0) continue;
      result.parts[names[i]] = static_cast<int>(whole);
      for (std::size_t j = 0; j < left.size(); ++j) left[j] -= whole * columns[i][j];
    }
    if (!(residual_of(left, 0) <= threshold_)) return {};
    return result;
  }

  const Evidence& e_;
  GradientName name_;
  Weights weights_;
  const Buffer& claim_;
  std::vector<Piece> sums_, givers_;
  double threshold_;
  std::vector<Values> parts_;       // [giver, sum]
  std::vector<Values> tolerances_;  // of each sum
};

// ---- in words

std::string piece_words(const Arrangement& place, const Piece& piece, bool of_keys) {
  const std::string things = of_keys ? "keys" : "rows";
  const std::string half = piece.half < 0    ? "the " + things
                           : piece.half == 0 ? "the early half of the " + things
                                             : "the late half of the " + things;
  if (!place.ring && !of_keys) return half;
  return half + " of " + (place.ring ? "rank " : place.part() + " ") + std::to_string(piece.owner);
}

// The half that gets too much, if each sum of one half has the contribution for the other half of the same
// part, and nothing else is wrong.
std::optional<int> half_for_half(const Shares& shares, const std::vector<WrongSum>& all) {
  std::set<int> gets;
  for (const WrongSum& wrong : all)
    for (const auto& [names, times] : wrong.parts) {
      const Piece &target = shares.sums()[wrong.target], &from = shares.sums()[names.second];
      if (target.half < 0 || target.owner != from.owner) return {};
      if (times > 0 && target.half != from.half) gets.insert(target.half);
      if (times > 0 && target.half == from.half) return {};
    }
  return gets.size() == 1 ? std::optional(*gets.begin()) : std::nullopt;
}

std::string first_in_words(const Arrangement& place, const Shares& shares, const WrongSum& wrong) {
  const bool keys = shares.of_keys(), halves = shares.sums()[wrong.target].half >= 0;
  const auto giver = [&](std::size_t i) { return piece_words(place, shares.givers()[i], !keys); };
  const std::string target = piece_words(place, shares.sums()[wrong.target], keys);
  std::string lacks, has;
  for (const auto& [names, times] : wrong.parts) {
    std::string& list = times < 0 ? lacks : has;
    if (!list.empty()) list += " and ";
    const std::string of =
        names.second == wrong.target ? "" : " for " + piece_words(place, shares.sums()[names.second], keys);
    list += "what " + giver(names.first) + (halves ? " gives" : " give") + of;
    if (std::abs(times) > 1) list += " (" + std::to_string(std::abs(times)) + " times)";
  }
  return "the sums of " + target + (lacks.empty() ? "" : " lack " + lacks) +
         (lacks.empty() || has.empty() ? "" : ", and") + (has.empty() ? "" : " also have " + has);
}

Cause cause_of_sums(const Arrangement& place, const Shares& shares, const std::vector<WrongSum>& all) {
  constexpr const char* kQuestion =
      "Follow one part through your code: which sum, and which rows of it, is it added to, and how often?";
  if (const auto half = half_for_half(shares, all)) {
    const std::string things = shares.of_keys() ? "keys" : "rows", late = "late", early = "early";
    return {"solved-shares-half",
            "parts for the " + (*half == 1 ? early : late) + " half of the " + things + " are added to the " +
                (*half == 1 ? late : early) + " half of the sum",
            kQuestion};
  }
  std::string more;
  if (all.size() > 1)
    more = "; " + std::to_string(all.size()) + " of the " + std::to_string(shares.sums().size()) +
           " sums are wrong in this way";
  return {"solved-shares", first_in_words(place, shares, all.front()) + more, kQuestion};
}

}  // namespace

std::optional<Cause> cause_of_shares(const Evidence& e, GradientName name, const Setting& forward) {
  const BlockProblem& p = e.problem;
  const double pairs = static_cast<double>(p.queries.size()) * static_cast<double>(p.keys.size()) *
                       static_cast<double>(p.batch * p.heads);
  if (pairs > kMostPairs) return {};
  for (const bool halves : {false, true}) {
    if (halves && !e.place.ring) break;
    const Shares shares(e, name, forward, halves);
    const std::pair<Index Extents::*, const char*> carriers[] = {
        {&Extents::batch, "batch entry"}, {&Extents::heads, "head"}, {&Extents::rows, "row"}};
    for (const auto& [over, words] : carriers)
      if (!halves && shares.carries(over))
        return Cause{"solved-carried",
                     std::string("the sums of each ") + words +
                         " begin with those of the ones before it, not with zero",
                     "Where are the sums set to zero, and how often does that line run?"};
    if (!halves && e.place.ring && shares.keeps_buffers())
      return Cause{
          "solved-buffer-kept",
          "each rank's buffer for the part of a step is not set to zero between steps: what is added to a "
          "block's sum also holds the parts of the blocks before it",
          "Where is the buffer of a step's part set to zero?"};
    if (const auto wrong = shares.wrong_sums(); wrong && !wrong->empty())
      return cause_of_sums(e.place, shares, *wrong);
  }
  return {};
}

}  // namespace ringcraft::verify
