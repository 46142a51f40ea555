// Lists other orders for the rows of a wrong claim: every layout over the plausible numbers of ranks, and the
// plain order of the sequence, each with the option that selects it.
#include "verify/claims/other_rows.hpp"

#include "ringcraft/core/error.hpp"

namespace ringcraft::verify {
namespace {

// Numbers of ranks over which the rows of these files may have been distributed.
std::vector<int> numbers_of_ranks(const ClaimFiles& files, int ranks) {
  const int count = static_cast<int>(files.paths.size());
  if (files.per_rank && count > 1) return {count, 2 * count};
  return {ranks, 2, 3, 4, 6, 8};
}

}  // namespace

std::vector<OtherRows> other_rows(const ClaimFiles& files, const RowOrder& order, int ranks,
                                  const ClaimShape& about) {
  std::vector<OtherRows> others;
  const auto add = [&](const std::string& remedy, const RowOrder& other) {
    others.push_back({remedy, [files, other, about] {
                        try {
                          return read_claim(files, other, about).answer;
                        } catch (const Error&) {  // these rows do not fit that order
                          return Answer();
                        }
                      }});
  };
  const int count = static_cast<int>(files.paths.size());
  const Position seqlen = about.shape.seqlen;
  for (const int number : numbers_of_ranks(files, ranks))
    for (const Layout layout : kLayouts) {
      if (count == 1 && (layout == Layout::kContiguous || number < 2)) continue;  // the order of the sequence
      add("write --claim-layout " + std::string(name_of(layout)) +
              (files.per_rank && number == count ? "" : ":" + std::to_string(number)),
          RowOrder(layout, seqlen, number, files.paths.size()));
    }
  if (count > 1 && !about.cu_seqlens.empty())
    for (const Layout layout : kLayouts)
      add("write --claim-layout " + std::string(name_of(layout)) + " and --per-sequence",
          RowOrder(layout, seqlen, count, files.paths.size(), about.cu_seqlens));
  if (count == 1) add("leave --claim-layout out", RowOrder(seqlen));
  if (count > 1)
    add("write the rows of each rank alone, without the padding at their end", order.padded_in_files());
  return others;
}

}  // namespace ringcraft::verify
