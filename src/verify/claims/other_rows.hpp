#pragma once
/// @file
/// The rows of a wrong claim in other orders: an answer that is right in one of them was written, or read, in
/// the wrong order.

#include <functional>
#include <string>
#include <vector>

#include "verify/claims/forms/claim_forms.hpp"

namespace ringcraft::verify {

/// The same files with their rows in another order.
struct OtherRows {
  std::string remedy;            ///< what a person has to do about it: "write --claim-layout striped"
  std::function<Answer()> read;  ///< empty if their rows do not fit that order
};

/// The other orders in which files that were read in `order` may have their rows. `ranks` are those of the
/// ring, to which one file's rows may have been dealt.
std::vector<OtherRows> other_rows(const ClaimFiles& files, const RowOrder& order, int ranks,
                                  const ClaimShape& about);

}  // namespace ringcraft::verify
