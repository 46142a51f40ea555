// Lists the forms that a tensor of a claim can have: tries every order of axes, first without padding, then
// with a padded sequence, then with padded rows, and stops at the first effort that fits.
#include <algorithm>

#include "verify/claims/forms/claim_forms.hpp"

namespace ringcraft::verify {
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

// Whether each number is the other rounded up to a multiple of a power of two: kernels that work on tiles
// write lse with such counts.
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

// Marks rows beyond each file's own as padding.
Places with_padding(Places places, const std::vector<Index>& counts) {
  for (std::size_t i = 0; i < counts.size(); ++i)
    places[i].resize(static_cast<std::size_t>(counts[i]), Position{-1});
  return places;
}

// Positions of the rows for these counts, with or without padding of the sequence.
std::optional<Places> places_of(const RowOrder& order, const std::vector<Index>& counts) {
  auto places = order.places(counts);
  return places ? places : order.padded_places(counts);
}

std::optional<Places> tile_padded(const RowOrder& order, const std::vector<Index>& counts,
                                  const std::optional<std::vector<Index>>& own) {
  if (!own || !rounded_up(counts, *own)) return {};
  auto places = places_of(order, *own);
  if (!places) return {};
  return with_padding(std::move(*places), counts);
}

Index padding_in(const Places& places, Position seqlen) {
  Index padding = 0;
  for (const auto& rows : places)
    padding += std::ranges::count_if(rows, [=](Position p) { return p < 0 || p >= seqlen; });
  return padding;
}

// How much a form assumes: less is better.
enum class Effort { kNone, kPaddedSequence, kPaddedRows };

// Positions of the rows for these counts. `others`, if known, are the counts of the claim's other tensors:
// lse has the same, or more.
std::optional<Places> placed(const RowOrder& order, const std::vector<Index>& counts, Effort effort,
                             const std::optional<std::vector<Index>>& others) {
  switch (effort) {
    case Effort::kNone:
      if (!others) return order.places(counts);
      return counts == *others ? places_of(order, counts) : std::nullopt;
    case Effort::kPaddedSequence:
      return others ? std::nullopt : order.padded_places(counts);
    case Effort::kPaddedRows:
      return tile_padded(order, counts, others ? others : order.counts());
  }
  return {};
}

// Adds the forms that need this much effort.
void add_forms(std::vector<Form>& forms, const StoredTensor& tensor, const RowOrder& order, Effort effort,
               const ClaimShape& about, const std::optional<std::vector<Index>>& others) {
  for (const AxisOrder& axes : tensor.name == "lse" ? lse_orders() : wide_orders()) {
    auto stored = stored_in(axes.code, tensor);
    if (!stored) continue;
    auto places = placed(order, rows_of(*stored), effort, others);
    if (!places) continue;
    const Index padding = padding_in(*places, about.shape.seqlen);
    Form form{axes, std::move(*stored), std::move(*places), padding};
    if (std::ranges::none_of(forms, [&](const Form& known) { return known.same_as(form); }))
      forms.push_back(std::move(form));
  }
}

}  // namespace

std::vector<Form> forms_of(const StoredTensor& tensor, const RowOrder& order, const ClaimShape& about,
                           const std::optional<std::vector<Index>>& others) {
  const bool lse = tensor.name == "lse";
  const auto known = lse ? others : std::nullopt;  // each other tensor is searched for padding on its own
  std::vector<Form> forms;
  add_forms(forms, tensor, order, Effort::kNone, about, known);
  if (forms.empty()) {  // padded at the end of the sequence, or of each file: the row count may allow both
                        // both
    add_forms(forms, tensor, order, Effort::kPaddedSequence, about, known);
    if (lse) add_forms(forms, tensor, order, Effort::kPaddedRows, about, known);
  }
  std::ranges::stable_partition(forms, [&](const Form& form) { return form.order.code == about.order; });
  return forms;
}

}  // namespace ringcraft::verify
