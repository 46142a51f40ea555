// Reads the flags and files of a claim.
#include "tool/attention/given_claim.hpp"

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::tool {
namespace {

// How many virtual ranks the layout of the dump deals to.
int virtual_ranks_of(const verify::ClaimLayout& layout, const ClaimFlags& flags,
                     const verify::ClaimFiles& files) {
  if (layout.virtual_ranks > 0) return layout.virtual_ranks;
  if (files.per_rank) return static_cast<int>(files.paths.size());
  if (!flags.ranks_typed)
    throw Error("--claim-layout", "the number of ranks whose rows stand one after the other",
                shown(flags.layout), "add --ranks N, or write " + shown(flags.layout) + ":N");
  return flags.deal.checked_ranks();
}

verify::RowOrder row_order(const verify::ClaimLayout& layout, const ClaimFlags& flags,
                           const verify::ClaimFiles& files, Position seqlen,
                           const std::vector<Position>& cu_seqlens) {
  const std::size_t count = files.paths.size();
  if (layout.layout)
    return verify::RowOrder(*layout.layout, seqlen, virtual_ranks_of(layout, flags, files), count,
                            cu_seqlens);
  if (!layout.text.empty()) return verify::RowOrder(layout.positions, count);
  if (count > 1)
    throw Error("--claim-layout", "the layout of " + counted(count, "file"), "none",
                "add --claim-layout zigzag (or striped, zigzag-token, contiguous, or a file that lists "
                "positions)");
  return verify::RowOrder(seqlen);
}

void require_ranks(const verify::ClaimLayout& layout, const ClaimFlags& flags,
                   const verify::ClaimFiles& files) {
  const int count = static_cast<int>(files.paths.size());
  if (!files.per_rank || !flags.ranks_typed || flags.deal.ranks == count ||
      flags.deal.ranks == layout.virtual_ranks)
    return;
  throw Error("--ranks", "the number of files, " + std::to_string(count), std::to_string(flags.deal.ranks),
              "leave it out, or dump every rank; rows of virtual ranks are --claim-layout zigzag:8");
}

// "4 files, one for each rank, in the order of zigzag"; `ranks` are those of the ring.
std::string words_of(const verify::ClaimLayout& layout, const verify::ClaimFiles& files, int virtual_ranks,
                     int ranks, const std::vector<Position>& cu_seqlens) {
  const int count = static_cast<int>(files.paths.size());
  std::string text = files.per_rank ? counted(count, "file") + ", one for each rank" : "";
  if (layout.text.empty()) return text;
  text += text.empty() ? "rows in the order of " : ", in the order of ";
  if (!layout.layout) return text + shown(layout.text);
  text += described(Sharding{*layout.layout, 0, 1, cu_seqlens});
  if (!files.per_rank) return text + " over " + counted(virtual_ranks, "rank");
  if (virtual_ranks == count) return text;
  text += " over " + counted(virtual_ranks, "virtual rank") + ", " + std::to_string(virtual_ranks / count) +
          " in each file";
  return ranks == virtual_ranks ? text + "; ranks are virtual ones here" : text;
}

}  // namespace

GivenClaim given_claim(const ClaimFlags& flags, Position seqlen, const std::vector<Position>& cu_seqlens) {
  const verify::ClaimFiles files = verify::files_of_claim(flags.claim);
  const verify::ClaimLayout layout = verify::claim_layout_of(flags.layout, seqlen);
  require_ranks(layout, flags, files);
  const int count = static_cast<int>(files.paths.size());
  const int virtual_ranks = layout.layout ? virtual_ranks_of(layout, flags, files) : count;
  GivenClaim given{files, row_order(layout, flags, files, seqlen, cu_seqlens), flags.deal,
                   verify::Ranks::kUnknown, ""};
  const bool ring_of_dump = layout.layout.has_value() || files.per_rank;
  if (ring_of_dump && !flags.ranks_typed) given.deal.ranks = virtual_ranks;
  if (layout.layout && !flags.layout_typed) given.deal.layout = name_of(*layout.layout);
  if (flags.ranks_typed || flags.layout_typed || layout.layout) given.ranks = verify::Ranks::kKnown;
  given.rows = words_of(layout, files, virtual_ranks, given.deal.ranks, cu_seqlens);
  return given;
}

}  // namespace ringcraft::tool
