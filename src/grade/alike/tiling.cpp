// Runs of tokens by their hashes, and tiles from the longest to the shortest.
#include "grade/alike/tiling.hpp"

#include <algorithm>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace ringcraft::grade {
namespace {

using Gram = Compared::Gram;

// More than any exercise needs; bounds what a file that is made to be slow can cost. So does the number of
// places that are tried for one run.
constexpr std::size_t kMostTokens = 8000, kMostPlaces = 8;
constexpr std::size_t kManyTexts = 4;

std::vector<Gram> grams_of(const std::vector<Token>& tokens) {
  constexpr std::uint64_t kBase = 0x9E3779B97F4A7C15;
  std::uint64_t power = 1, hash = 0;  // of the token that leaves the run
  for (std::size_t i = 0; i < kShortestRun; ++i) power *= kBase;
  std::vector<Gram> grams;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    hash = hash * kBase + tokens[i].kind;
    if (i >= kShortestRun) hash -= power * tokens[i - kShortestRun].kind;
    if (i + 1 >= kShortestRun) grams.push_back({hash, static_cast<std::uint32_t>(i + 1 - kShortestRun)});
  }
  return grams;
}

// How many of the texts have each run.
std::unordered_map<std::uint64_t, std::size_t> texts_with_run(const std::vector<std::vector<Gram>>& grams) {
  std::unordered_map<std::uint64_t, std::size_t> count;
  for (const std::vector<Gram>& each : grams) {
    std::unordered_set<std::uint64_t> seen;
    for (const Gram& gram : each)
      if (seen.insert(gram.hash).second) ++count[gram.hash];
  }
  return count;
}

// Keeps the runs without a token of a run that is nobody's own.
template <class Nobodys>
Compared own_part(std::vector<Token> tokens, std::vector<Gram> grams, const Nobodys& nobodys) {
  std::vector<bool> taken(tokens.size());
  for (const Gram& gram : grams)
    if (nobodys(gram.hash)) std::fill_n(taken.begin() + gram.at, kShortestRun, true);
  std::erase_if(grams, [&](const Gram& gram) {
    const auto begin = taken.begin() + gram.at;
    return std::find(begin, begin + kShortestRun, true) != begin + kShortestRun;
  });
  std::vector<bool> own(tokens.size());
  for (const Gram& gram : grams) std::fill_n(own.begin() + gram.at, kShortestRun, true);
  std::ranges::stable_sort(grams, {}, &Gram::hash);
  const auto count = static_cast<std::size_t>(std::ranges::count(own, true));
  return {std::move(tokens), std::move(own), std::move(grams), count};
}

// The places of this run, the first ones.
std::pair<const Gram*, const Gram*> places_of(std::uint64_t hash, const Compared& text) {
  const auto [first, last] = std::ranges::equal_range(text.grams, hash, {}, &Gram::hash);
  const auto count = std::min<std::ptrdiff_t>(last - first, kMostPlaces);
  return {text.grams.data() + (first - text.grams.begin()),
          text.grams.data() + (first - text.grams.begin()) + count};
}

// Tokens of `one` in runs that `other` has, too.
std::size_t covered(const Compared& one, const Compared& other) {
  std::vector<bool> marks(one.tokens.size());
  auto known = other.grams.begin();
  for (const Gram& gram : one.grams) {
    while (known != other.grams.end() && known->hash < gram.hash) ++known;
    if (known != other.grams.end() && known->hash == gram.hash)
      std::fill_n(marks.begin() + gram.at, kShortestRun, true);
  }
  return static_cast<std::size_t>(std::ranges::count(marks, true));
}

// Every run that both texts have and that cannot be longer to either side.
std::vector<Tile> longest_runs(const Compared& one, const Compared& other) {
  const auto same = [&](std::size_t i, std::size_t j) {
    return i < one.tokens.size() && j < other.tokens.size() && one.own[i] && other.own[j] &&
           one.tokens[i].kind == other.tokens[j].kind;
  };
  std::vector<Tile> runs;
  for (const Gram& gram : one.grams) {
    const auto [first, last] = places_of(gram.hash, other);
    for (const Gram* place = first; place != last; ++place) {
      const std::size_t i = gram.at, j = place->at;
      if (i > 0 && j > 0 && same(i - 1, j - 1)) continue;  // its beginning is seen from further left
      std::size_t length = 0;
      while (same(i + length, j + length)) ++length;
      if (length >= kShortestRun) runs.push_back({i, j, length});
    }
  }
  return runs;
}

// The longest first; of two of the same length the one that stands further up.
struct ComesLater {
  bool operator()(const Tile& a, const Tile& b) const {
    return std::tuple(a.length, b.one, b.other) < std::tuple(b.length, a.one, a.other);
  }
};

}  // namespace

std::vector<Compared> compared(const std::vector<Text>& texts, const std::vector<std::string>& given) {
  std::unordered_set<std::uint64_t> known;
  for (const std::string& text : given)
    for (const Gram& gram : grams_of(tokens_of(text, kMostTokens))) known.insert(gram.hash);
  std::vector<std::vector<Token>> tokens;
  std::vector<std::vector<Gram>> grams;
  for (const Text& each : texts) {
    tokens.push_back(tokens_of(each.text, kMostTokens));
    grams.push_back(grams_of(tokens.back()));
  }
  const auto count = texts_with_run(grams);
  const auto nobodys = [&](std::uint64_t hash) {
    const std::size_t having = count.at(hash);
    return known.contains(hash) || (having >= kManyTexts && 3 * having > texts.size());
  };
  std::vector<Compared> result;
  for (std::size_t i = 0; i < texts.size(); ++i)
    result.push_back(own_part(std::move(tokens[i]), std::move(grams[i]), nobodys));
  return result;
}

std::size_t tiled_at_most(const Compared& one, const Compared& other) {
  return std::min(covered(one, other), covered(other, one));
}

std::vector<Tile> tiles(const Compared& one, const Compared& other) {
  std::priority_queue<Tile, std::vector<Tile>, ComesLater> waiting({}, longest_runs(one, other));
  std::vector<bool> used_one(one.tokens.size()), used_other(other.tokens.size());
  std::vector<Tile> result;
  while (!waiting.empty()) {
    const Tile run = waiting.top();
    waiting.pop();
    std::size_t free = 0;  // tokens from the last used one on
    for (std::size_t i = 0; i <= run.length; ++i) {
      const bool used = i == run.length || used_one[run.one + i] || used_other[run.other + i];
      if (!used) ++free;
      if (used && free == run.length) {
        std::fill_n(used_one.begin() + static_cast<std::ptrdiff_t>(run.one), free, true);
        std::fill_n(used_other.begin() + static_cast<std::ptrdiff_t>(run.other), free, true);
        result.push_back(run);
      } else if (used) {
        if (free >= kShortestRun) waiting.push({run.one + i - free, run.other + i - free, free});
        free = 0;
      }
    }
  }
  std::ranges::sort(result, {}, &Tile::one);
  return result;
}

}  // namespace ringcraft::grade
