// Explains a wrong cut into chunks: finds, for the begin and for the end of a chunk, the rule that gives all
// of them.
#include "verify/diagnose/functions/deal/chunks.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/functions/deal/chunk_rules.hpp"
#include "verify/diagnose/functions/formula.hpp"

namespace ringcraft::verify {
namespace {

constexpr const char* kWhere = " (whole is S / C, and rest is S mod C)";

struct CutCall {
  CutSize size;
  Index index;
  Chunk chunk;
};

// One end of a chunk as a function of the size, the number, and the returned begin.
struct EndLaw {
  std::string words;
  std::function<Index(const CutSize&, Index index, Index begin)> value;
  const ChunkRule* rule = nullptr;  // the border's rule, if the end is a border
};

std::vector<EndLaw> begin_laws() {
  std::vector<EndLaw> laws;
  for (const Index shift : {0, 1, -1})
    for (const ChunkRule& rule : border_rules())
      laws.push_back({rule.words + (shift == 0   ? std::string()
                                    : shift == 1 ? ", and one more"
                                                 : ", less one"),
                      [&rule, shift](const CutSize& s, Index g, Index) { return rule.at(s, g) + shift; },
                      shift == 0 ? &rule : nullptr});
  for (const ChunkRule& rule : border_rules())
    laws.push_back({"the border after it: " + std::string(rule.words) + " for g = index + 1",
                    [&rule](const CutSize& s, Index g, Index) { return rule.at(s, g + 1); }});
  return laws;
}

// Exceptions at the end of the sequence, to an end that otherwise follows a law.
enum class AtTheEnd { kNothing, kLastIsLast, kNoFarther };

EndLaw with(const EndLaw& law, AtTheEnd how) {
  if (how == AtTheEnd::kNothing) return law;
  if (how == AtTheEnd::kLastIsLast)
    return {law.words + ", and at S if it is the last one",
            [value = law.value](const CutSize& s, Index g, Index begin) {
              return g == s.chunks - 1 ? s.seqlen : value(s, g, begin);
            }};
  return {law.words + ", at most at S", [value = law.value](const CutSize& s, Index g, Index begin) {
            return std::min(s.seqlen, value(s, g, begin));
          }};
}

std::vector<EndLaw> end_laws() {
  std::vector<EndLaw> plain;
  for (const Index shift : {0, -1, 1}) {
    const std::string less = shift == 0 ? "" : shift < 0 ? ", less one: the last position" : ", and one more";
    for (const ChunkRule& rule : border_rules())
      plain.push_back({rule.words + std::string(" for g = index + 1") + less,
                       [&rule, shift](const CutSize& s, Index g, Index) { return rule.at(s, g + 1) + shift; },
                       shift == 0 ? &rule : nullptr});
    for (const ChunkRule& rule : length_rules())
      plain.push_back(
          {"begin + " + std::string(rule.words) + less,
           [&rule, shift](const CutSize& s, Index g, Index begin) { return begin + rule.at(s, g) + shift; }});
  }
  for (const ChunkRule& rule : border_rules())
    for (const Index further : {0, 2})
      plain.push_back(
          {(further == 0 ? "the border in front of it: " : "the end of the chunk after it: ") +
               std::string(rule.words) + (further == 0 ? "" : " for g = index + 2"),
           [&rule, further](const CutSize& s, Index g, Index) { return rule.at(s, g + further); }});
  for (const ChunkRule& rule : length_rules())
    plain.push_back({"its length, " + std::string(rule.words),
                     [&rule](const CutSize& s, Index g, Index) { return rule.at(s, g); }});
  plain.push_back({"S", [](const CutSize& s, Index, Index) { return s.seqlen; }});
  std::vector<EndLaw> laws;
  for (const AtTheEnd how : {AtTheEnd::kNothing, AtTheEnd::kLastIsLast, AtTheEnd::kNoFarther})
    for (const EndLaw& law : plain) laws.push_back(with(law, how));
  return laws;
}

const EndLaw* law_of(const std::vector<EndLaw>& laws, const std::vector<CutCall>& calls,
                     Position Chunk::*end) {
  for (const EndLaw& law : laws)
    if (std::ranges::all_of(calls, [&](const CutCall& c) {
          return law.value(c.size, c.index, c.chunk.begin) == c.chunk.*end;
        }))
      return &law;
  return nullptr;
}

Chunk right_chunk(const CutCall& c) {
  const ChunkRule& rule = border_rules().front();
  return {rule.at(c.size, c.index), rule.at(c.size, c.index + 1)};
}

// Whether both are empty: an empty chunk has no place.
bool both_empty(const CutCall& c) { return c.chunk.rows() == 0 && right_chunk(c).rows() == 0; }

constexpr const char* kQuestion = "Seven tokens in three chunks: where does each begin and end, and why?";

std::optional<Cause> cause_of_cut(const EndLaw* begin, const EndLaw* end, const std::vector<CutCall>& calls) {
  const bool begins_right =
      std::ranges::all_of(calls, [](const CutCall& c) { return c.chunk.begin == right_chunk(c).begin; });
  const bool ends_right =
      std::ranges::all_of(calls, [](const CutCall& c) { return c.chunk.end == right_chunk(c).end; });
  if (begins_right && ends_right) return {};
  const std::string right = border_rules().front().words;
  std::string text;
  if (!begins_right && begin != nullptr && end != nullptr && begin->rule != nullptr &&
      begin->rule == end->rule)
    text =
        "chunk g begins at " + begin->words + " instead of " + right + ", and ends where the next one begins";
  else if (!begins_right && begin != nullptr)
    text = "chunk g begins at " + begin->words + " instead of " + right +
           (ends_right || end == nullptr ? std::string() : ", and ends at " + end->words);
  else if (begins_right && end != nullptr)
    text = "chunk g ends at " + end->words + " instead of where the next one begins";
  else
    return {};
  return Cause{"solved-chunk", "nth_chunk: " + text + kWhere, kQuestion};
}

std::optional<Cause> cause_of_bits(const EndLaw& begin, const EndLaw& end, const std::vector<CutCall>& far) {
  const auto give = [&](auto of_input, auto of_result, bool narrow_whole = false) {
    return std::ranges::all_of(far, [&](const CutCall& c) {
      const CutSize size{of_input(c.size.seqlen), c.size.chunks, narrow_whole};
      return of_result(begin.value(size, c.index, 0)) == c.chunk.begin &&
             of_result(end.value(size, c.index, c.chunk.begin)) == c.chunk.end;
    });
  };
  const auto as_is = [](Index number) { return number; };
  if (give(as_is, as_is)) return {};
  const bool input = give(in_int, as_is) || give(in_unsigned, as_is) || give(in_int, in_int);
  const bool whole = !input && give(as_is, as_is, true);
  if (!input && !whole && !give(as_is, in_int) && !give(as_is, in_unsigned)) return {};
  return Cause{"solved-chunk-bits",
               std::string("nth_chunk: ") +
                   (input   ? "the length of the sequence is"
                    : whole ? "the length of a chunk, S / C, is"
                            : "positions are") +
                   " cut to 32 bits",
               "What is the largest number in 32 bits, and how many tokens are there?"};
}

// The cause of a missing answer: a division by zero ends the program.
std::optional<Cause> cause_of_no_answer(const ChunkExhibit& x) {
  const std::pair<const char*, bool (*)(const ChunkExhibit::Cut&)> cases[] = {
      {"there are fewer tokens than chunks, so that the whole part of S / C is 0",
       [](const ChunkExhibit::Cut& c) { return c.seqlen < c.chunks; }},
      {"the number of chunks divides the length, so that there is no rest",
       [](const ChunkExhibit::Cut& c) { return c.seqlen % c.chunks == 0; }},
      {"there is one chunk", [](const ChunkExhibit::Cut& c) { return c.chunks == 1; }},
      {"index is 0", [](const ChunkExhibit::Cut& c) { return c.index == 0; }}};
  if (std::ranges::all_of(x.cuts, [](const auto& c) { return c.chunk.has_value(); })) return {};
  for (const auto& [words, holds] : cases)
    if (std::ranges::all_of(x.cuts,
                            [&holds = holds](const auto& c) { return holds(c) != c.chunk.has_value(); }))
      return Cause{"solved-chunk-none", std::string("nth_chunk does not return if ") + words,
                   "By what do you divide, and can it be 0?"};
  return {};
}

}  // namespace

std::vector<Cause> causes_of(const ChunkExhibit& x) {
  constexpr Position kFar = Position{1} << 31;
  std::vector<CutCall> near, far;
  for (const auto& [seqlen, chunks, index, chunk] : x.cuts) {
    if (!chunk) continue;
    const CutCall call{{seqlen, chunks}, index, *chunk};
    if (!both_empty(call)) (seqlen < kFar ? near : far).push_back(call);
  }
  std::vector<Cause> causes;
  const auto add = [&](const std::optional<Cause>& cause) {
    if (cause) causes.push_back(*cause);
  };
  if (!near.empty()) {
    const std::vector<EndLaw> begins = begin_laws(), ends = end_laws();
    const EndLaw* const begin = law_of(begins, near, &Chunk::begin);
    const EndLaw* const end = law_of(ends, near, &Chunk::end);
    add(cause_of_cut(begin, end, near));
    if (begin != nullptr && end != nullptr) add(cause_of_bits(*begin, *end, far));
  }
  add(cause_of_no_answer(x));
  std::ranges::move(causes_of_pairs(x), std::back_inserter(causes));
  return together(std::move(causes));
}

}  // namespace ringcraft::verify
