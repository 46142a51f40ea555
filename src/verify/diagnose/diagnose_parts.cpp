// Explains out and lse part by part: if no mistake explains all rows, the rows of each head, batch entry or
// rank are examined separately. The explanation of most parts comes first; in the others it is combined with
// a second mistake.
#include <algorithm>
#include <optional>
#include <set>

#include "verify/diagnose/diagnose_detail.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

constexpr std::size_t kMostParts = 24;

// An explanation of the rows of one part: one or two mistakes.
struct Explanation {
  std::vector<Cause> causes;
  std::optional<Suspect> suspect = {};  // of known mistakes, to be combined with a second one in other parts

  bool operator==(const Explanation& other) const {
    return std::ranges::equal(causes, other.causes, {}, &Cause::sentence, &Cause::sentence);
  }
};

struct PartRows {
  RowPart part;
  std::vector<Explanation> explanations = {};
};

using Grouping = std::vector<PartRows>;

std::vector<Grouping> groupings(const Evidence& e) {
  const auto batches = e.problem.batch, heads = e.problem.heads;
  const int ranks = e.place.count();
  std::vector<Grouping> all(4);
  for (Index h = 0; h < heads && heads > 1; ++h) all[0].push_back({{.head = h}});
  for (Index b = 0; b < batches && batches > 1; ++b) all[1].push_back({{.batch = b}});
  for (int r = 0; r < ranks; ++r) all[2].push_back({{.rank = r}});
  for (Index b = 0; b < batches && batches > 1; ++b)
    for (int r = 0; r < ranks; ++r) all[3].push_back({{.rank = r, .batch = b}});
  std::erase_if(all, [](const Grouping& parts) { return parts.empty() || parts.size() > kMostParts; });
  return all;
}

// Explains one grouping of the rows.
class ByParts {
 public:
  explicit ByParts(const Evidence& e)
      : e_(e),
        ring_(e.problem, e.inputs, e.oracle.value, e.place, e.exponents()),
        laws_(pair_law_suspects(e.problem, *e.ring)) {}

  std::vector<Cause> explained(Grouping parts) {
    const std::size_t all = parts.size();
    std::size_t open = 0;
    std::erase_if(parts, [&](const PartRows& each) { return is_right(each.part); });
    for (PartRows& each : parts) {
      look_up(each);
      open += each.explanations.empty();
      if (open * 2 > all) return {};
    }
    for (PartRows& each : parts)
      if (each.explanations.empty() && !explain_with(parts, each) && !solve(each)) return {};
    return told(parts, all);
  }

 private:
  Evidence evidence_of(const RowPart& part) const {
    Evidence some = e_;
    some.part = part;
    return some;
  }

  bool is_right(const RowPart& part) const {
    return sample_of(evidence_of(part), TensorGroup::kForward, 1, 0).rows.empty();
  }

  // Tries known mistakes.
  void look_up(PartRows& to) const {
    const Evidence some = evidence_of(to.part);
    const Found found = search(some, TensorGroup::kForward, e_.oracle.value, e_.place);
    for (const Match& match : found.matches) {
      const bool each_row = match.fit == Fit::kAll && match.hits == match.rows;
      if (each_row || (match.fit == Fit::kSomeRanks && to.part.rank < 0))
        to.explanations.push_back(of(match));
    }
  }

  // Tries everything that can be solved for, which costs more.
  bool solve(PartRows& to) const {
    const Evidence some = evidence_of(to.part);
    SolvedPass solved = solve_forward(some);
    if (is_vague(solved))
      if (SolvedPass rows = solve_rows(some); rows.solved) solved = std::move(rows);
    if (is_vague(solved))
      for (const auto& cause : {cause_of_fold(some), cause_of_rescaling(some)})
        if (cause) solved = {.solved = true, .causes = {*cause}};
    if (!is_vague(solved) && !solved.causes.empty()) to.explanations.push_back({solved.causes});
    return !to.explanations.empty();
  }

  static Explanation of(const Match& match) {
    const Suspect& suspect = *match.suspect;
    Explanation result{suspect.apart.empty() ? std::vector<Cause>{suspect.cause} : suspect.apart, suspect};
    if (match.fit != Fit::kSomeRanks) return result;
    std::vector<std::string> ranks;
    for (const int rank : match.ranks) ranks.push_back(std::to_string(rank));
    for (Cause& cause : result.causes)
      cause.sentence += "; on " + std::string(ranks.size() == 1 ? "rank " : "ranks ") + list_of(ranks);
    result.suspect.reset();
    return result;
  }

  // Tries a second mistake on top of one that explains other parts.
  bool explain_with(const Grouping& parts, PartRows& to) const {
    const Evidence some = evidence_of(to.part);
    const Sample glance = sample_of(some, TensorGroup::kForward, 2, 0),
                 all = sample_of(some, TensorGroup::kForward, 48, 48);
    for (const PartRows& other : parts)
      for (const Explanation& first : other.explanations) {
        if (!first.suspect) continue;
        for (const auto* list : {&forward_suspects(), &laws_})
          for (const Suspect& second : *list) {
            const std::optional<Twist> twist = both(first.suspect->twist, second.twist);
            if (!twist || !ring_.can_be(*twist) || TwistedRing::slow(*twist)) continue;
            const Suspect pair{first.suspect->cause, *twist};
            if (match(some, ring_, pair, TensorGroup::kForward, glance).fit != Fit::kAll) continue;
            const Match sure = match(some, ring_, pair, TensorGroup::kForward, all);
            if (sure.fit != Fit::kAll || sure.hits != sure.rows) continue;
            to.explanations.push_back({{first.suspect->cause, second.cause}});
            return true;
          }
        if (!to.explanations.empty()) return true;
      }
    return false;
  }

  // One explanation for each part, with as few different ones as possible.
  static std::vector<const Explanation*> fewest(const Grouping& parts) {
    std::vector<const Explanation*> chosen(parts.size(), nullptr);
    const auto has = [](const PartRows& part, const Explanation& one) {
      return std::ranges::count(part.explanations, one) > 0;
    };
    for (;;) {
      const Explanation* best = nullptr;
      std::ptrdiff_t most = 0;
      for (std::size_t i = 0; i < parts.size(); ++i)
        for (const Explanation& one : parts[i].explanations) {
          std::ptrdiff_t covers = 0;
          for (std::size_t j = 0; j < parts.size(); ++j) covers += chosen[j] == nullptr && has(parts[j], one);
          if (covers > most) best = &one, most = covers;
        }
      if (best == nullptr) return chosen;
      for (std::size_t j = 0; j < parts.size(); ++j)
        if (chosen[j] == nullptr && has(parts[j], *best)) chosen[j] = best;
    }
  }

  // Every cause with the parts, of so many, in which it occurs; the one of most parts first.
  std::vector<Cause> told(const Grouping& parts, std::size_t of) const {
    std::vector<std::pair<Cause, std::vector<RowPart>>> all;
    const auto chosen = fewest(parts);
    for (std::size_t i = 0; i < parts.size(); ++i)
      for (const Cause& cause : chosen[i]->causes) {
        auto at =
            std::ranges::find(all, cause.sentence, [](const auto& each) { return each.first.sentence; });
        if (at == all.end()) at = all.insert(all.end(), {cause, {}});
        at->second.push_back(parts[i].part);
      }
    std::ranges::stable_sort(all,
                             [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
    std::vector<Cause> causes;
    for (auto& [cause, where] : all) {
      const std::string words = where.size() == of ? "" : words_of(where);
      if (!words.empty()) cause.sentence += (where.size() * 2 > of ? "; seen " : "; only ") + words;
      causes.push_back(cause);
    }
    return causes;
  }

  // "on ranks 0 and 1 in batch entry 1".
  std::string words_of(const std::vector<RowPart>& where) const {
    std::set<Index> ranks, batches, heads;
    for (const RowPart& part : where)
      ranks.insert(part.rank), batches.insert(part.batch), heads.insert(part.head);
    std::string words;
    const auto add = [&](const std::set<Index>& set, const char* one, const char* several, Index of) {
      std::vector<std::string> numbers;
      for (const Index number : set) numbers.push_back(std::to_string(number));
      if (*set.begin() >= 0 && static_cast<Index>(set.size()) < of)
        words += (words.empty() ? "" : " ") + std::string(set.size() == 1 ? one : several) + list_of(numbers);
    };
    add(ranks, "on rank ", "on ranks ", e_.place.count());
    add(batches, "in batch entry ", "in batch entries ", e_.problem.batch);
    add(heads, "in head ", "in heads ", e_.problem.heads);
    return words;
  }

  const Evidence& e_;
  TwistedRing ring_;
  std::vector<Suspect> laws_;
};

}  // namespace

std::vector<Cause> causes_by_parts(const Evidence& e) {
  constexpr double kMostWork = 2e9;  // multiplications, roughly
  if (e.ring == nullptr || !e.place.ring || e.place.count() < 2) return {};
  if (!are_numbers(e, TensorGroup::kForward)) return {};  // many mistakes leave none in a part
  const double work = static_cast<double>(e.problem.queries.size() * e.problem.keys.size()) *
                      static_cast<double>(e.problem.batch * e.problem.heads * e.problem.head_dim) * 300;
  if (work > kMostWork) return {};
  ByParts by(e);
  for (Grouping& parts : groupings(e))
    if (std::vector<Cause> causes = by.explained(std::move(parts)); !causes.empty()) return causes;
  return {};
}

}  // namespace ringcraft::verify
