// Lists the rules for borders and lengths of chunks, right and wrong ones, as formulas of the chunk's number.
#include "verify/diagnose/functions/deal/chunk_rules.hpp"

#include <algorithm>

namespace ringcraft::verify {
namespace {

using S = CutSize;

// The border inside a half that is cut separately; the first half has `first` tokens.
Index border_of_halves(const CutSize& s, Index first, Index g) {
  const Index middle = s.chunks / 2;
  const bool late = g >= middle;
  const CutSize half{late ? s.seqlen - first : first, std::max<Index>(1, late ? s.chunks - middle : middle)};
  const Index of = late ? g - middle : g;
  return (late ? first : 0) + of * half.whole() + std::min(of, half.rest());
}

constexpr ChunkRule kBorders[] = {
    {"g * whole + min(g, rest)", [](const S& s, Index g) { return g * s.whole() + std::min(g, s.rest()); }},
    {"g * whole, without the rest", [](const S& s, Index g) { return g * s.whole(); }},
    {"g * (S / C rounded up)", [](const S& s, Index g) { return g * s.rounded_up(); }},
    {"g * (S / C rounded up), at most S",
     [](const S& s, Index g) { return std::min(s.seqlen, g * s.rounded_up()); }},
    {"g * S / C rounded down", [](const S& s, Index g) { return s.seqlen * g / s.chunks; }},
    {"g * S / C rounded up", [](const S& s, Index g) { return (s.seqlen * g + s.chunks - 1) / s.chunks; }},
    {"g * S / C rounded to the nearest",
     [](const S& s, Index g) { return (2 * s.seqlen * g + s.chunks) / (2 * s.chunks); }},
    {"g * whole + max(0, g - (C - rest)): the last chunks are the longer ones",
     [](const S& s, Index g) { return g * s.whole() + std::max<Index>(0, g - (s.chunks - s.rest())); }},
    {"borders of two halves, each cut by itself (the first one has S / 2 tokens, rounded down)",
     [](const S& s, Index g) { return border_of_halves(s, s.seqlen / 2, g); }},
    {"borders of two halves, each cut by itself (the first one has S / 2 tokens, rounded up)",
     [](const S& s, Index g) { return border_of_halves(s, (s.seqlen + 1) / 2, g); }},
    {"g * whole + rest", [](const S& s, Index g) { return g * s.whole() + s.rest(); }},
    {"g * whole + g", [](const S& s, Index g) { return g * (s.whole() + 1); }},
    {"g * whole + max(g, rest)", [](const S& s, Index g) { return g * s.whole() + std::max(g, s.rest()); }},
    {"g times the length of chunk g itself",
     [](const S& s, Index g) { return g * (s.whole() + (g < s.rest() ? 1 : 0)); }},
    {"g times the length of chunk g itself, where chunk rest counts as a longer one",
     [](const S& s, Index g) { return g * (s.whole() + (g <= s.rest() ? 1 : 0)); }},
    {"g * whole + (g if g < rest, else 0)",
     [](const S& s, Index g) { return g * s.whole() + (g < s.rest() ? g : 0); }},
    {"g * whole + (1 if g < rest)",
     [](const S& s, Index g) { return g * s.whole() + (g < s.rest() ? 1 : 0); }},
    {"g * whole + rest for all but the first chunk: it takes the whole rest",
     [](const S& s, Index g) { return g * s.whole() + (g > 0 ? s.rest() : 0); }},
    {"g * whole + min(g, rest - 1)",
     [](const S& s, Index g) { return g * s.whole() + std::min(g, s.rest() - 1); }},
    {"g * whole + max(0, min(g, rest - 1))",
     [](const S& s, Index g) { return g * s.whole() + std::max<Index>(0, std::min(g, s.rest() - 1)); }},
    {"g * whole + min(g, rest + 1)",
     [](const S& s, Index g) { return g * s.whole() + std::min(g, s.rest() + 1); }},
    {"g * whole + min(g + 1, rest)",
     [](const S& s, Index g) { return g * s.whole() + std::min(g + 1, s.rest()); }},
    {"g * whole + max(0, g - rest)",
     [](const S& s, Index g) { return g * s.whole() + std::max<Index>(0, g - s.rest()); }},
    {"g * whole + min(g, C - rest)",
     [](const S& s, Index g) { return g * s.whole() + std::min(g, s.chunks - s.rest()); }},
    {"rest * (whole + 1) + g * whole beyond the longer chunks",
     [](const S& s, Index g) {
       return g < s.rest() ? g * (s.whole() + 1) : s.rest() * (s.whole() + 1) + g * s.whole();
     }},
    {"(g - rest) * whole beyond the longer chunks, without them",
     [](const S& s, Index g) { return g < s.rest() ? g * (s.whole() + 1) : (g - s.rest()) * s.whole(); }},
    {"rest * whole + (g - rest) * whole beyond the longer chunks",
     [](const S& s, Index g) { return g < s.rest() ? g * (s.whole() + 1) : g * s.whole(); }},
    {"g * whole + rest / C", [](const S& s, Index g) { return g * s.whole() + s.rest() / s.chunks; }},
    {"g * (S / (C - 1))",
     [](const S& s, Index g) { return g * (s.seqlen / std::max<Index>(1, s.chunks - 1)); }},
    {"g * (S / (C + 1))", [](const S& s, Index g) { return g * (s.seqlen / (s.chunks + 1)); }},
    {"g * C", [](const S& s, Index g) { return g * s.chunks; }}};

constexpr ChunkRule kLengths[] = {
    {"whole + (1 if g < rest)", [](const S& s, Index g) { return s.whole() + (g < s.rest() ? 1 : 0); }},
    {"whole", [](const S& s, Index) { return s.whole(); }},
    {"whole + 1", [](const S& s, Index) { return s.whole() + 1; }},
    {"whole + (1 if g <= rest)", [](const S& s, Index g) { return s.whole() + (g <= s.rest() ? 1 : 0); }},
    {"whole + (1 if g >= rest)", [](const S& s, Index g) { return s.whole() + (g >= s.rest() ? 1 : 0); }},
    {"whole + (1 if g > rest)", [](const S& s, Index g) { return s.whole() + (g > s.rest() ? 1 : 0); }},
    {"whole + (1 if g + 1 < rest)",
     [](const S& s, Index g) { return s.whole() + (g + 1 < s.rest() ? 1 : 0); }},
    {"whole + (1 if g >= C - rest)",
     [](const S& s, Index g) { return s.whole() + (g >= s.chunks - s.rest() ? 1 : 0); }},
    {"whole + (1 if there is a rest)", [](const S& s, Index) { return s.rounded_up(); }},
    {"whole + rest", [](const S& s, Index) { return s.whole() + s.rest(); }},
    {"whole, and the rest in the last chunk",
     [](const S& s, Index g) { return s.whole() + (g == s.chunks - 1 ? s.rest() : 0); }},
    {"whole, and the rest in the first chunk",
     [](const S& s, Index g) { return s.whole() + (g == 0 ? s.rest() : 0); }},
    {"whole + min(g, rest)", [](const S& s, Index g) { return s.whole() + std::min(g, s.rest()); }}};

}  // namespace

std::span<const ChunkRule> border_rules() { return kBorders; }
std::span<const ChunkRule> length_rules() { return kLengths; }

}  // namespace ringcraft::verify
