// Explains the exhibits of one program together: groups them by kind, keeps the causes that most of a kind
// share, and reports the kind closest to the mistake.
#include "verify/diagnose/exhibit.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/diagnose_detail.hpp"

namespace ringcraft::verify {
namespace {

// Whether wrong rows see enough keys for mistakes to differ: with one key, every weight is 1. Unwritten
// memory tells enough, too.
bool is_telling(const Exhibit& exhibit) {
  const auto* const attention = std::get_if<AttentionExhibit>(exhibit.get());
  if (attention == nullptr) return true;
  const BlockProblem& p = attention->problem;
  int telling = 0, wrong = 0;
  for (const TensorComparison& tensor : attention->comparison.tensors)
    for (const auto& [position, difference] : tensor.wrong_rows) {
      if (tensor.name == "dk" || tensor.name == "dv") return true;
      const Position q = p.queries[static_cast<std::size_t>(position)];
      const auto seen = std::ranges::count_if(p.keys, [&](Position k) { return visible(p.mask, q, k); });
      telling += is_unwritten(difference.got) || seen != 1;  // a row without a key shows how it is treated
      ++wrong;
    }
  return telling > 2 || (telling > 0 && telling == wrong);
}

// Whether it is zero where it should not be: such an exhibit says little if others say more.
bool is_zero(const Exhibit& exhibit) {
  const auto* const attention = std::get_if<AttentionExhibit>(exhibit.get());
  if (attention == nullptr || attention->ring || attention->claim.out.empty()) return false;
  return any_wrong(attention->comparison, TensorGroup::kForward) && all_zero(attention->claim.out);
}

// Exhibits of one kind come from one function: those of another kind may be right, or wrong in another way.
using Kind = std::pair<std::size_t, bool>;  // which type; whether only gradients are wrong
Kind kind_of(const Exhibit& exhibit) {
  const auto* const attention = std::get_if<AttentionExhibit>(exhibit.get());
  const bool forward = attention == nullptr || any_wrong(attention->comparison, TensorGroup::kForward);
  return {exhibit->index(), !forward};
}

struct Held {
  Cause cause;
  int exhibits;
};

// Causes that explain at least half of the exhibits of one kind, or all those that any cause explains; a
// guess must explain half of them.
std::vector<Held> agreed(const std::vector<Exhibit>& exhibits) {
  std::vector<Held> all;
  int explained = 0;
  for (const Exhibit& exhibit : exhibits) {
    const std::vector<Cause> causes = causes_of(exhibit);
    explained += causes.empty() ? 0 : 1;
    std::vector<std::string> ids;  // a cause may have several wordings
    for (const Cause& cause : causes) {
      if (std::ranges::find(ids, cause.id) != ids.end()) continue;
      ids.push_back(cause.id);
      const auto known = std::ranges::find(all, cause.id, [](const Held& held) { return held.cause.id; });
      if (known == all.end())
        all.push_back({cause, 1});
      else
        ++known->exhibits;
    }
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &Held::exhibits);
  std::erase_if(all, [&, most = all.empty() ? 0 : all.front().exhibits](const Held& held) {
    const bool half = 2 * held.exhibits >= static_cast<int>(exhibits.size());
    return held.exhibits < most || !(half || (held.exhibits == explained && !held.cause.guess));
  });
  return all;
}

// Removes causes that describe one mistake in other words, found by several parts of the diagnosis.
void erase_repeats(std::vector<Cause>& causes) {
  constexpr std::pair<std::string_view, std::string_view> kSame[] = {{"SS3", "scan-max-zero"},
                                                                     {"scan-max-zero", "scan-max-start"}};
  for (const auto& [kept, repeated] : kSame)
    if (std::ranges::find(causes, kept, &Cause::id) != causes.end())
      std::erase_if(causes, [&](const Cause& cause) { return cause.id == repeated; });
}

// Combines all scanned rows, right ones too, into one exhibit: a cause must explain each of them.
std::vector<Exhibit> with_one_scan(const std::vector<Exhibit>& exhibits) {
  ScanExhibit all;
  std::vector<Exhibit> others;
  for (const Exhibit& exhibit : exhibits)
    if (const auto* const scan = std::get_if<ScanExhibit>(exhibit.get())) {
      all.rows.insert(all.rows.end(), scan->rows.begin(), scan->rows.end());
      all.normalized = scan->normalized, all.precision = scan->precision;
    } else {
      others.push_back(exhibit);
    }
  if (!all.rows.empty())
    others.insert(others.begin(), std::make_shared<const Exhibit::element_type>(std::move(all)));
  return others;
}

}  // namespace

std::vector<Cause> causes_of(const std::vector<Exhibit>& exhibits) {
  std::vector<std::pair<Kind, std::vector<Exhibit>>> kinds;  // in the order of the checks
  std::vector<Exhibit> all = with_one_scan(exhibits);
  if (!std::ranges::all_of(all, is_zero)) std::erase_if(all, is_zero);
  for (const Exhibit& exhibit : all) {
    if (!is_telling(exhibit)) continue;
    const Kind kind = kind_of(exhibit);
    auto same = std::ranges::find(kinds, kind, [](const auto& each) { return each.first; });
    if (same == kinds.end()) same = kinds.insert(same, {kind, {}});
    same->second.push_back(exhibit);
  }
  std::vector<Cause> causes;
  std::optional<std::size_t> type;  // a function's own results say more than those built upon them
  for (const auto& [kind, alike] : kinds)
    for (Held& held : !type || type == kind.first ? agreed(alike) : std::vector<Held>{})
      if (std::ranges::find(causes, held.cause.id, &Cause::id) == causes.end())
        causes.push_back(std::move(held.cause)), type = kind.first;
  erase_repeats(causes);
  if (causes.size() < 2) return causes;
  // Kernels that were tested one by one on a state that has seen keys distinguish mistakes that look alike
  // without one.
  for (const auto& [kind, alike] : kinds)
    if (type != kind.first && std::holds_alternative<StepExhibit>(*alike.front()))
      if (std::vector<Held> held = agreed(alike); !held.empty()) {
        causes.clear();
        for (Held& each : held) causes.push_back(std::move(each.cause));
        return causes;
      }
  std::set<std::string> also;  // among equally good causes, those that explain the others too come first
  for (const auto& [kind, alike] : kinds)
    if (type != kind.first)
      for (const Held& held : agreed(alike)) also.insert(held.cause.id);
  std::stable_partition(causes.begin(), causes.end(),
                        [&](const Cause& cause) { return also.contains(cause.id); });
  return causes;
}

std::vector<Cause> causes_of(const Exhibit& exhibit) {
  return std::visit([](const auto& one) { return causes_of(one); }, *exhibit);
}

}  // namespace ringcraft::verify
