// Draws the rows of an answer, one sign per row, and shortens shards that are too long for a line.
#include "verify/report/error_map.hpp"

#include <algorithm>
#include <cmath>

namespace ringcraft::verify {
namespace {

constexpr std::size_t kSignsPerRank = 24, kSignsPerLine = 100;

// The worse of two signs: 'n' before 'x' before '.'.
char worse(char a, char b) {
  for (const char sign : {'n', 'x'})
    if (a == sign || b == sign) return sign;
  return '.';
}

}  // namespace

std::string shortened(const std::string& rows) {
  if (rows.size() <= kSignsPerRank) return rows;
  std::string signs(kSignsPerRank, '.');
  for (std::size_t row = 0; row < rows.size(); ++row) {
    char& sign = signs[row * kSignsPerRank / rows.size()];
    sign = worse(sign, rows[row]);
  }
  return signs;
}

std::vector<ErrorMap> error_maps(const Comparison& comparison, const Sharding& sharding) {
  std::vector<ErrorMap> maps;
  for (const TensorComparison& tensor : comparison.tensors) {
    if (tensor.wrong_rows.empty()) continue;
    ErrorMap& map = maps.emplace_back(ErrorMap{tensor.name, {}});
    for (int rank = 0; rank < sharding.world_size; ++rank) {
      std::string& signs = map.ranks.emplace_back();
      for (const Position position : sharding.positions(rank)) {
        const auto wrong = tensor.wrong_rows.find(position);
        signs += wrong == tensor.wrong_rows.end() ? '.' : std::isfinite(wrong->second.got) ? 'x' : 'n';
      }
    }
  }
  return maps;
}

std::vector<ErrorMap> error_maps(const Comparison& comparison, Index rows, Index keys) {
  std::vector<ErrorMap> maps = error_maps(comparison, Sharding{Layout::kContiguous, rows, 1});
  const std::vector<ErrorMap> of_keys = error_maps(comparison, Sharding{Layout::kContiguous, keys, 1});
  for (std::size_t i = 0; i < maps.size(); ++i)
    if (maps[i].tensor == "dk" || maps[i].tensor == "dv") maps[i] = of_keys[i];
  return maps;
}

bool is_shortened(const ErrorMap& map) {
  return std::ranges::any_of(map.ranks, [](const std::string& rows) { return rows.size() > kSignsPerRank; });
}

std::string picture_of(const ErrorMap& map) {
  constexpr std::size_t kName = 5;  // "out  "
  std::string text = map.tensor + std::string(kName - std::min(kName - 1, map.tensor.size()), ' ');
  std::size_t used = 0;
  for (const std::string& rows : map.ranks) {
    const std::string signs = shortened(rows);
    if (used > 0 && used + signs.size() + 1 > kSignsPerLine) {
      text.append("\n").append(kName, ' ');
      used = 0;
    }
    if (used > 0) text += ' ';
    text += signs;
    used += signs.size() + 1;
  }
  return text;
}

}  // namespace ringcraft::verify
