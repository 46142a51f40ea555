// Searches the mistakes of a merge kernel for one that explains all of its merges.
#include <algorithm>
#include <cmath>
#include <string>

#include "verify/diagnose/kernels/merge_walk.hpp"

namespace ringcraft::verify {
namespace {

using Merge = MergeWalk;
constexpr double kRelative = 3e-6, kAbsolute = 1e-30;
constexpr double kOfWeight = 1.2e-7;  // of a weight of at most 1, where one is 1 minus the other

// Compares with the resolution of float: near 20000 that ends at the third decimal.
bool is_number(double got, double want, double size, double within) {
  return got == want ||
         (!std::isfinite(got) && !std::isfinite(want) && (std::isnan(got) || std::isnan(want))) ||
         std::fabs(got - want) <= within * size + kAbsolute;
}

bool is_row(const MergeExhibit& x, Index row, const Merge& walk) {
  const MergedRow want = merged_row(x, row, walk);
  const auto i = static_cast<std::size_t>(row);
  const double level = std::isfinite(want.max) ? std::fabs(want.max) : 0;
  if (!is_number(x.result.max[i], want.max, 1 + level, kRelative)) return false;
  const double within = kRelative * (1 + level / 16);
  if (!x.normalized() && !is_number(x.result.sum[i], want.sum, std::fabs(want.sum), within)) return false;
  for (std::size_t c = 0; c < static_cast<std::size_t>(x.cols); ++c) {
    const std::size_t at = i * static_cast<std::size_t>(x.cols) + c;
    const double bare = std::fabs(x.acc.out[at]) + std::fabs(x.block.out[at]);
    if (!is_number(x.result.out[at], want.out[c], want.size[c] + kOfWeight / within * bare, within))
      return false;
  }
  return true;
}

// The merges of one kernel; the wrong rows first.
class OneMerge {
 public:
  OneMerge(const std::vector<MergeExhibit>& merges, bool normalized) {
    for (const MergeExhibit& x : merges)
      if (x.normalized() == normalized)
        for (Index row = 0; row < x.rows; ++row) rows_.emplace_back(&x, row);
    const auto right = std::stable_partition(
        rows_.begin(), rows_.end(), [](const auto& row) { return !is_row(*row.first, row.second, {}); });
    wrong_ = right != rows_.begin();
  }
  bool is_wrong() const { return wrong_; }
  bool is(const Merge& walk) const {
    return std::ranges::all_of(rows_, [&](const auto& row) { return is_row(*row.first, row.second, walk); });
  }

 private:
  std::vector<std::pair<const MergeExhibit*, Index>> rows_;
  bool wrong_;
};

template <class Value, Value Merge::*kField>
void append_merges(std::vector<std::vector<Merge>>& all, Value last) {
  std::vector<Merge> walks;
  for (int i = 1; i <= static_cast<int>(last); ++i) {
    Merge walk;
    walk.*kField = static_cast<Value>(i);
    walks.push_back(walk);
  }
  all.push_back(std::move(walks));
}

std::vector<std::vector<Merge>> merge_topics() {
  std::vector<std::vector<Merge>> all;
  append_merges<Merge::Empty, &Merge::empty>(all, Merge::Empty::kNumbersKept);
  append_merges<Merge::Exponent, &Merge::exponent>(all, Merge::Exponent::kDoubled);
  append_merges<Merge::Weight, &Merge::weight>(all, Merge::Weight::kOutBothOld);
  append_merges<Merge::Sum, &Merge::sum>(all, Merge::Sum::kExchanged);
  append_merges<Merge::Lse, &Merge::lse>(all, Merge::Lse::kAccKept);
  append_merges<Merge::Norm, &Merge::norm>(all, Merge::Norm::kProduct);
  append_merges<Merge::Largest, &Merge::largest>(all, Merge::Largest::kNone);
  append_merges<Merge::Dropped, &Merge::dropped>(all, Merge::Dropped::k20);
  append_merges<Merge::Columns, &Merge::columns>(all, Merge::Columns::kFirstGroup);
  append_merges<Merge::Pair, &Merge::pair>(all, Merge::Pair::kOutAlone);
  append_merges<Merge::Row, &Merge::row>(all, Merge::Row::kOfPair);
  const std::vector<Merge> whole = all.back();
  for (const auto of : {Merge::Of::kOut, Merge::Of::kMax, Merge::Of::kSum, Merge::Of::kNumbers})
    for (Merge walk : whole) walk.of = of, all.back().push_back(walk);
  return all;
}

Merge both(Merge a, const Merge& b) {
  const Merge right;
  const auto take = [&](auto... fields) {
    ((b.*fields != right.*fields ? void(a.*fields = b.*fields) : void()), ...);
  };
  take(&Merge::row, &Merge::of, &Merge::pair, &Merge::largest, &Merge::exponent, &Merge::weight, &Merge::sum,
       &Merge::lse, &Merge::norm, &Merge::empty, &Merge::dropped, &Merge::columns);
  return a;
}

std::optional<Cause> cause_of_kernel(const OneMerge& kernel, bool normalized) {
  const std::vector<std::vector<Merge>> all = merge_topics();
  for (const auto& topic : all)
    for (const Merge& walk : topic)
      if (kernel.is(walk)) return causes_of_walk(walk, normalized).front();
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = a + 1; b < all.size(); ++b)
      for (const Merge& first : all[a])
        for (const Merge& second : all[b]) {
          if (!kernel.is(both(first, second))) continue;
          const std::vector<Cause> causes = causes_of_walk(both(first, second), normalized);
          if (causes.size() < 2) continue;
          Cause cause = causes.front();
          cause.sentence += "; and " + causes[1].sentence;
          return cause;
        }
  return {};
}

}  // namespace

std::optional<Cause> cause_of_merges(const std::vector<MergeExhibit>& merges) {
  std::optional<Cause> all;
  for (const bool normalized : {false, true}) {
    const OneMerge kernel(merges, normalized);
    if (!kernel.is_wrong()) continue;
    const auto cause = cause_of_kernel(kernel, normalized);
    if (!cause) return {};
    if (all && all->sentence != cause->sentence)
      all->sentence += "; and in merge_normalized, " + cause->sentence;
    if (!all) all = cause;
  }
  return all;
}

}  // namespace ringcraft::verify
