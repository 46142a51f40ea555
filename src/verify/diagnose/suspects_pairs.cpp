// Lists the masks by other laws for a problem: places, packed sequences, distances, cuts of blocks, and tests
// that skip tiles.
#include <cstdlib>
#include <string>

#include "verify/diagnose/suspects.hpp"

namespace ringcraft::verify {
namespace {

using Places = PairLaw::Places;
using Packs = PairLaw::Packs;
using Compared = PairLaw::Compared;
using Cut = PairLaw::Cut;

// A member of a law with its words; empty words for the right value.
template <class Member>
struct Worded {
  Member member;
  const char* words;
};

constexpr Worded<Places> kPlaces[] = {
    {Places::kRight, ""},
    {Places::kRoundedUp,
     "the mask takes the positions of a rank as rank * ceil(seqlen / ranks) + local row, though shards "
     "differ in length"},
    {Places::kRoundedDown,
     "the mask takes the positions of a rank as rank * floor(seqlen / ranks) + local row, though shards "
     "differ in length"},
    {Places::kOwnLength,
     "the mask takes the positions of a rank as rank * the length of its own shard + local row, though "
     "shards differ in length"},
    {Places::kQueryLength,
     "the mask takes the block of rank r to begin at r * the length of the queries' shard, though shards "
     "differ in length"},
    {Places::kStepsBehind,
     "the mask takes the block of step t to stand t shards before the queries, also where the ring wraps "
     "round: blocks of later ranks count as past ones"},
    {Places::kRanksApart,
     "the mask takes the distance of two shards without its sign: blocks of later ranks count as past ones"},
    {Places::kContiguous, "the mask takes every shard for a run of neighbouring positions"},
    {Places::kStriped, "the mask takes the rows of a rank for every `ranks`-th token (striped)"},
    {Places::kZigzag, "the mask takes a shard for an early and a late chunk (zigzag)"},
    {Places::kZigzagToken, "the mask takes the tokens to be dealt in turns to and fro (zigzag by tokens)"},
    {Places::kZigzagOfEqual, "the mask takes all chunks to have floor(seqlen / (2 * ranks)) tokens"},
    {Places::kZigzagMiddle,
     "the mask takes a shard to be cut in its middle, at half its rows, though its two chunks differ in "
     "length"},
    {Places::kRestartRows,
     "positions restart at every packed sequence, and those of the queries also where a shard begins inside "
     "one"},
    {Places::kRestartKeys,
     "positions restart at every packed sequence, and those of the keys also where a block begins inside "
     "one"},
    {Places::kRestartBoth,
     "positions restart at every packed sequence, and also where a shard begins inside one"},
};
constexpr Worded<Places> kAligned[] = {
    {Places::kEndOfAll,
     "the mask takes the rows of a shard for the last ones of the sequence: it is aligned at the bottom "
     "right "
     "of all keys"},
    {Places::kEndOfGathered,
     "the mask takes the rows of a shard for neighbours that end with its last token: it is aligned at the "
     "bottom right of all keys up to there"},
    {Places::kStartOfWindow,
     "the mask takes the rows of a shard for the first ones of the keys from W before them on: it is aligned "
     "at the top left of these keys"},
    {Places::kChunkTop,
     "the mask takes the rows of a chunk for the first ones of the sequence: it is aligned at the top left "
     "of "
     "all keys"},
    {Places::kChunkEndOfAll,
     "the mask takes the rows of a chunk for the last ones of the sequence: it is aligned at the bottom "
     "right "
     "of all keys"},
    {Places::kChunkStartOfWindow,
     "the mask takes the rows of a chunk for the first ones of the keys from W before them on: it is aligned "
     "at the top left of these keys"},
    {Places::kHaloShort,
     "a shard gets W - 1 keys from before its first row instead of W: its first query misses the farthest "
     "key of its window"},
};
constexpr Worded<Packs> kPacks[] = {
    {Packs::kRight, ""},
    {Packs::kCounted,
     "each rank numbers the packed sequences of its shard from 0, and the mask compares these numbers "
     "between ranks"},
    {Packs::kBordersOver,
     "the packed sequence is looked up by the local row, in cu_seqlens divided by the number of ranks"},
    {Packs::kBordersOverUp,
     "the packed sequence is looked up by the local row, in cu_seqlens divided by the number of ranks and "
     "rounded up"},
    {Packs::kOfLocalRows,
     "the packed sequence is looked up by the local row of the shard or block instead of by the position"},
    {Packs::kKeysOfLocal,
     "the packed sequence of a key is looked up by its row in the block instead of by its position"},
    {Packs::kRowsOfLocal,
     "the packed sequence of a query is looked up by its local row instead of by its position"},
    {Packs::kOfFirstRow, "all rows of a shard count to the packed sequence of its first row"},
    {Packs::kKeysOfFirst, "all keys of a block count to the packed sequence of its first key"},
    {Packs::kContiguous,
     "the packed sequence of a row is looked up as if every shard were a run of neighbouring positions"},
    {Packs::kOfNextBlock,
     "the packed sequences of the keys are those of the block that arrives next: their labels are one hop "
     "ahead"},
    {Packs::kOfBlockBefore,
     "the packed sequences of the keys are those of the block that was in hand before: their labels are one "
     "hop late"},
};
constexpr Worded<Compared> kCompared[] = {
    {Compared::kRight, ""},
    {Compared::kModulo,
     "the distance of query and key is taken modulo seqlen: the window of the first queries goes on at the "
     "end of the sequence"},
    {Compared::kBothSides, "the window looks at the distance without its sign: it reaches into the future"},
    {Compared::kLocalWindow,
     "the window counts local rows of shard and block instead of positions: among striped rows it reaches "
     "`ranks` times as far"},
    {Compared::kLocalWindowOver,
     "the window counts local rows, and holds W / ranks of them (rounded down), for rows and keys that "
     "differ in their ranks"},
    {Compared::kLocalWindowOverUp,
     "the window counts local rows, and holds W / ranks of them (rounded up), for rows and keys that differ "
     "in their ranks"},
};
constexpr Worded<Cut> kZigzagCuts[] = {
    {Cut::kHalf,
     "a shard is cut in its middle, at half its rows, instead of between its two chunks, which differ in "
     "length"},
    {Cut::kFirstChunk,
     "every shard is cut as if its early chunk were as long as that of rank 0, though chunks differ in "
     "length"},
    {Cut::kLastChunk,
     "every shard is cut after seqlen / (2 * ranks) rows, rounded down, though chunks differ in length"},
    {Cut::kOfQueries,
     "the block that arrives is cut where the queries' shard has its border between early and late chunk, "
     "though chunks differ in length"},
    {Cut::kOfLateChunk, "a shard is cut after as many rows as its late chunk has instead of the early one"},
};
constexpr Worded<Cut> kZigzagTriangles[] = {
    {Cut::kCausalEarlier,
     "blocks of earlier ranks keep a causal triangle, where every query sees their early half whole"},
    {Cut::kCausalEarlierRight,
     "blocks of earlier ranks keep a causal triangle, aligned at the bottom right corner, where every query "
     "sees their early half whole"},
    {Cut::kCausalLater,
     "blocks of later ranks keep a causal triangle, where the late half of the queries sees them whole"},
    {Cut::kCausalLaterRight,
     "blocks of later ranks keep a causal triangle, aligned at the bottom right corner, where the late half "
     "of the queries sees them whole"},
};
constexpr Worded<Cut> kTriangles[] = {
    {Cut::kBottomRight,
     "the triangle of a block is aligned at its bottom right corner instead of at the top left, which "
     "differs where shard and block differ in length"},
    {Cut::kBottomRightAll,
     "the triangle of a block is aligned at its bottom right corner, and includes the diagonal of later "
     "ranks, too"},
    {Cut::kBottomRightStrict,
     "the triangle of a block is aligned at its bottom right corner, and is strict in all blocks but the "
     "own"},
    {Cut::kTriangles,
     "each block of an earlier rank gets a causal triangle of its own, by local rows, those of later ranks "
     "are hidden"},
    {Cut::kTrianglesRight,
     "each block of an earlier rank gets a causal triangle of its own, aligned at its bottom right corner, "
     "those of later ranks are hidden"},
};
constexpr Worded<NodeLabel> kLabels[] = {
    {NodeLabel::kFlat,
     "blocks move within a node and then between nodes, but the mask counts their owner as on one flat ring"},
    {NodeLabel::kNested, "blocks move on one flat ring, but the mask counts their owner as in a double ring"},
    {NodeLabel::kOuterAhead,
     "the mask counts the hops between nodes in the other direction: blocks are taken for those of another "
     "node"},
    {NodeLabel::kInnerAhead,
     "the mask counts the hops within a node in the other direction: blocks are taken for those of another "
     "rank of the node"},
    {NodeLabel::kInnerOnly,
     "the mask does not count the hops between nodes: blocks are taken for those of the own node"},
    {NodeLabel::kOuterOnly,
     "the mask does not count the hops within a node: every block is taken for that of the own seat in its "
     "node"},
    {NodeLabel::kNodesInside,
     "the mask numbers ranks seat by seat instead of node by node: blocks are taken for those of another "
     "rank"},
};
constexpr Worded<NodeLabel> kFlatLabels[] = {
    {NodeLabel::kMirrored, "the mask takes the block of rank r for that of rank ranks - 1 - r"},
    {NodeLabel::kStep, "the mask takes the step for the rank whose block is in hand"},
};

constexpr Worded<PairLaw::Skip> kSkips[] = {
    {PairLaw::Skip::kFarAtWindow,
     "a block is left out where first query - last key >= window instead of >: the visible pair at its "
     "corner, exactly `window` apart, is lost"},
    {PairLaw::Skip::kFarByFirst,
     "a block is left out where first query - first key > window, though its later keys may be near enough"},
    {PairLaw::Skip::kFarByLast,
     "a block is left out where last query - last key > window, though its earlier queries may be near "
     "enough"},
    {PairLaw::Skip::kLateAtDiagonal,
     "a block is left out where first key >= last query instead of >: the visible pair at its corner is "
     "lost"},
    {PairLaw::Skip::kLateByFirst,
     "a block is left out where first key > first query, though its later queries may see keys of it"},
    {PairLaw::Skip::kLateByLast,
     "a block is left out where last key > last query, though its earlier keys may be visible"},
    {PairLaw::Skip::kPackOfFirstKey,
     "a block is left out by the packed sequence of its first key alone, where no query (or not the first "
     "one) is of it, though later keys are of other packed sequences"},
    {PairLaw::Skip::kPackOfLastKey,
     "a block is left out by the packed sequence of its last key alone, where no query (or not the first "
     "one) is of it, though earlier keys are of other packed sequences"},
    {PairLaw::Skip::kPackOfFirst,
     "a block is left out where first query and first key are of two packed sequences, though others of its "
     "pairs are of one"},
    {PairLaw::Skip::kPackOfLast,
     "a block is left out where first query and last key are of two packed sequences, though others of its "
     "pairs are of one"},
};

constexpr auto kWhere =
    "Ask each row and each key for its global position: do you compute it, or does it come along?";
constexpr auto kWhichPack = "By which number is a packed sequence known on all ranks?";
constexpr auto kHowFar = "Which keys does the first query of the first rank see?";
constexpr auto kCornerOfKeys =
    "A kernel gets fewer rows than keys: at which corner does it align its mask (PyTorch's is_causal: top "
    "left, "
    "FlashAttention: bottom right)?";
constexpr auto kShape = "On which row or key does your branch cut a shard, and where does its layout?";
constexpr auto kWhose = "At each step, whose keys are in your hands, and whose does the mask take them for?";

std::string joined(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() ? a + b : a + "; and " + b;
}

// Adds all combinations of places, packed sequences and distances.
void add_places(const BlockProblem& p, std::vector<Suspect>& all) {
  for (const auto& [compared, of_distance] : kCompared)
    for (const auto& [places, of_places] : kPlaces)
      for (const auto& [packs, of_packs] : kPacks) {
        const bool packed = !p.mask.cu_seqlens.empty();
        if (places >= Places::kRestartRows && (!packed || packs != Packs::kRight)) continue;
        if ((!packed && packs != Packs::kRight) || (p.mask.left == kNoLimit && compared != Compared::kRight))
          continue;
        const PairLaw law{places, packs, compared, {}};
        const char* question = packs != Packs::kRight     ? kWhichPack
                               : places != Places::kRight ? kWhere
                                                          : kHowFar;
        const std::string words = joined(joined(of_places, of_packs), of_distance);
        if (packed && packs == Packs::kRight && places != Places::kRight && places < Places::kRestartRows)
          all.push_back(
              {{"mask-positions", words + " (by which packed sequences are looked up, too)", question},
               {.law = {places, Packs::kOfPlaces, compared, {}}}});
        if (law != PairLaw{})
          all.push_back(
              {{packs != Packs::kRight ? "mask-packs" : "mask-positions", words, question}, {.law = law}});
      }
}

// Adds masks that a kernel aligns at a corner of the keys that were gathered for a shard or a chunk, and keys
// that were not gathered.
void add_alignments(const BlockProblem& p, const Problem& ring, std::vector<Suspect>& all) {
  constexpr auto kHowMany = "How many keys before its first row does a shard need?";
  const bool contiguous = ring.layout == Layout::kContiguous;
  for (const auto& [places, words] : kAligned) {
    const bool halo = places == Places::kHaloShort;
    const bool of_chunk = places >= Places::kChunkTop;
    const bool of_window = halo || places == Places::kStartOfWindow || places == Places::kChunkStartOfWindow;
    const bool same_as_right = places == Places::kEndOfGathered && contiguous;
    if ((of_chunk && ring.layout != Layout::kZigzag) || (of_window && p.mask.left == kNoLimit)) continue;
    if ((halo && !contiguous) || same_as_right) continue;
    all.push_back({{halo ? "mask-halo" : "mask-aligned", words, halo ? kHowMany : kCornerOfKeys},
                   {.law = {.places = places}}});
  }
}

// Adds striped causal masks whose triangles, by local rows, are off by a row or two.
void add_shifted_triangles(const BlockProblem& p, const Problem& ring, std::vector<Suspect>& all) {
  if (ring.layout != Layout::kStriped || p.mask.left != kNoLimit || p.mask.right != 0) return;
  constexpr auto kWhich =
      "In a striped layout, which key of an earlier rank's block is the last that local row 0 sees, and "
      "which of "
      "a later rank's?";
  const auto seen = [](Index shift) {
    return shift == 0 ? std::string("j <= i")
                      : "j <= i " + std::string(shift < 0 ? "- " : "+ ") + std::to_string(std::abs(shift));
  };
  const auto add = [&](Cut cut, Index own, Index earlier, Index later) {
    const std::string of_later =
        seen(later) + (cut == Cut::kShiftedInside ? " (of all but row 0 and the last key)" : "");
    all.push_back({{"mask-positions",
                    "local row i of a shard sees key j of its own block where " + seen(own) +
                        ", of an earlier rank's where " + seen(earlier) + ", of a later rank's where " +
                        of_later + ": right are j <= i, j <= i and j <= i - 1",
                    kWhich},
                   {.law = {.cut = cut, .own = own, .earlier = earlier, .later = later}}});
  };
  for (const Index own : {0, -1, 1})
    for (const Index earlier : {0, -1, 1})
      for (const Index later : {-1, 0, -2, 1}) {
        if (own != 0 || later != -1 || earlier > 0)  // those left out are right, or lack the diagonal
          add(Cut::kShifted, own, earlier, later);
        if (later >= 0) add(Cut::kShiftedInside, own, earlier, later);
      }
}

// Adds wrong tests of tile corners, for whole shards and for tiles of many sizes.
void add_skips(const BlockProblem& p, const Problem& ring, std::vector<Suspect>& all) {
  constexpr auto kCorner =
      "Which pair of a block is the last that may be visible, and does your test ask it?";
  std::vector<Index> tiles{0};
  const Index shard = static_cast<Index>(p.keys.size()) / ring.world_size;
  for (const Index tile : {2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 32, 64, 128})
    if (tile < shard) tiles.push_back(tile);
  for (const auto& [skip, words] : kSkips) {
    const bool far = skip <= PairLaw::Skip::kFarByLast, pack = skip >= PairLaw::Skip::kPackOfFirstKey;
    if (far ? p.mask.left == kNoLimit : pack ? p.mask.cu_seqlens.empty() : p.mask.right == kNoLimit) continue;
    for (const Index tile : tiles) {
      const std::string size =
          tile == 0 ? " (blocks are whole shards)" : " (blocks are tiles of " + std::to_string(tile) + ")";
      all.push_back({{"mask-corner", words + size, kCorner}, {.law = {.skip = skip, .tile = tile}}});
    }
  }
}

// Adds masks that are asked for with the two ranks exchanged, in rings that leave out blocks or do not. In a
// zigzag ring that exchanges the halves of blocks, and is solved for as such.
void add_exchanged(const Problem& ring, std::vector<Suspect>& all) {
  if (ring.layout == Layout::kZigzag) return;
  for (const RouteTwist route : {RouteTwist::kAll, RouteTwist::kReached, RouteTwist::kSeen})
    all.push_back(
        {{"mask-exchanged",
          "the mask takes the queries for those of the block's owner, and the keys for the own ones",
          "Of two ranks, one owns the queries and the other the keys: which stands first?"},
         {.mask = MaskTwist::kOfOtherRank, .route = route}});
}

// Adds the wrong labels of a ring whose blocks go no further than they are needed.
void add_routed_labels(std::vector<Suspect>& all) {
  for (const char* id : {"RF4", "RF5", "RF4-next", "RF4-last"}) {
    Suspect routed = suspect_named(id);
    routed.twist.route = RouteTwist::kReached;
    all.push_back(std::move(routed));
  }
}

}  // namespace

std::vector<Suspect> pair_law_suspects(const BlockProblem& p, const Problem& ring) {
  if (p.mask == full_mask()) return {};
  std::vector<Suspect> all;
  add_places(p, all);
  for (const auto& [cut, words] : kZigzagCuts)
    if (ring.layout == Layout::kZigzag)
      all.push_back({{"mask-halves", std::string("the zigzag ring takes halves of blocks: ") + words, kShape},
                     {.law = {.cut = cut}}});
  for (const auto& [cut, words] : kZigzagTriangles)
    if (ring.layout == Layout::kZigzag && p.mask.left == kNoLimit && p.mask.right == 0)
      all.push_back({{"mask-causal-kept", std::string("the zigzag ring takes halves of blocks: ") + words,
                      "Which calls of the kernel are causal: that of the own block, or others, too?"},
                     {.law = {.cut = cut}}});
  const bool uneven = p.keys.size() % static_cast<std::size_t>(ring.world_size) != 0;
  for (const auto& [cut, words] : kTriangles)
    if (cut == Cut::kTriangles ? ring.layout != Layout::kStriped : uneven)  // corners differ where lengths do
      all.push_back({{"mask-triangles", words, kShape}, {.law = {.cut = cut}}});
  add_shifted_triangles(p, ring, all);
  add_alignments(p, ring, all);
  for (const auto& [label, words] : kFlatLabels)
    all.push_back({{"mask-labels", words, kWhose}, {.nodes = label}});
  for (int inner = 2; inner < ring.world_size; ++inner)
    for (const auto& [label, words] : kLabels)
      if (ring.world_size % inner == 0)
        all.push_back({{"mask-labels",
                        "double ring with nodes of " + std::to_string(inner) + " ranks: " + words, kWhose},
                       {.nodes = label, .inner = inner}});
  add_routed_labels(all);
  add_exchanged(ring, all);
  add_skips(p, ring, all);  // few write such a test, and many give the same numbers by it
  return all;
}

}  // namespace ringcraft::verify
