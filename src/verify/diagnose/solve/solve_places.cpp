// Recognises right rows at wrong places: finds the place that each claimed row belongs to, and describes the
// permutation by heads, batch entries, ranks or layouts.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "ringcraft/core/matrix.hpp"
#include "verify/diagnose/exhibit.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

constexpr Index kMost = 4096;  // rows of a tensor: all pairs are compared

// A row of a tensor, by batch entry, head and row.
struct Place {
  Index batch, head, row;

  friend bool operator==(const Place&, const Place&) = default;
};

// For each claimed row the place of the right row with its numbers; empty if a row matches none.
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
    std::size_t at = i;  // a right row stays
    const bool stays = fits(places[i], i);
    if (!stays && is_zero(places[i])) return {};  // it matches no right row
    if (!stays)
      for (at = 0; at < places.size() && !fits(places[i], at);) ++at;
    if (at == places.size()) return {};
    result.emplace_back(places[i], places[at]);
  }
  return result;
}

// "head 1 holds what belongs to head 2", if heads (or batch entries) are exchanged as a whole.
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

// The right row that each claimed row holds, and its wording.
struct PlaceLaw {
  std::string words;
  std::function<Place(const Place&)> from;
};

std::vector<PlaceLaw> place_laws(const Evidence& e, bool of_keys) {
  std::vector<PlaceLaw> laws;
  if (e.ring == nullptr || e.place.count() < 2) return laws;
  const Arrangement& a = e.place;
  const auto& parts = of_keys ? a.blocks : a.shards;
  const auto& owner = of_keys ? a.owner : a.row_owner;
  const auto& local = of_keys ? a.local : a.row_local;
  const auto at = [&parts](int part, Index i) {
    const auto& rows = parts[static_cast<std::size_t>(part)];
    return i >= 0 && i < static_cast<Index>(rows.size()) ? rows[static_cast<std::size_t>(i)] : Index{-1};
  };
  const auto add = [&](std::string words, auto row_of_local) {
    laws.push_back({std::move(words), [&owner, &local, row_of_local](const Place& p) {
                      const auto row = static_cast<std::size_t>(p.row);
                      return Place{p.batch, p.head, row_of_local(owner[row], local[row])};
                    }});
  };
  const int n = a.count();
  for (int shift = 1; shift < n; ++shift)
    add("the rows of each rank are those of rank " +
            std::string(shift == n - 1 ? "- 1" : "+ " + std::to_string(shift)),
        [=, &a](int part, Index i) { return at(a.wrapped(part + shift), i); });
  add("the ranks' rows stand in the opposite order of the ranks",
      [=](int part, Index i) { return at(n - 1 - part, i); });
  add("the two halves of each rank's rows have changed places", [=, &parts](int part, Index i) {
    const auto size = static_cast<Index>(parts[static_cast<std::size_t>(part)].size()), middle = size / 2;
    return at(part, (i + middle) % std::max<Index>(size, 1));
  });
  add("each rank's rows stand in the opposite order", [=, &parts](int part, Index i) {
    return at(part, static_cast<Index>(parts[static_cast<std::size_t>(part)].size()) - 1 - i);
  });
  std::vector<Index> order;
  for (const auto& part : parts) order.insert(order.end(), part.begin(), part.end());
  laws.push_back({"the rows stand rank by rank, in the order of the layout", [order](const Place& p) {
                    return Place{p.batch, p.head, order[static_cast<std::size_t>(p.row)]};
                  }});
  return laws;
}

// Rows that are distributed in one layout and collected in another: of each rank as many as it has.
std::vector<PlaceLaw> layout_laws(const Evidence& e, bool of_keys) {
  std::vector<PlaceLaw> laws;
  if (e.ring == nullptr || e.place.count() < 2) return laws;
  const auto& parts = of_keys ? e.place.blocks : e.place.shards;
  const auto all = static_cast<Index>((of_keys ? e.place.owner : e.place.row_owner).size());
  const auto add = [&](std::string words, auto row_of_place) {  // the row that (rank, i) is written to
    std::vector<Index> from(static_cast<std::size_t>(all), -1);
    for (std::size_t rank = 0; rank < parts.size(); ++rank)
      for (std::size_t i = 0; i < parts[rank].size(); ++i)
        if (const Index to = row_of_place(rank, i); to >= 0 && to < all)
          from[static_cast<std::size_t>(to)] = parts[rank][i];
    laws.push_back({std::move(words), [from](const Place& p) {
                      return Place{p.batch, p.head, from[static_cast<std::size_t>(p.row)]};
                    }});
  };
  for (const Layout layout : kLayouts) {
    if (layout == e.ring->layout) continue;
    const Sharding other{layout, e.ring->shape.seqlen, e.place.count()};
    add("they are put where the " + std::string(name_of(layout)) + " layout has the rows of each rank",
        [&](std::size_t rank, std::size_t i) {
          const auto rows = other.positions(static_cast<int>(rank));
          return i < rows.size() ? static_cast<Index>(rows[i]) : Index{-1};
        });
  }
  std::size_t longest = 0;
  for (const auto& part : parts) longest = std::max(longest, part.size());
  if (longest * parts.size() != static_cast<std::size_t>(all))
    add("they stand rank by rank as if all shards were as long as the longest one, with gaps after the "
        "shorter ones",
        [&](std::size_t rank, std::size_t i) { return static_cast<Index>(rank * longest + i); });
  if (e.ring->layout == Layout::kZigzag)
    add("the late halves are put back in ascending order of the ranks, where they lie in descending order",
        [&](std::size_t rank, std::size_t i) {
          const std::size_t middle = (parts[rank].size() + 1) / 2;
          const auto& other = parts[parts.size() - 1 - rank];
          const std::size_t at = i - middle + (other.size() + 1) / 2;
          return i < middle ? parts[rank][i] : at < other.size() ? other[at] : Index{-1};
        });
  return laws;
}

// Recognises right heads of batch entries in another order, as a formula of their number in memory.
std::string order_of_heads(const Evidence& e, std::size_t tensor) {
  const Buffer &claim = named(e.claim)[tensor].tensor, &want = named(e.oracle.value)[tensor].tensor,
               &unit = named(e.units())[tensor].tensor;
  const Extents& x = claim.extents();
  const Index count = x.batch * x.heads, heads = x.heads, batch = x.batch;
  std::vector<std::pair<std::string, std::function<Index(Index)>>> laws;
  if (heads > 2)
    laws.emplace_back("the heads come in the opposite order",
                      [=](Index at) { return at / heads * heads + heads - 1 - at % heads; });
  if (batch > 1)
    laws.emplace_back("the batch entries come in the opposite order",
                      [=](Index at) { return (batch - 1 - at / heads) * heads + at % heads; });
  if (batch > 1 && heads > 1) {
    laws.emplace_back("[batch, heads] was written as [heads, batch], or read so",
                      [=](Index at) { return at % batch * heads + at / batch; });
    laws.emplace_back("[batch, heads] was written as [heads, batch], or read so",
                      [=](Index at) { return at % heads * batch + at / heads; });
  }
  for (Index parts = 2; parts < heads; ++parts)
    if (heads % parts == 0)
      laws.emplace_back("the heads come interleaved: those of " + std::to_string(parts) +
                            " parts (ranks, or groups) in turns, not one part after the other",
                        [=](Index at) {
                          const Index h = at % heads;
                          return at - h + h % parts * (heads / parts) + h / parts;
                        });
  if (heads > 2)
    for (const Index shift : {Index{1}, heads - 1})
      laws.emplace_back("each head is that of head h " + std::string(shift == 1 ? "+ 1" : "- 1"),
                        [=](Index at) { return at - at % heads + (at + shift) % heads; });
  for (const auto& [words, from] : laws) {
    bool all = true, any = false;
    for (Index at = 0; at < count && all; ++at) {
      const Index other = from(at);
      any = any || other != at;
      for (Index row = 0; row < x.rows && all; ++row)
        all = same_row(row_of(claim, at / heads, at % heads, row),
                       row_of(want, other / heads, other % heads, row),
                       row_of(unit, other / heads, other % heads, row), e.nearness(), false);
    }
    if (all && any) return words;
  }
  return "";
}

// Finds the right head that each head (and batch entry) holds as a whole; among several, the one that stays.
std::string whole_heads(const Evidence& e, std::size_t tensor) {
  const Buffer &claim = named(e.claim)[tensor].tensor, &want = named(e.oracle.value)[tensor].tensor,
               &unit = named(e.units())[tensor].tensor;
  const Extents& x = claim.extents();
  if (x.batch * x.heads < 2 || x.batch * x.heads > 64) return "";
  const auto holds = [&](Index b, Index h, Index other_b, Index other_h) {
    for (Index row = 0; row < x.rows; ++row)
      if (!same_row(row_of(claim, b, h, row), row_of(want, other_b, other_h, row),
                    row_of(unit, other_b, other_h, row), e.nearness(), false))
        return false;
    return true;
  };
  std::string words;
  for (Index b = 0; b < x.batch; ++b)
    for (Index h = 0; h < x.heads; ++h) {
      if (holds(b, h, b, h)) continue;
      Index found = -1;
      for (Index other = 0; other < x.batch * x.heads && found < 0; ++other)
        if (holds(b, h, other / x.heads, other % x.heads)) found = other;
      if (found < 0) return "";
      if (words.size() > 120) continue;
      words += (words.empty() ? "" : ", ") + std::string("head ") + std::to_string(h) +
               (x.batch > 1 ? " of batch entry " + std::to_string(b) : "") + " holds that of head " +
               std::to_string(found % x.heads) +
               (x.batch > 1 ? " of batch entry " + std::to_string(found / x.heads) : "");
    }
  return words;
}

// Finds the rank whose right rows each rank's rows are as a whole, in all heads; among several, the rank's
// own.
std::string whole_ranks(const Evidence& e, std::size_t tensor) {
  if (e.ring == nullptr || e.place.count() < 2) return "";
  const Buffer &claim = named(e.claim)[tensor].tensor, &want = named(e.oracle.value)[tensor].tensor,
               &unit = named(e.units())[tensor].tensor;
  const auto& parts = tensor > 2 ? e.place.blocks : e.place.shards;
  const Extents& x = claim.extents();
  const auto holds = [&](const std::vector<Index>& part, const std::vector<Index>& other) {
    if (part.size() != other.size()) return false;
    for (Index b = 0; b < x.batch; ++b)
      for (Index h = 0; h < x.heads; ++h)
        for (std::size_t i = 0; i < part.size(); ++i)
          if (!same_row(row_of(claim, b, h, part[i]), row_of(want, b, h, other[i]),
                        row_of(unit, b, h, other[i]), e.nearness(), false))
            return false;
    return true;
  };
  std::string words;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    if (holds(parts[rank], parts[rank])) continue;
    const auto from =
        std::ranges::find_if(parts, [&](const auto& other) { return holds(parts[rank], other); });
    if (from == parts.end()) return "";
    words += (words.empty() ? "" : ", ") + std::string("the rows of rank ") + std::to_string(rank) +
             " hold those of rank " + std::to_string(from - parts.begin());
  }
  return words;
}

std::optional<std::string> law_of_places(const Evidence& e, std::size_t tensor) {
  if (std::string order = order_of_heads(e, tensor); !order.empty()) return order;
  if (std::string heads = whole_heads(e, tensor); !heads.empty()) return heads;
  const Buffer &claim = named(e.claim)[tensor].tensor, &want = named(e.oracle.value)[tensor].tensor,
               &unit = named(e.units())[tensor].tensor;
  const Extents& x = claim.extents();
  std::vector<PlaceLaw> laws = place_laws(e, tensor > 2);
  for (PlaceLaw& law : layout_laws(e, tensor > 2)) laws.push_back(std::move(law));
  for (const PlaceLaw& law : laws) {
    bool all = true;
    for (Index b = 0; b < x.batch && all; ++b)
      for (Index h = 0; h < x.heads && all; ++h)
        for (Index row = 0; row < x.rows && all; ++row) {
          const Place from = law.from({b, h, row});
          const auto got = row_of(claim, b, h, row);
          all = from.row < 0
                    ? std::ranges::all_of(got, [](double value) { return value == 0 || is_unwritten(value); })
                    : same_row(got, row_of(want, b, h, from.row), row_of(unit, b, h, from.row), e.nearness(),
                               false);
        }
    if (all) return law.words;
  }
  const std::string ranks = whole_ranks(e, tensor);
  return ranks.empty() ? std::nullopt : std::optional(ranks);
}

}  // namespace

std::optional<Cause> cause_of_places(const Evidence& e, std::size_t tensor) {
  constexpr const char* kQuestion =
      "In which order do rows, heads and batch entries lie when they are written, and when they are read?";
  if (!e.is_wrong(kAnswerNames[tensor])) return {};
  if (const auto law = law_of_places(e, tensor))
    return Cause{"solved-places-law", "every row is a right one, but some stand at wrong places: " + *law,
                 kQuestion};
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
  return Cause{"solved-places", words, kQuestion};
}

}  // namespace ringcraft::verify
