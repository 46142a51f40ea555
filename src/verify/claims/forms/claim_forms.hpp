#pragma once
/// @file
/// Reads the tensors of a claim in forms that other libraries write: other orders of axes, padded rows, one
/// file with the rows of each rank. A tensor with only one possible reading is read that way, which the
/// report states; any other is refused with the Python that fixes it.

#include <vector>

#include "verify/claims/forms/claim_files.hpp"
#include "verify/claims/forms/input_forms.hpp"
#include "verify/claims/forms/row_order.hpp"

namespace ringcraft::verify {

/// The problem that a claim answers.
struct ClaimShape {
  Shape shape;                       ///< of the problem; its head_dim is widths.padded()
  Widths widths;                     ///< that the files have
  std::string_view order;            ///< of the inputs: where two orders are possible, that one is meant
  std::vector<Position> cu_seqlens;  ///< of the inputs: decides where two orders are possible
  bool gradients = true;             ///< whether there is a dout to judge gradients by
};

/// The tensors of a claim, read.
struct ReadClaim {
  Answer answer;                      ///< the tensors that the claim has; widths padded with zeros
  std::vector<Reading> readings;      ///< how each was read
  std::vector<std::string> unjudged;  ///< gradients that the claim has, without a dout to judge them by
};

/// Reads those of out, lse, dq, dk, dv that the files have; at least one must exist.
ReadClaim read_claim(const ClaimFiles& files, const RowOrder& order, const ClaimShape& about);

/// The heads of the claim's lse, if it is [batch, heads, seqlen]; empty if it has no lse of three dimensions.
std::optional<Index> heads_of_lse(const ClaimFiles& files);

/// One way to read one tensor across all files.
struct Form {
  AxisOrder order;             ///< of its axes
  std::vector<Stored> stored;  ///< for each file
  Places places;               ///< positions of the rows of each file
  Index padding = 0;           ///< rows without a position

  /// Whether elements end up in the same positions.
  bool same_as(const Form& other) const { return stored == other.stored && places == other.places; }
};

/// One tensor across all files.
struct StoredTensor {
  std::string name;                        ///< "out"
  std::vector<std::vector<Index>> shapes;  ///< for each file
  Extents want;                            ///< of the whole tensor; width as in the file
};

/// All ways to read it, the likeliest first: forms without padding, if there are any; among those the
/// documented order, or that of the inputs. `others`, if known, are the row counts of the other tensors in
/// each file: lse has the same, or more.
std::vector<Form> forms_of(const StoredTensor& tensor, const RowOrder& order, const ClaimShape& about,
                           const std::optional<std::vector<Index>>& others);

/// Refuses a tensor that has no form.
[[noreturn]] void refuse_form(const StoredTensor& tensor, const std::string& place, const RowOrder& order,
                              const ClaimShape& about);
/// Refuses a tensor that has two forms, none of which is documented.
[[noreturn]] void refuse_forms(const StoredTensor& tensor, const std::string& place, const Form& a,
                               const Form& b);

}  // namespace ringcraft::verify
