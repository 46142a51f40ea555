// Lists rows that may be read instead of the right one: of other heads, ranks and places of a shard.
#include "verify/diagnose/solve/ring/other_rows.hpp"

namespace ringcraft::verify {

std::vector<OtherRow> rows_of_other_heads(const Evidence& e) {
  std::vector<OtherRow> all;
  const auto add = [&](const char* words, auto change) {
    all.push_back({words, [change](RowPlace row) {
                     change(row);
                     return row;
                   }});
  };
  const Index heads = e.problem.heads, batches = e.problem.batch;
  if (heads > 1) {
    add("head 0", [](RowPlace& row) { row.head = 0; });
    add("the last head", [=](RowPlace& row) { row.head = heads - 1; });
    add("the next head", [=](RowPlace& row) { row.head = (row.head + 1) % heads; });
    add("the head before", [=](RowPlace& row) { row.head = (row.head + heads - 1) % heads; });
  }
  if (batches > 1) {
    add("batch entry 0", [](RowPlace& row) { row.batch = 0; });
    add("the next batch entry", [=](RowPlace& row) { row.batch = (row.batch + 1) % batches; });
  }
  return all;
}

std::vector<OtherRow> rows_of_shard(const Evidence& e) {
  std::vector<OtherRow> all;
  const auto add = [&](const char* words, auto place) {
    all.push_back({words, [&e, place](RowPlace row) {
                     const auto at = static_cast<std::size_t>(row.row);
                     const auto& shard = e.place.shards[static_cast<std::size_t>(e.place.row_owner[at])];
                     const auto size = static_cast<Index>(shard.size());
                     row.row = shard[static_cast<std::size_t>(place(e.place.row_local[at], size))];
                     return row;
                   }});
  };
  add("the next row of the shard", [](Index i, Index size) { return (i + 1) % size; });
  add("the row before in the shard", [](Index i, Index size) { return (i + size - 1) % size; });
  add("the first row of the shard", [](Index, Index) { return Index{0}; });
  add("the last row of the shard", [](Index, Index size) { return size - 1; });
  add("the shard's row from the other end", [](Index i, Index size) { return size - 1 - i; });
  return all;
}

std::vector<OtherRow> rows_of_other_ranks(const Evidence& e) {
  std::vector<OtherRow> all;
  const int n = e.place.count();
  for (int by = 1; by < n; ++by)
    all.push_back({by == n - 1 ? "rank r - 1" : "rank r + " + std::to_string(by),
                   [&e, by](RowPlace row) -> std::optional<RowPlace> {
                     const auto at = static_cast<std::size_t>(row.row);
                     const int rank = e.place.wrapped(e.place.row_owner[at] + by);
                     const auto& shard = e.place.shards[static_cast<std::size_t>(rank)];
                     const auto local = static_cast<std::size_t>(e.place.row_local[at]);
                     if (local >= shard.size()) return {};
                     row.row = shard[local];
                     return row;
                   }});
  return all;
}

}  // namespace ringcraft::verify
