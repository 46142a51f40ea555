// Pairs of a class whose tiles cover much of the shorter text.
#include "grade/alike/alike.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "grade/alike/tiling.hpp"

namespace ringcraft::grade {
namespace {

// Own tokens of a text that says something: with fewer, right solutions look alike.
constexpr std::size_t kFewestOwn = 60;

// The kinds of all tokens: equal for texts that differ in names, layout and comments alone.
std::vector<std::uint32_t> kinds_of(const std::string& text) {
  std::vector<std::uint32_t> kinds;
  for (const Token& token : tokens_of(text, text.size())) kinds.push_back(token.kind);
  return kinds;
}

}  // namespace

std::vector<Same> same(const std::string& exercise, const std::vector<Text>& texts,
                       const std::vector<std::string>& given) {
  constexpr std::size_t kMany = 3;  // two are a pair
  std::map<std::vector<std::uint32_t>, Same> groups;
  for (std::size_t i = 1; i < given.size(); ++i) groups[kinds_of(given[i])] = {exercise, {}, true};
  for (const Text& text : texts) {
    Same& group = groups[kinds_of(text.text)];
    group.exercise = exercise;
    group.students.push_back(text.student);
  }
  if (!given.empty()) groups.erase(kinds_of(given[0]));
  std::vector<Same> all;
  for (auto& [kinds, group] : groups)
    if (group.students.size() >= (group.is_library ? 1 : kMany)) all.push_back(std::move(group));
  std::ranges::stable_sort(all, {}, &Same::students);
  return all;
}

std::vector<Alike> alike(const std::string& exercise, const std::vector<Text>& texts,
                         const std::vector<std::string>& given, double share) {
  const std::vector<Compared> class_texts = compared(texts, given);
  std::vector<Alike> pairs;
  for (std::size_t i = 0; i < texts.size(); ++i)
    for (std::size_t j = i + 1; j < texts.size(); ++j) {
      const Compared &one = class_texts[i], &other = class_texts[j];
      const std::size_t shorter = std::min(one.own_count, other.own_count);
      const auto share_of = [&](std::size_t tokens) {
        return static_cast<double>(tokens) / static_cast<double>(shorter);
      };
      if (shorter < kFewestOwn || share_of(tiled_at_most(one, other)) < share) continue;
      std::size_t common = 0;
      for (const Tile& tile : tiles(one, other)) common += tile.length;
      if (share_of(common) >= share)
        pairs.push_back({exercise, texts[i].student, texts[j].student, share_of(common)});
    }
  std::ranges::stable_sort(pairs, std::greater{}, &Alike::share);
  return pairs;
}

}  // namespace ringcraft::grade
