// Finds equal rows of q and of k by hashing their bytes, since equal rows are rounded alike.
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "verify/oracle/oracle_detail.hpp"

namespace ringcraft::verify {
namespace {

using Known = std::unordered_map<std::string_view, int>;  // class of each row, keyed by its bytes

// Gives equal rows the same number; rows not known yet get the next ones.
std::vector<int> classes_of(const Matrix<const double>& rows, Known& known) {
  std::vector<int> classes;
  for (Index i = 0; i < rows.rows; ++i) {
    const auto row = rows.row(i);
    const std::string_view bytes(reinterpret_cast<const char*>(row.data()), row.size_bytes());
    classes.push_back(known.emplace(bytes, static_cast<int>(known.size())).first->second);
  }
  return classes;
}

bool all_zero(std::span<const double> row) {
  return std::ranges::all_of(row, [](double x) { return x == 0; });
}

}  // namespace

Repeats repeats_of(const Matrix<const double>& q, const Matrix<const double>& k) {
  Known keys, queries;
  Repeats repeats{.key_class = classes_of(k, keys)};
  const bool one_key = keys.size() == 1;
  if (static_cast<Index>(keys.size()) == k.rows) repeats.key_class.clear();
  const std::vector<int> query_class = classes_of(q, queries);
  std::vector<double> count(query_class.size(), 0);
  for (const int c : query_class) ++count[static_cast<std::size_t>(c)];
  for (Index i = 0; i < q.rows; ++i) {
    const int c = query_class[static_cast<std::size_t>(i)];
    repeats.same_query.push_back(one_key ? static_cast<double>(q.rows) : count[static_cast<std::size_t>(c)]);
    repeats.flat.push_back(one_key || all_zero(q.row(i)));
  }
  return repeats;
}

double rows_for_each_unlike(const Buffer& q) {
  Known known;
  const Extents& e = q.extents();
  for (Index batch = 0; batch < e.batch; ++batch)
    for (Index head = 0; head < e.heads; ++head) classes_of(head_of<double>(q, batch, head), known);
  return known.empty() ? 1
                       : static_cast<double>(e.batch * e.heads * e.rows) / static_cast<double>(known.size());
}

}  // namespace ringcraft::verify
