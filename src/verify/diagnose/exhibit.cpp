// Explains the exhibits of one program together: groups them by kind, leaves out causes that its other calls
// rule out, keeps those that most of a kind share, and reports the kind closest to the mistake.
#include "verify/diagnose/exhibit.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/diagnose_detail.hpp"

namespace ringcraft::verify {
namespace {

bool sees_one_key(const BlockProblem& p, Position q) {
  return std::ranges::count_if(p.keys, [&](Position k) { return visible(p.mask, q, k); }) == 1;
}

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
      telling +=
          is_unwritten(difference.got) || !sees_one_key(p, q);  // one without a key tells how it is treated
      ++wrong;
    }
  return telling > 2 || (telling > 0 && telling == wrong);
}

// Whether every row sees one key: gradients of such a problem say little if others say more.
bool is_of_one_key(const Exhibit& exhibit) {
  const auto* const attention = std::get_if<AttentionExhibit>(exhibit.get());
  return attention != nullptr && std::ranges::all_of(attention->problem.queries, [&](Position q) {
           return sees_one_key(attention->problem, q);
         });
}

// Whether it is zero where it should not be: such an exhibit says little if others say more.
bool is_zero(const Exhibit& exhibit) {
  const auto* const attention = std::get_if<AttentionExhibit>(exhibit.get());
  if (attention == nullptr || attention->ring || attention->claim.out.empty()) return false;
  return any_wrong(attention->comparison, TensorGroup::kForward) && all_zero(attention->claim.out);
}

// Exhibits of one origin come from one function: those of another may be right, or wrong in another way.
using Origin = std::pair<std::size_t, bool>;  // which type; whether only gradients are wrong
Origin origin_of(const Exhibit& exhibit) {
  const auto* const attention = std::get_if<AttentionExhibit>(exhibit.get());
  const bool forward = attention == nullptr || any_wrong(attention->comparison, TensorGroup::kForward);
  return {exhibit->index(), !forward};
}

bool is_guess(const Conjunction& causes) { return std::ranges::any_of(causes, &Cause::guess); }

// The causes that most exhibits of one kind agree on.
class Agreement {
 public:
  explicit Agreement(std::vector<Explanations> of_each) : of_each_(std::move(of_each)) {}

  // Explanations whose first agreed cause is one of at least half of the exhibits, or of all those that any
  // cause explains, the first one among them; a guess must be one of half of them.
  std::vector<Conjunction> explanations() const {
    std::vector<std::pair<Cause, int>> causes = counted();
    std::vector<Conjunction> agreed;
    std::set<std::string> told;
    for (const auto& [cause, exhibits] : causes) {
      const bool half = 2 * exhibits >= static_cast<int>(of_each_.size());
      if (exhibits < causes.front().second ||
          !(half || (exhibits == explained() && explains_first(cause.id) && !cause.guess)))
        continue;
      if (told.contains(cause.id)) continue;
      agreed.push_back(widest_with(cause.id));
      told.merge(ids_of(agreed.back()));
    }
    return agreed;
  }

 private:
  int explained() const {
    return static_cast<int>(std::ranges::count_if(of_each_, [](const auto& each) { return !each.empty(); }));
  }

  bool explains_first(const std::string& id) const {
    return std::ranges::any_of(of_each_.front(),
                               [&](const Conjunction& causes) { return ids_of(causes).contains(id); });
  }

  // Every cause once, with the number of exhibits that it is a cause of; the most frequent first.
  std::vector<std::pair<Cause, int>> counted() const {
    std::vector<std::pair<Cause, int>> all;
    for (const std::vector<Conjunction>& each : of_each_) {
      std::set<std::string> ids;  // a cause may have several wordings
      for (const Conjunction& causes : each)
        for (const Cause& cause : causes) {
          if (!ids.insert(cause.id).second) continue;
          const auto known =
              std::ranges::find(all, cause.id, [](const auto& counted) { return counted.first.id; });
          if (known == all.end())
            all.push_back({cause, 1});
          else
            ++known->second;
        }
    }
    std::ranges::stable_sort(all, std::ranges::greater(), &std::pair<Cause, int>::second);
    return all;
  }

  // How many exhibits these causes explain: where two mistakes explain one together, another may show one of
  // them alone.
  auto width(const Conjunction& causes) const {
    return std::ranges::count_if(of_each_, [ids = ids_of(causes)](const auto& others) {
      return std::ranges::any_of(
          others, [&](const Conjunction& other) { return std::ranges::includes(ids, ids_of(other)); });
    });
  }

  // Among the explanations with this cause the one that explains most exhibits; guesses last, simpler ones
  // first.
  const Conjunction& widest_with(const std::string& id) const {
    const Conjunction* widest = nullptr;
    const auto rank = [&](const Conjunction& causes) {
      return std::tuple(width(causes), !is_guess(causes), -static_cast<int>(causes.size()));
    };
    for (const std::vector<Conjunction>& each : of_each_)
      for (const Conjunction& causes : each)
        if (ids_of(causes).contains(id) && (widest == nullptr || rank(causes) > rank(*widest)))
          widest = &causes;
    return *widest;
  }

  std::vector<Explanations> of_each_;
};

std::vector<Conjunction> agreed(const std::vector<Exhibit>& exhibits, const std::vector<Case>& right) {
  ExplanationsOfEach of_each = explanations_of_each(exhibits, right);
  const std::vector<Conjunction> left = Agreement(std::move(of_each.left)).explanations();
  return !left.empty() ? left : Agreement(std::move(of_each.all)).explanations();
}

// Removes causes that describe one mistake in other words.
void erase_repeats(std::vector<Cause>& causes) {
  for (const auto& [kept, repeated] : kSameMistakes)
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

std::vector<Cause> causes_of(const std::vector<Exhibit>& exhibits, const std::vector<Case>& right) {
  std::vector<std::pair<Origin, std::vector<Exhibit>>> origins;  // in the order of the checks
  std::vector<Exhibit> all = with_one_scan(exhibits);
  if (!std::ranges::all_of(all, is_zero)) std::erase_if(all, is_zero);
  for (const Exhibit& exhibit : all) {
    if (!is_telling(exhibit)) continue;
    const Origin origin = origin_of(exhibit);
    auto same = std::ranges::find(origins, origin, [](const auto& each) { return each.first; });
    if (same == origins.end()) same = origins.insert(same, {origin, {}});
    same->second.push_back(exhibit);
  }
  for (auto& [origin, alike] : origins)
    if (!std::ranges::all_of(alike, is_of_one_key)) std::erase_if(alike, is_of_one_key);
  std::vector<Cause> causes;
  const auto list = [&](const Conjunction& each) {
    if (std::ranges::find(causes, each.front().id, &Cause::id) == causes.end())
      std::ranges::copy(each, std::back_inserter(causes));
  };
  std::optional<std::size_t> type;  // a function's own results say more than those built upon them
  for (const auto& [origin, alike] : origins)
    for (const Conjunction& each :
         !type || type == origin.first ? agreed(alike, right) : std::vector<Conjunction>{})
      list(each), type = origin.first;
  erase_repeats(causes);
  if (causes.size() < 2 || std::ranges::any_of(causes, &Cause::also)) return causes;
  // Kernels that were tested one by one on a state that has seen keys distinguish mistakes that look alike
  // without one.
  for (const auto& [origin, alike] : origins)
    if (type != origin.first && std::holds_alternative<StepExhibit>(*alike.front()))
      if (std::vector<Conjunction> steps = agreed(alike, right); !steps.empty()) {
        causes.clear();
        for (const Conjunction& each : steps) list(each);
        return causes;
      }
  std::set<std::string> also;  // among equally good causes, those that explain the others too come first
  for (const auto& [origin, alike] : origins)
    if (type != origin.first)
      for (const Conjunction& each : agreed(alike, right)) also.merge(ids_of(each));
  std::stable_partition(causes.begin(), causes.end(),
                        [&](const Cause& cause) { return also.contains(cause.id); });
  return causes;
}

std::vector<Cause> causes_of(const Exhibit& exhibit) {
  return std::visit([](const auto& one) { return causes_of(one); }, *exhibit);
}

}  // namespace ringcraft::verify
