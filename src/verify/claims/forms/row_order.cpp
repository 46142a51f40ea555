// Maps each row of a claim's files to its token: deals a layout's positions to the files, with or without
// padding, and suggests another layout if the counts do not fit.
#include "verify/claims/forms/row_order.hpp"

#include <algorithm>
#include <numeric>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::verify {
namespace {

std::vector<Index> counts_of(const Places& places) {
  std::vector<Index> counts;
  for (const auto& rows : places) counts.push_back(static_cast<Index>(rows.size()));
  return counts;
}

Index sum_of(const std::vector<Index>& counts) {
  return std::accumulate(counts.begin(), counts.end(), Index{0});
}

// "7, 6, 6, 6"; only the first few of a long list.
std::string first_of(const std::vector<Index>& counts) {
  constexpr std::size_t kMost = 12;
  if (counts.size() <= kMost) return listed(counts);
  return listed(std::vector<Index>(counts.begin(), counts.begin() + kMost)) + ", ...";
}

// Marks rows after each file's own as padding; empty if a file has fewer.
std::optional<Places> with_rest(Places places, const std::vector<Index>& counts) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] < static_cast<Index>(places[i].size()) || counts[i] != counts[0]) return {};
    places[i].resize(static_cast<std::size_t>(counts[i]), Position{-1});
  }
  return places;
}

}  // namespace

RowOrder RowOrder::padded_in_files() const {
  RowOrder other = *this;
  other.padded_in_files_ = true;
  return other;
}

RowOrder::RowOrder(Layout layout, Position seqlen, int virtual_ranks, std::size_t files,
                   std::vector<Position> cu_seqlens)
    : layout_(layout),
      seqlen_(seqlen),
      virtual_ranks_(virtual_ranks),
      files_(files),
      cu_seqlens_(std::move(cu_seqlens)) {
  if (virtual_ranks < 1 || static_cast<std::size_t>(virtual_ranks) % files != 0)
    throw Error("--claim-layout", "a number of virtual ranks that " + counted(files, "file") + " divide",
                std::to_string(virtual_ranks),
                "write " + std::string(name_of(layout)) + ":" + std::to_string(2 * files) + ", say");
}

RowOrder::RowOrder(std::vector<Position> positions, std::size_t files)
    : seqlen_(static_cast<Position>(positions.size())), files_(files), positions_(std::move(positions)) {}

Places RowOrder::dealt(Position seqlen) const {
  const Sharding sharding = this->sharding(seqlen);
  const int per_file = virtual_ranks_ / static_cast<int>(files_);
  Places places(files_);
  for (int rank = 0; rank < virtual_ranks_; ++rank) {
    const std::vector<Position> rows = sharding.positions(rank);
    auto& file = places[static_cast<std::size_t>(rank / per_file)];
    file.insert(file.end(), rows.begin(), rows.end());
  }
  return places;
}

std::optional<std::vector<Index>> RowOrder::counts() const {
  if (layout_) return counts_of(dealt(seqlen_));
  if (files_ == 1) return std::vector<Index>{seqlen_};
  return {};
}

std::optional<Places> RowOrder::places(const std::vector<Index>& counts) const {
  if (layout_) {
    Places places = dealt(seqlen_);
    return counts_of(places) == counts ? std::optional(std::move(places)) : std::nullopt;
  }
  if (sum_of(counts) != seqlen_) return {};
  Places places;
  auto next = positions_.begin();
  for (const Index count : counts) {
    places.emplace_back(next, next + count);
    next += count;
  }
  return places;
}

std::optional<Places> RowOrder::padded_places(const std::vector<Index>& counts) const {
  const Index padded = sum_of(counts);
  if (!layout_ || whole_ || padded <= seqlen_ || counts.size() != files_) return {};
  if (padded_in_files_) return with_rest(dealt(seqlen_), counts);
  if (!cu_seqlens_.empty()) return {};  // every sequence would have a padding of its own
  // Chunks of equal length: padding that still leaves a remainder serves no purpose.
  const Index parts = virtual_ranks_ * (*layout_ == Layout::kZigzag ? 2 : 1);
  if (padded % parts != 0) return {};
  Places places = dealt(padded);
  return counts_of(places) == counts ? std::optional(std::move(places)) : std::nullopt;
}

std::string RowOrder::expected() const {
  if (!layout_) return counted(seqlen_, "row") + " in all, as many as --claim-layout lists positions";
  if (whole_) return counted(seqlen_, "row");
  return first_of(*counts()) + " rows (" + described(sharding(seqlen_)) + " over " +
         counted(virtual_ranks_, virtual_ranks_ == static_cast<int>(files_) ? "rank" : "virtual rank") +
         ", " + counted(seqlen_, "token") + ")";
}

std::string RowOrder::advice(const std::vector<Index>& counts) const {
  const int ranks = static_cast<int>(files_);
  const bool alike = std::ranges::all_of(counts, [&](Index count) { return count == counts[0]; });
  if (layout_ == Layout::kZigzag && alike && sum_of(counts) > seqlen_)
    return "zigzag cuts two chunks for each rank: pad the sequence to a multiple of " +
           std::to_string(2 * virtual_ranks_) +
           " tokens, or list the position of every row (-1: padding) in a text, and give it as "
           "--claim-layout";
  for (const Layout layout : kLayouts)
    for (const int virtual_ranks : {virtual_ranks_, ranks, 2 * ranks}) {
      if (!layout_ || whole_ || virtual_ranks % ranks != 0) continue;
      const RowOrder other(layout, seqlen_, virtual_ranks, files_, cu_seqlens_);
      if (!other.places(counts) && !other.padded_places(counts)) continue;
      return "these rows fit --claim-layout " + std::string(name_of(layout)) +
             (virtual_ranks == ranks ? "" : ":" + std::to_string(virtual_ranks));
    }
  if (whole_) return "";
  return "no layout of the command line has such rows: list the position of every row in a text, and give it "
         "as --claim-layout, or dump the gathered rows of the whole sequence";
}

}  // namespace ringcraft::verify
