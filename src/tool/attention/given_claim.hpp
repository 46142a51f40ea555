#pragma once
// A claim, from --claim, --claim-layout, --ranks and --layout: its files, their rows, and the ring in which
// the diagnosis looks for a mistake.

#include <string>

#include "tool/commands/options.hpp"
#include "verify/claims/forms/claim_files.hpp"
#include "verify/claims/forms/row_order.hpp"
#include "verify/diagnose/diagnose.hpp"

namespace ringcraft::tool {

// The flags as typed, and whether --ranks and --layout were given.
struct ClaimFlags {
  std::string claim, layout;  // --claim, --claim-layout
  DealOptions deal;
  bool ranks_typed = false, layout_typed = false;
};

struct GivenClaim {
  verify::ClaimFiles files;
  verify::RowOrder order;
  DealOptions deal;     // that of the dump where the flags name none
  verify::Ranks ranks;  // whether they say in which ring it was computed
  std::string rows;     // "4 files in zigzag, a file for each rank"; empty: rows of the whole sequence
};

// Throws Error where flags contradict each other or the files. `cu_seqlens` are the borders of packed
// sequences that are dealt each by itself; else empty.
GivenClaim given_claim(const ClaimFlags& flags, Position seqlen, const std::vector<Position>& cu_seqlens);

}  // namespace ringcraft::tool
