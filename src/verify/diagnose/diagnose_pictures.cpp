// Diagnosis by pictures (see diagnose.hpp): which rows of which ranks are wrong, which gradients. Weaker than
// numbers, and said to be so; a picture that fits everything, such as "all wrong", says nothing.
#include <algorithm>

#include "verify/diagnose/diagnose_detail.hpp"

namespace ringcraft::verify {
namespace {

std::vector<Cause> causes_named(const std::vector<std::string>& ids, const std::string& evidence) {
  std::vector<Cause> causes;
  for (const std::string& id : ids) {
    Cause cause = suspect_named(id).cause;
    cause.sentence += " (only a guess, " + evidence + ")";
    causes.push_back(std::move(cause));
  }
  return causes;
}

// The rows of one rank: 'R' all right, 'W' all wrong, 'L' all wrong but the last, 'F' the first half right
// and the second wrong, 'S' the first half wrong and the second right, 'P' any other mixture.
char kind_of(const std::string& signs) {
  const auto right = static_cast<std::size_t>(std::count(signs.begin(), signs.end(), '.'));
  if (right == signs.size()) return 'R';
  if (right == 0) return 'W';
  if (right == 1 && signs.back() == '.') return 'L';
  const std::size_t first_wrong = signs.find_first_not_of('.'), first_right = signs.find('.');
  const std::size_t half = signs.size() / 2;
  const auto near = [&](std::size_t at) { return at >= half && at <= half + 1; };
  if (near(first_wrong) && first_wrong + right == signs.size() + (first_wrong - right)) return 'F';
  if (first_right != 0 && near(first_right) && signs.find_first_not_of('.', first_right) == std::string::npos)
    return 'S';
  return 'P';
}

std::string kinds_of(const ErrorMap& map) {
  std::string kinds;
  for (const std::string& rank : map.ranks)
    if (!rank.empty()) kinds += kind_of(rank);
  return kinds;
}

// Whether kinds read: the first ones so, every one between so, the last so.
bool reads(const std::string& kinds, char first, char middle, char last) {
  if (kinds.size() < 3 || kinds.front() != first || kinds.back() != last) return false;
  return std::all_of(kinds.begin() + 1, kinds.end() - 1, [&](char kind) { return kind == middle; });
}

std::vector<std::string> suspects_of_causal(const std::string& kinds) {
  if (reads(kinds, 'R', 'R', 'W')) return {"RF1"};
  if (reads(kinds, 'R', 'W', 'R')) return {"RF4", "RF4-next"};
  if (reads(kinds, 'R', 'W', 'W')) return {"RF2", "RX8", "RX7"};
  if (reads(kinds, 'W', 'W', 'R')) return {"CM4"};
  if (reads(kinds, 'W', 'W', 'L')) return {"CM1", "RF5", "CM6"};
  if (reads(kinds, 'L', 'L', 'L')) return {"CM11"};
  if (kinds.size() >= 3 && kinds.front() == 'R' && kinds.find('P') != std::string::npos &&
      kinds.find_first_of("LFS") == std::string::npos)
    return {"OS3", "OS1", "OS2"};
  return {};
}

std::vector<std::string> suspects_of_zigzag(const std::string& kinds) {
  if (reads(kinds, 'F', 'W', 'W')) return {"ZZ2"};
  if (kinds.size() >= 3 && kinds.front() == 'F' && kinds.find('S') != std::string::npos)
    return {"ZZ4", "RF4"};
  if (kinds.size() >= 3 && kinds.front() == 'F') return {"ZZ4", "ZZ2"};
  return {};
}

// The wrong rows of packed sequences: which sequences are right?
std::vector<std::string> suspects_of_packs(const Mask& mask, const TensorComparison& tensor) {
  if (mask.cu_seqlens.size() < 4 || tensor.wrong_rows.empty()) return {};
  const Position first = tensor.wrong_rows.begin()->first;
  if (first == mask.cu_seqlens[1]) return {"VL1", "VL2"};
  if (first == mask.cu_seqlens[2]) return {"VL3"};
  return {};
}

}  // namespace

std::vector<Cause> causes_by_picture(const Evidence& e) {
  const Problem& p = e.problem;
  for (const TensorComparison& tensor : e.comparison.tensors)
    if (tensor.name == "out") {
      const auto ids = suspects_of_packs(p.mask, tensor);
      if (!ids.empty()) return causes_named(ids, "by the sequences that are wrong");
      if (p.mask.left != kNoLimit && !tensor.wrong_rows.empty() &&
          tensor.wrong_rows.begin()->first == p.mask.left)
        return causes_named({"SW1"}, "by the first row that is wrong");
    }
  const std::vector<ErrorMap> maps = error_maps(e.comparison, p.sharding());
  if (maps.empty() || p.mask.right != 0 || p.mask.left != kNoLimit || !p.mask.cu_seqlens.empty()) return {};
  const std::string kinds = kinds_of(maps[0]);
  const auto ids = p.layout == Layout::kContiguous ? suspects_of_causal(kinds)
                   : p.layout == Layout::kZigzag   ? suspects_of_zigzag(kinds)
                                                   : std::vector<std::string>{};
  return causes_named(ids, "by the picture of wrong rows");
}

std::vector<Cause> causes_by_gradients(const Evidence& e) {
  constexpr double kMostOf = 0.5;  // of the elements: a mistake of the formula spares few
  std::string wrong;
  for (const TensorComparison& tensor : e.comparison.tensors) {
    if (tensor.name == "out" || tensor.name == "lse") continue;
    if (tensor.wrong > 0 && static_cast<double>(tensor.wrong) < kMostOf * static_cast<double>(tensor.total))
      return {};
    wrong += tensor.wrong > 0 ? 'x' : '.';
  }
  const std::pair<const char*, std::vector<std::string>> table[] = {{"xxx", {"RB7", "BW3", "RB9"}},
                                                                    {"xx.", {"BW1", "RB8", "BW8"}},
                                                                    {"x..", {"RB10", "BW7-dq"}},
                                                                    {".x.", {"BW7", "BW11"}},
                                                                    {"..x", {"BW5"}},
                                                                    {".xx", {"RB1", "RB2", "RB3"}}};
  for (const auto& [signs, ids] : table)
    if (wrong == signs) return causes_named(ids, "by which gradients are wrong");
  return {};
}

}  // namespace ringcraft::verify
