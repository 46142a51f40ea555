// Rows that are right, at other places (see solve.hpp).
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "ringcraft/core/matrix.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

constexpr Index kMost = 4096;  // rows of a tensor: each is compared with each

// A row of a tensor, by batch entry, head and row.
struct Place {
  Index batch, head, row;

  friend bool operator==(const Place&, const Place&) = default;
};

// Of each claimed row the place of the right row whose numbers it has; empty if a row has those of none.
std::vector<std::pair<Place, Place>> moves(const Evidence& e, std::size_t tensor) {
  const Buffer &claim = named(e.claim)[tensor].tensor, &want = named(e.oracle.value)[tensor].tensor;
  const Buffer &unit = named(e.units())[tensor].tensor, &scale = named(e.oracle.scale)[tensor].tensor;
  const Extents& x = claim.extents();
  if (x.batch * x.heads * x.rows > kMost || x.width < 2) return {};
  std::vector<Place> places;
  std::vector<std::vector<double>> tolerances;
  for (Index b = 0; b < x.batch; ++b)
    for (Index h = 0; h < x.heads; ++h)
      for (Index row = 0; row < x.rows; ++row) {
        places.push_back({b, h, row});
        tolerances.push_back(tolerance_of(e, want, unit, scale, b, h, row));
      }
  const auto fits = [&](const Place& from, std::size_t to) {
    const auto got = row_of(claim, from.batch, from.head, from.row),
               right = row_of(want, places[to].batch, places[to].head, places[to].row);
    for (std::size_t c = 0; c < got.size(); ++c)
      if (!(std::fabs(got[c] - right[c]) <= 6 * tolerances[to][c])) return false;
    return true;
  };
  std::vector<std::pair<Place, Place>> result;
  const auto is_zero = [&](const Place& at) {
    return std::ranges::all_of(row_of(claim, at.batch, at.head, at.row),
                               [](double value) { return value == 0; });
  };
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::size_t at = i;  // a row that is right stays
    const bool stays = fits(places[i], i);
    if (!stays && is_zero(places[i])) return {};  // it comes from nowhere
    if (!stays)
      for (at = 0; at < places.size() && !fits(places[i], at);) ++at;
    if (at == places.size()) return {};
    result.emplace_back(places[i], places[at]);
  }
  return result;
}

// "head 1 holds what belongs to head 2", if heads (or batch entries) change places as a whole.
template <class Which>
std::string whole_moves(const std::vector<std::pair<Place, Place>>& all, Which which, const char* word) {
  std::map<Index, std::set<Index>> to;
  for (const auto& [now, right] : all) to[which(now)].insert(which(right));
  std::string words;
  for (const auto& [from, targets] : to) {
    if (targets.size() != 1) return "";
    if (*targets.begin() != from && words.size() < 80)
      words += (words.empty() ? "" : ", ") + std::string(word) + " " + std::to_string(from) +
               " holds that of " + word + " " + std::to_string(*targets.begin());
  }
  return words;
}

}  // namespace

std::optional<Cause> cause_of_places(const Evidence& e, std::size_t tensor) {
  const auto all = moves(e, tensor);
  const auto moved = std::ranges::find_if(all, [](const auto& each) { return !(each.first == each.second); });
  if (moved == all.end()) return {};
  const bool rows_stay =
      std::ranges::all_of(all, [](const auto& each) { return each.first.row == each.second.row; });
  std::string words = "every row is a right one, but some stand at wrong places: ";
  const std::string heads = rows_stay ? whole_moves(
                                            all, [](const Place& p) { return p.head; }, "head")
                                      : "";
  const std::string batches = rows_stay ? whole_moves(
                                              all, [](const Place& p) { return p.batch; }, "batch entry")
                                        : "";
  if (!heads.empty() || !batches.empty())
    words += heads + (heads.empty() || batches.empty() ? "" : "; ") + batches;
  else
    words += "row " + std::to_string(moved->first.row) + " of head " + std::to_string(moved->first.head) +
             " holds that of row " + std::to_string(moved->second.row) + ", head " +
             std::to_string(moved->second.head) +
             (e.problem.batch > 1 ? ", batch entry " + std::to_string(moved->second.batch) : "");
  return Cause{
      "solved-places", words,
      "In which order do rows, heads and batch entries lie when they are written, and when they are read?"};
}

}  // namespace ringcraft::verify
