// Which forms a tensor of a claim can have (see claim_forms.hpp).
#include <algorithm>

#include "tool/claims/claim_forms.hpp"

namespace ringcraft::tool {
namespace {

// The tensor of every file in this order; nothing if one of them does not fit.
std::optional<std::vector<Stored>> stored_in(std::string_view code, const StoredTensor& tensor) {
  std::vector<Stored> all;
  for (const auto& shape : tensor.shapes) {
    const auto stored = read_as(code, shape, tensor.want);
    if (!stored) return {};
    all.push_back(*stored);
  }
  return all;
}

std::vector<Index> rows_of(const std::vector<Stored>& stored) {
  std::vector<Index> counts;
  for (const Stored& file : stored) counts.push_back(file.rows);
  return counts;
}

// Whether each number is the other, rounded up to a multiple of a power of two: kernels that work on tiles
// write lse so.
bool rounded_up(const std::vector<Index>& counts, const std::vector<Index>& from) {
  if (counts.size() != from.size()) return false;
  for (Index tile = 8; tile <= 512; tile *= 2) {
    bool all = true;
    for (std::size_t i = 0; i < counts.size(); ++i)
      all = all && counts[i] == (from[i] + tile - 1) / tile * tile;
    if (all) return true;
  }
  return false;
}

// Rows beyond those of each file's own are padding.
Places with_padding(Places places, const std::vector<Index>& counts) {
  for (std::size_t i = 0; i < counts.size(); ++i)
    places[i].resize(static_cast<std::size_t>(counts[i]), Position{-1});
  return places;
}

std::optional<Places> tile_padded(const RowOrder& order, const std::vector<Index>& counts,
                                  const std::optional<std::vector<Index>>& known) {
  if (!known || !rounded_up(counts, *known)) return {};
  auto places = order.places(*known);
  if (!places) places = order.padded_places(*known);
  if (!places) return {};
  return with_padding(std::move(*places), counts);
}

Index padding_in(const Places& places, Position seqlen) {
  Index padding = 0;
  for (const auto& rows : places)
    padding += std::ranges::count_if(rows, [=](Position p) { return p < 0 || p >= seqlen; });
  return padding;
}

// How much a form takes for granted: the less the better.
enum class Effort { kNone, kPaddedSequence, kPaddedRows };

std::optional<Places> placed(const RowOrder& order, const std::vector<Index>& counts, Effort effort,
                             const std::optional<std::vector<Index>>& known) {
  switch (effort) {
    case Effort::kNone:
      return order.places(counts);
    case Effort::kPaddedSequence:
      return order.padded_places(counts);
    case Effort::kPaddedRows:
      return tile_padded(order, counts, known);
  }
  return {};
}

}  // namespace

std::vector<Form> forms_of(const StoredTensor& tensor, const RowOrder& order, const ClaimShape& about,
                           const std::optional<std::vector<Index>>& counts) {
  const bool lse = tensor.name == "lse";
  std::vector<Form> forms;
  for (const Effort effort : {Effort::kNone, Effort::kPaddedSequence, Effort::kPaddedRows}) {
    if (effort == Effort::kPaddedRows && !lse) continue;
    for (const AxisOrder& axes : lse ? lse_orders() : wide_orders()) {
      auto stored = stored_in(axes.code, tensor);
      if (!stored) continue;
      auto places = placed(order, rows_of(*stored), effort, counts ? counts : order.counts());
      if (!places) continue;
      const Index padding = padding_in(*places, about.shape.seqlen);
      Form form{axes, std::move(*stored), std::move(*places), padding};
      if (std::ranges::none_of(forms, [&](const Form& known) { return known.same_as(form); }))
        forms.push_back(std::move(form));
    }
    if (!forms.empty()) break;
  }
  std::ranges::stable_partition(forms, [&](const Form& form) { return form.order.code == about.order; });
  return forms;
}

}  // namespace ringcraft::tool
