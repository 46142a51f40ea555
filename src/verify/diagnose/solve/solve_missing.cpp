// Finds which rows are zero, or were never written, if all other rows are right, and describes them by a law.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "ringcraft/core/shown.hpp"
#include "verify/diagnose/exhibit.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

struct RowAt {
  Index batch, head, row;
};

// Each row of a tensor that should not be zero, with whether it is missing; empty if a row is neither right
// nor missing, if none is, or all are.
std::optional<std::vector<std::pair<RowAt, bool>>> missing_rows(const Evidence& e, std::size_t tensor) {
  const Buffer &claim = named(e.claim)[tensor].tensor, &want = named(e.oracle.value)[tensor].tensor,
               &unit = named(e.units())[tensor].tensor;
  std::vector<std::pair<RowAt, bool>> all;
  bool any = false, others = false;
  const Extents& x = claim.extents();
  for (Index b = 0; b < x.batch; ++b)
    for (Index h = 0; h < x.heads; ++h)
      for (Index row = 0; row < x.rows; ++row) {
        const auto got = row_of(claim, b, h, row), right = row_of(want, b, h, row);
        if (std::ranges::all_of(right, [](double value) { return value == 0; })) continue;
        const bool missing =
            std::ranges::all_of(got, [](double value) { return value == 0 || is_unwritten(value); });
        if (!missing && !same_row(got, right, row_of(unit, b, h, row), e.nearness(), false)) return {};
        any = any || missing;
        others = others || !missing;
        all.push_back({{b, h, row}, missing});
      }
  return any && others ? std::optional(std::move(all)) : std::nullopt;
}

// "the rows from 16 on", and the rows that it selects.
struct MissingLaw {
  std::string words;
  bool one;  // of a single row
  std::function<bool(const RowAt&)> holds;
};

std::vector<MissingLaw> missing_laws(const Evidence& e, const Extents& x, bool of_keys) {
  const std::string row = of_keys ? "keys" : "rows";
  std::vector<MissingLaw> laws;
  const auto add = [&](std::string words, std::function<bool(const RowAt&)> holds, bool one = false) {
    laws.push_back({std::move(words), one, std::move(holds)});
  };
  for (int shard = 0; e.ring != nullptr && shard < e.place.count(); ++shard)
    add("those of rank " + std::to_string(shard), [&e, of_keys, shard](const RowAt& at) {
      return (of_keys ? e.place.owner : e.place.row_owner)[static_cast<std::size_t>(at.row)] == shard;
    });
  const auto& borders = e.problem.mask.cu_seqlens;
  for (std::size_t pack = 0; pack + 1 < borders.size() && borders.size() > 2; ++pack) {
    const auto of_pack = [&e, of_keys, begin = borders[pack], end = borders[pack + 1]](const RowAt& at) {
      const auto position = (of_keys ? e.problem.keys : e.problem.queries)[static_cast<std::size_t>(at.row)];
      return position >= begin && position < end;
    };
    const std::string words = "of packed sequence " + std::to_string(pack);
    add("those " + words, of_pack);
    add("all but those " + words, [of_pack](const RowAt& at) { return !of_pack(at); });
  }
  const auto first = [](Index k, const std::string& one) {
    return k == 1 ? one + " 0" : "the first " + counted(k, one);
  };
  for (Index k = 1; k < x.batch; ++k) {
    add("batch entries from " + std::to_string(k) + " on", [=](const RowAt& at) { return at.batch >= k; });
    add(
        k == 1 ? "batch entry 0" : "the first " + std::to_string(k) + " batch entries",
        [=](const RowAt& at) { return at.batch < k; }, k == 1);
  }
  const Index group = of_keys ? 1 : e.problem.group(), kv_heads = e.problem.kv_heads;
  for (Index k = 1; k < x.heads; ++k)
    add("heads from " + std::to_string(k) + " on" +
            (k == kv_heads && group > 1 ? ", which is the number of KV heads," : ""),
        [=](const RowAt& at) { return at.head >= k; });
  for (Index k = 1; k < x.heads; ++k)
    add(
        first(k, "head"), [=](const RowAt& at) { return at.head < k; }, k == 1);
  if (group > 1) {
    add("all but the first query head of each group", [=](const RowAt& at) { return at.head % group != 0; });
    add("the last query head of each group", [=](const RowAt& at) { return at.head % group == group - 1; });
  }
  for (Index k = 1; k < x.rows; ++k) {
    add(row + " from " + std::to_string(k) + " on", [=](const RowAt& at) { return at.row >= k; });
    add(
        first(k, of_keys ? "key" : "row"), [=](const RowAt& at) { return at.row < k; }, k == 1);
  }
  return laws;
}

// The cause if columns are missing in all rows and all others are right: from one on, or up to one.
std::optional<Cause> cause_of_missing_columns(const Evidence& e, std::size_t tensor) {
  const Buffer &claim = named(e.claim)[tensor].tensor, &want = named(e.oracle.value)[tensor].tensor,
               &unit = named(e.units())[tensor].tensor;
  const Extents& x = claim.extents();
  std::vector<bool> missing(static_cast<std::size_t>(x.width), true), right(missing);
  for (Index b = 0; b < x.batch; ++b)
    for (Index h = 0; h < x.heads; ++h)
      for (Index row = 0; row < x.rows; ++row) {
        const auto got = row_of(claim, b, h, row), should = row_of(want, b, h, row);
        if (std::ranges::all_of(should, [](double value) { return value == 0; })) continue;
        const auto units = row_of(unit, b, h, row);
        for (std::size_t c = 0; c < missing.size(); ++c) {
          missing[c] = missing[c] && (got[c] == 0 || is_unwritten(got[c]));
          right[c] = right[c] && same_row(got.subspan(c, 1), should.subspan(c, 1), units.subspan(c, 1),
                                          e.nearness(), false);
        }
      }
  std::string columns;
  std::size_t count = 0;
  for (std::size_t c = 0; c < missing.size(); ++c) {
    if (missing[c] == right[c]) return {};
    if (!missing[c]) continue;
    if (++count <= 8) columns += (count == 1 ? "" : ", ") + std::to_string(c);
  }
  if (count == 0 || count == missing.size()) return {};
  return Cause{"solved-missing-columns",
               (count == 1 ? "column " : "columns ") + columns + (count > 8 ? ", ..." : "") +
                   (count == 1 ? " is" : " are") +
                   " never computed: zero, or as before; all others are right",
               "Which columns does each loop, thread or lane take, from where to where?"};
}

// The rank whose rows (or keys) alone are missing, if they meet only its own block: then this block's part is
// lost.
std::optional<int> rank_without_own_part(const Evidence& e, bool of_keys,
                                         const std::vector<std::pair<RowAt, bool>>& rows) {
  const auto meet = [&](int shard, int block) {
    const auto &queries = e.place.shards[static_cast<std::size_t>(shard)],
               &keys = e.place.blocks[static_cast<std::size_t>(block)];
    return std::ranges::any_of(queries, [&](Index row) {
      return std::ranges::any_of(keys, [&](Index key) {
        return visible(e.problem.mask, e.problem.queries[static_cast<std::size_t>(row)],
                       e.problem.keys[static_cast<std::size_t>(key)]);
      });
    });
  };
  for (int rank = 0; e.ring != nullptr && rank < e.place.count(); ++rank) {
    const auto& owner = of_keys ? e.place.owner : e.place.row_owner;
    const bool all = std::ranges::all_of(rows, [&](const auto& each) {
      return (owner[static_cast<std::size_t>(each.first.row)] == rank) == each.second;
    });
    bool alone = all;
    for (int other = 0; other < e.place.count() && alone; ++other)
      alone = other == rank || !(of_keys ? meet(other, rank) : meet(rank, other));
    if (alone) return rank;
  }
  return {};
}

// Whether some rank sees nothing of the block that contains this key.
bool is_hidden_from_some(const Evidence& e, Index key) {
  const int block = e.place.owner[static_cast<std::size_t>(key)];
  return std::ranges::any_of(e.place.shards, [&](const std::vector<Index>& shard) {
    return std::ranges::none_of(shard, [&](Index row) {
      return std::ranges::any_of(e.place.blocks[static_cast<std::size_t>(block)], [&](Index other) {
        return visible(e.problem.mask, e.problem.queries[static_cast<std::size_t>(row)],
                       e.problem.keys[static_cast<std::size_t>(other)]);
      });
    });
  });
}

}  // namespace

std::optional<Cause> cause_of_missing(const Evidence& e, std::size_t tensor) {
  const auto rows = missing_rows(e, tensor);
  if (!rows) return cause_of_missing_columns(e, tensor);
  const bool of_keys = tensor > 2;
  const bool dropped = of_keys && e.ring != nullptr && std::ranges::all_of(*rows, [&](const auto& each) {
                         return is_hidden_from_some(e, each.first.row) == each.second;
                       });
  if (dropped)
    return Cause{
        "solved-sum-dropped",
        "the sums of every block of which some rank sees nothing are zero, all others right: such a rank "
        "does not hand on the sum that has arrived",
        "Skipping work is fine; what of the sum that passes through you meanwhile?"};
  if (const auto rank = rank_without_own_part(e, of_keys, *rows))
    return Cause{"solved-missing-own",
                 "rank " + std::to_string(*rank) +
                     " does not add the part of its own block, the only part that its " +
                     (of_keys ? "keys" : "rows") + " have",
                 "What does this rank do at step 0, and what becomes of its result?"};
  for (const MissingLaw& law : missing_laws(e, named(e.claim)[tensor].tensor.extents(), of_keys))
    if (std::ranges::all_of(*rows, [&](const auto& each) { return law.holds(each.first) == each.second; }))
      return Cause{"solved-missing-rows",
                   law.words + (law.one ? " is" : " are") +
                       " never computed: zero, or as it was before; all others are right",
                   "Over which heads, rows and batch entries do your loops run, from where to where?"};
  return {};
}

}  // namespace ringcraft::verify
