#pragma once
/// @file
/// Offers a wrong claim's rows in other orders: an answer that is right in one of them was written, or read,
/// in the wrong order.

#include <functional>
#include <string>
#include <vector>

#include "verify/claims/forms/claim_forms.hpp"

namespace ringcraft::verify {

/// The same files with their rows in another order.
struct OtherRows {
  std::string remedy;            ///< how to fix it: "write --claim-layout striped"
  std::function<Answer()> read;  ///< empty if the rows do not fit that order
};

/// Other possible orders of the rows in files that were read in `order`. `ranks` is the size of the ring over
/// which one file's rows may have been distributed.
std::vector<OtherRows> other_rows(const ClaimFiles& files, const RowOrder& order, int ranks,
                                  const ClaimShape& about);

}  // namespace ringcraft::verify
