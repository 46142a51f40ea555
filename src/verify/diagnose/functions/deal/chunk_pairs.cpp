// Explains wrong chunks of ranks: looks up both ends of both chunks among the cuts, and finds the chunk's
// number as a sum of multiples of r, N and 1.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <tuple>

#include "verify/diagnose/functions/deal/chunk_rules.hpp"
#include "verify/diagnose/functions/deal/chunks.hpp"
#include "verify/diagnose/functions/formula.hpp"

namespace ringcraft::verify {
namespace {

// Chunks as the student cuts them, or as returned, if cutting was not checked.
class OwnCuts {
 public:
  explicit OwnCuts(const ChunkExhibit& x) {
    for (const ChunkExhibit::Cut& cut : x.cuts)
      if (cut.chunk) cuts_[{cut.seqlen, cut.chunks, cut.index}] = *cut.chunk;
  }
  Chunk at(Position seqlen, Index chunks, Index index) const {
    const auto found = cuts_.find({seqlen, chunks, index});
    if (found != cuts_.end()) return found->second;
    const auto border = border_rules().front().at;
    return {border({seqlen, chunks}, index), border({seqlen, chunks}, index + 1)};
  }

 private:
  std::map<std::tuple<Position, Index, Index>, Chunk> cuts_;
};

// A request for a rank's chunks, and the answer.
struct PairCall {
  Position seqlen;
  Index ranks, rank;
  ChunkPair pair;
};

// A way to cut: the chunk with a given number.
struct Cutter {
  std::string words;
  std::function<Chunk(const OwnCuts&, const PairCall&, Index number)> chunk;
  bool right = false;          // 2N chunks, by the student's own cut or by the right one
  bool other_borders = false;  // than those that the student's cut has, or should have
};

std::vector<Cutter> cutters() {
  std::vector<Cutter> all;
  const auto add = [&](const std::string& words, Index times_n, Index more) {
    all.push_back({words + " chunks",
                   [=](const OwnCuts& own, const PairCall& c, Index number) {
                     return own.at(c.seqlen, std::max<Index>(1, times_n * c.ranks + more), number);
                   },
                   times_n == 2 && more == 0});
  };
  add("2N", 2, 0), add("N", 1, 0), add("2N - 1", 2, -1), add("2N + 1", 2, 1), add("N + 1", 1, 1);
  add("4N", 4, 0), add("8", 0, 8), add("4", 0, 4), add("16", 0, 16), add("2", 0, 2);
  const auto by_rule = [&](const std::string& words, const ChunkRule& rule) {
    const bool right = &rule == &border_rules().front();
    all.push_back({words,
                   [at = rule.at](const OwnCuts&, const PairCall& c, Index number) {
                     const CutSize size{c.seqlen, 2 * c.ranks};
                     return Chunk{at(size, number), at(size, number + 1)};
                   },
                   right, !right});
  };
  by_rule("2N chunks", border_rules().front());  // right, even if the student's own cut is not
  all.push_back({"2N, each the half of a shard,", [](const OwnCuts& own, const PairCall& c, Index number) {
                   const Chunk shard = own.at(c.seqlen, c.ranks, number / 2);
                   const Chunk half = own.at(shard.rows(), 2, number % 2);
                   return Chunk{shard.begin + half.begin, shard.begin + half.end};
                 }});
  for (const ChunkRule& rule : border_rules().subspan(1))
    by_rule("2N, whose chunk g begins at " + std::string(rule.words) + ",", rule);
  return all;
}

// The number of a chunk: multiples of r, N and 1.
struct NumberLaw {
  Index r, n, one;

  Index at(const PairCall& c) const { return r * c.rank + n * c.ranks + one; }
  std::string words() const { return formula_text({"N", "r", ""}, {n, r, one}); }
};

// The short ones first.
const std::vector<NumberLaw>& number_laws() {
  static const std::vector<NumberLaw> laws = [] {
    std::vector<NumberLaw> all;
    for (const Index r : {1, -1, 2, -2, 0})
      for (const Index n : {0, 1, 2, -1, 3, 4})
        for (const Index one : {0, -1, 1, -2, 2}) all.push_back({r, n, one});
    for (const Index last : {7, 3, 15}) all.push_back({-1, 0, last});  // for literal numbers of ranks
    std::ranges::stable_sort(all, {}, [](const NumberLaw& law) {
      return std::abs(std::abs(law.r) - 1) + std::abs(law.n) + std::abs(law.one);
    });
    return all;
  }();
  return laws;
}

using ChunkOf = Chunk ChunkPair::*;
using EndOf = Position Chunk::*;

struct Found {
  std::string words;
  bool right;
};

bool is_right(const Cutter& cutter, const NumberLaw& law, ChunkOf which) {
  const bool early = which == &ChunkPair::early;
  return cutter.right && law.one == (early ? 0 : -1) && law.n == (early ? 0 : 2) && law.r == (early ? 1 : -1);
}

std::string chunk_words(const Cutter& cutter, const NumberLaw& law) {
  return "number " + law.words() + " of " + cutter.words;
}

// Calls in which this chunk tells anything: an empty chunk has no place.
std::vector<PairCall> telling_calls(const std::vector<PairCall>& calls, const OwnCuts& own, ChunkOf which) {
  std::vector<PairCall> telling;
  for (const PairCall& c : calls) {
    const Index number = which == &ChunkPair::early ? c.rank : 2 * c.ranks - 1 - c.rank;
    if ((c.pair.*which).rows() != 0 || own.at(c.seqlen, 2 * c.ranks, number).rows() != 0)
      telling.push_back(c);
  }
  return telling;
}

// Whether to search the cuts, or only borders by other rules, which is tried last.
enum class Among { kCuts, kOtherBorders };

// Finds the chunk as a whole, or one end of it, among those of the cuts.
std::optional<Found> found_among(Among what, const std::vector<PairCall>& calls, const OwnCuts& own,
                                 ChunkOf which, const std::function<bool(const Chunk&, const Chunk&)>& same) {
  static const std::vector<Cutter> all = cutters();
  for (const bool right : {true, false})
    for (const Cutter& cutter : all)
      for (const NumberLaw& law : number_laws())
        if (cutter.other_borders == (what == Among::kOtherBorders) && is_right(cutter, law, which) == right &&
            std::ranges::all_of(calls, [&](const PairCall& c) {
              return same(cutter.chunk(own, c, law.at(c)), c.pair.*which);
            }))
          return Found{chunk_words(cutter, law), right};
  return {};
}

// Finds one end of the late chunk as a function of the early one.
std::optional<Found> found_beside(const std::vector<PairCall>& calls, ChunkOf which, EndOf end) {
  using Value = Position (*)(const PairCall& c, const Chunk& chunk, const Chunk& other);
  const std::pair<const char*, Value> begins[] = {
      {"S - the end of the early one",
       [](const PairCall& c, const Chunk&, const Chunk& other) { return c.seqlen - other.end; }},
      {"S - the begin of the early one",
       [](const PairCall& c, const Chunk&, const Chunk& other) { return c.seqlen - other.begin; }},
      {"the end of the early one",
       [](const PairCall&, const Chunk&, const Chunk& other) { return other.end; }},
      {"S / 2 + the begin of the early one",
       [](const PairCall& c, const Chunk&, const Chunk& other) { return c.seqlen / 2 + other.begin; }},
      {"S - (r + 1) times the length of the early one",
       [](const PairCall& c, const Chunk&, const Chunk& other) {
         return c.seqlen - (c.rank + 1) * other.rows();
       }},
      {"S - 1 - the end of the early one",
       [](const PairCall& c, const Chunk&, const Chunk& other) { return c.seqlen - 1 - other.end; }}};
  const std::pair<const char*, Value> ends[] = {
      {"its begin + the length of the early one",
       [](const PairCall&, const Chunk& chunk, const Chunk& other) { return chunk.begin + other.rows(); }},
      {"S - the begin of the early one",
       [](const PairCall& c, const Chunk&, const Chunk& other) { return c.seqlen - other.begin; }},
      {"S", [](const PairCall& c, const Chunk&, const Chunk&) { return c.seqlen; }},
      {"its begin + S / 2N", [](const PairCall& c, const Chunk& chunk,
                                const Chunk&) { return chunk.begin + c.seqlen / (2 * c.ranks); }},
      {"S - 1 - the begin of the early one",
       [](const PairCall& c, const Chunk&, const Chunk& other) { return c.seqlen - 1 - other.begin; }}};
  if (which != &ChunkPair::late) return {};
  for (const auto& [words, value] :
       end == &Chunk::begin ? std::span<const std::pair<const char*, Value>>(begins) : ends)
    if (std::ranges::all_of(calls, [&, &value = value](const PairCall& c) {
          return value(c, c.pair.late, c.pair.early) == c.pair.late.*end;
        }))
      return Found{words, false};
  return {};
}

// One end of a chunk in words; empty text if it is right, nothing if it was not found.
std::optional<std::string> told_end(const std::vector<PairCall>& calls, const OwnCuts& own, ChunkOf which,
                                    EndOf end) {
  const bool begins = end == &Chunk::begin;
  const auto same = [=](const Chunk& a, const Chunk& b) { return a.*end == b.*end; };
  const std::string of = begins ? "the begin of " : "the end of ";
  if (const auto found = found_among(Among::kCuts, calls, own, which, same))
    return found->right ? "" : (begins ? "begins at " : "ends at ") + of + found->words;
  if (const auto found = found_beside(calls, which, end))
    return (begins ? "begins at " : "ends at ") + found->words;
  if (const auto found = found_among(Among::kOtherBorders, calls, own, which, same))
    return (begins ? "begins at " : "ends at ") + of + found->words;
  return {};
}

// Describes a chunk that is not the right one; empty text if it is right, nothing if it was not found.
std::optional<std::string> told_chunk(const std::vector<PairCall>& all, const OwnCuts& own, ChunkOf which) {
  const std::vector<PairCall> calls = telling_calls(all, own, which);
  const bool early = which == &ChunkPair::early;
  const std::string name = early ? "the early chunk " : "the late chunk ",
                    must = early ? "number r of 2N" : "number 2N - 1 - r of 2N";
  const auto is = [&](const Found& found) { return name + "is " + found.words + " instead of " + must; };
  if (const auto whole = found_among(Among::kCuts, calls, own, which, std::equal_to()))
    return whole->right ? "" : is(*whole);
  if (!found_beside(calls, which, &Chunk::begin))
    if (const auto whole = found_among(Among::kOtherBorders, calls, own, which, std::equal_to()))
      return is(*whole);
  const auto begin = told_end(calls, own, which, &Chunk::begin),
             end = told_end(calls, own, which, &Chunk::end);
  if (!begin || !end) return {};
  return name + *begin + (begin->empty() || end->empty() ? "" : " and ") + *end + " instead of those of " +
         must;
}

}  // namespace

std::vector<Cause> causes_of_pairs(const ChunkExhibit& x) {
  const OwnCuts own(x);
  std::vector<PairCall> calls, exchanged;
  for (const auto& [seqlen, ranks, rank, pair] : x.dealt)
    if (pair) {
      calls.push_back({seqlen, ranks, rank, *pair});
      exchanged.push_back({seqlen, ranks, rank, {pair->late, pair->early}});
    }
  const auto cause = [](const std::string& text) {
    return std::vector{
        Cause{"solved-chunk-pair", "zigzag_chunks: " + text,
              "Of 2N chunks, numbered from 0: which two has rank r, and what do they add up to?"}};
  };
  if (calls.empty()) return {};
  const auto early = told_chunk(calls, own, &ChunkPair::early),
             late = told_chunk(calls, own, &ChunkPair::late);
  if (early == "" && late == "") return {};
  if (told_chunk(exchanged, own, &ChunkPair::early) == "" &&
      told_chunk(exchanged, own, &ChunkPair::late) == "")
    return cause("the early chunk and the late one are exchanged");
  if (early == "" && late) return cause(*late);
  if (late == "" && early) return cause(*early);
  if (early && late) return cause(*early + ", and " + *late);
  return {};
}

}  // namespace ringcraft::verify
