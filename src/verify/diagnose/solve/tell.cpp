// Describes the deviations of all lines with the fewest laws: tries a single law first, then greedily the law
// that covers most pairs.
#include "verify/diagnose/solve/tell.hpp"

#include <algorithm>
#include <set>

namespace ringcraft::verify {
namespace {

using Pair = std::pair<int, int>;  // (shard, block)
using Pairs = std::set<Pair>;

class Teller {
 public:
  Teller(const Arrangement& place, const std::vector<LineSystem>& lines, double least) : place_(place) {
    for (const LineSystem& line : lines)
      for (const auto& [key, size] : line.shows)
        if (size > least) visible_[key.second].insert(pair_of(line, key.first));
  }

  // Chooses laws until every deviation is covered.
  std::vector<Told> tell(const std::map<Pair, std::vector<Law>>& deviations) const {
    std::map<Pair, std::vector<Law>> left = deviations;
    std::vector<Told> told;
    while (!left.empty()) {
      std::map<Law, Pairs> holds;
      for (const auto& [pair, laws] : left)
        for (const Law& law : laws)
          if (law.which != Law::Which::kReflected) holds[law].insert(pair);
      if (holds.empty()) break;
      const auto best = std::ranges::max_element(holds, [&](const auto& a, const auto& b) {
        return rank_of(a.first, a.second, deviations) < rank_of(b.first, b.second, deviations);
      });
      Told next{best->first, domain_of(best->first, best->second, deviations), {}};
      for (const auto& [law, pairs] : holds)
        if (law != best->first && pairs == best->second) next.others.push_back(law);
      for (const Pair& pair : best->second) left.erase(pair);
      told.push_back(std::move(next));
    }
    return told;
  }

  // A single law in a single domain that explains every line, with all equivalent laws in the same domain.
  std::optional<Told> single(const std::vector<LineSystem>& lines, double threshold) const {
    std::vector<std::vector<std::map<Law, std::size_t>>> states;  // of each line and slot
    std::set<Law> laws;
    for (const LineSystem& line : lines) {
      auto& of_line = states.emplace_back();
      for (const std::vector<SlotState>& slot : line.slots) {
        auto& of_slot = of_line.emplace_back();
        for (std::size_t state = 0; state < slot.size(); ++state)
          for (const Law& law : slot[state].laws) {
            of_slot.emplace(law, state);
            laws.insert(law);
          }
      }
    }
    const auto explains = [&](const Law& law, const Domain& domain) {
      for (std::size_t l = 0; l < lines.size(); ++l) {
        std::vector<std::size_t> choice;
        for (std::size_t slot = 0; slot < lines[l].slots.size(); ++slot) {
          const auto at = states[l][slot].find(law);
          const bool holds =
              at != states[l][slot].end() && inside(domain, pair_of(lines[l], static_cast<int>(slot)));
          choice.push_back(holds ? at->second : 0);
        }
        if (residual_with(lines[l], choice) > threshold) return false;
      }
      return true;
    };
    for (const Domain& domain : domains()) {
      std::vector<Law> fit;
      for (const Law& law : laws)
        if ((law.which != Law::Which::kReflected || domain.kind == Domain::Kind::kAll) &&
            explains(law, domain))
          fit.push_back(law);
      if (!fit.empty()) return Told{fit.front(), shown(domain, fit.front()), {fit.begin() + 1, fit.end()}};
    }
    return {};
  }

  static Pair pair_of(const LineSystem& line, int slot) {
    return line.of_keys ? Pair{slot, line.line} : Pair{line.line, slot};
  }

 private:
  // The order of preference: most pairs; then a law with a domain; then the simpler deed.
  std::tuple<std::size_t, bool, int, int> rank_of(const Law& law, const Pairs& pairs,
                                                  const std::map<Pair, std::vector<Law>>& deviations) const {
    return {pairs.size(), domain_of(law, pairs, deviations).kind != Domain::Kind::kPairs,
            -static_cast<int>(law.deed), -static_cast<int>(law.which == Law::Which::kOffset)};
  }

  int step(const Pair& pair) const {
    return place_.ring ? place_.wrapped(pair.first - pair.second) : pair.second;
  }

  bool inside(const Domain& d, const Pair& p) const {
    using Kind = Domain::Kind;
    switch (d.kind) {
      case Kind::kAll:
        return true;
      case Kind::kOwn:
        return step(p) == 0;
      case Kind::kReceived:
        return step(p) > 0;
      case Kind::kLater:
        return p.second > p.first;
      case Kind::kEarlier:
        return p.second < p.first;
      case Kind::kStep:
        return step(p) == d.number;
      case Kind::kFromStep:
        return step(p) >= d.number;
      case Kind::kUpToStep:
        return step(p) <= d.number;
      case Kind::kShard:
        return p.first == d.number;
      case Kind::kBlock:
        return p.second == d.number;
      case Kind::kPairs:
        break;
    }
    return std::ranges::find(d.pairs, p) != d.pairs.end();
  }

  // The domains that have a name, the simplest first.
  std::vector<Domain> domains() const {
    using Kind = Domain::Kind;
    std::vector<Domain> all{{Kind::kAll}};
    if (place_.ring)
      for (const Kind kind : {Kind::kOwn, Kind::kReceived, Kind::kLater, Kind::kEarlier})
        all.push_back({kind});
    const int n = place_.count();
    for (int k = 0; k < n; ++k) all.push_back({Kind::kStep, k});
    for (int k = 2; k < n; ++k) all.push_back({Kind::kFromStep, k});
    for (int k = 1; k + 1 < n; ++k) all.push_back({Kind::kUpToStep, k});
    for (int k = 0; k < n && place_.ring; ++k) {
      all.push_back({Kind::kShard, k});
      all.push_back({Kind::kBlock, k});
    }
    return all;
  }

  // The simplest domain that holds wherever the law would show, and nowhere where another one shows instead.
  Domain domain_of(const Law& law, const Pairs& pairs,
                   const std::map<Pair, std::vector<Law>>& deviations) const {
    using Kind = Domain::Kind;
    Pairs could = pairs;
    for (const auto& [pair, laws] : deviations)
      if (std::ranges::find(laws, law) == laws.end()) could.insert(pair);
    if (const auto at = visible_.find(law); at != visible_.end())
      could.insert(at->second.begin(), at->second.end());
    for (const Domain& domain : domains()) {
      const bool fits =
          std::ranges::all_of(could, [&](const Pair& p) { return inside(domain, p) == pairs.contains(p); });
      if (fits) return shown(domain, law);
    }
    return {Kind::kPairs, 0, {pairs.begin(), pairs.end()}};
  }

  // All blocks, but for the own one if the law would not show there: nothing is said about it.
  Domain shown(const Domain& domain, const Law& law) const {
    const auto at = visible_.find(law);
    if (domain.kind != Domain::Kind::kAll || !place_.ring || at == visible_.end() || at->second.empty())
      return domain;
    const bool own = std::ranges::any_of(at->second, [&](const Pair& pair) { return step(pair) == 0; });
    return own ? domain : Domain{Domain::Kind::kReceived};
  }

  const Arrangement& place_;
  std::map<Law, Pairs> visible_;
};

std::size_t words_of(const std::vector<Told>& told) {
  std::size_t words = 0;
  for (const Told& each : told) words += 2 + each.where.pairs.size();
  return words;
}

}  // namespace

std::optional<std::vector<Told>> tell(const Arrangement& place, const std::vector<LineSystem>& lines,
                                      double threshold) {
  const auto right = [](const LineSystem& line) {
    return !line.solutions.empty() && line.solutions[0].empty();
  };
  if (std::ranges::all_of(lines, right)) return std::vector<Told>{};
  const Teller teller(place, lines, 1);
  if (auto law = teller.single(lines, threshold)) return std::vector<Told>{std::move(*law)};
  if (!std::ranges::all_of(lines, &LineSystem::solved)) return {};
  std::vector<Told> best;
  for (const bool last : {false, true}) {
    std::map<Pair, std::vector<Law>> deviations;
    for (const LineSystem& line : lines)
      for (const auto& [slot, laws] : last ? line.solutions.back() : line.solutions.front())
        deviations[Teller::pair_of(line, slot)] = laws;
    std::vector<Told> told = teller.tell(deviations);
    if (!last || words_of(told) < words_of(best)) best = std::move(told);
  }
  return best;
}

std::optional<Cause> cause_of_cells(const Arrangement& place, const BlockProblem& problem,
                                    const std::vector<LineSystem>& lines, const std::string& where) {
  Index missing = 0, extra = 0;
  std::string first;
  for (const LineSystem& line : lines) {
    if (line.solved && line.coefficients.empty() && line.solutions[0].empty()) continue;
    if (line.coefficients.empty()) return {};
    for (std::size_t c = 0; c < line.cells.size(); ++c) {
      const LineSystem::Cell& cell = line.cells[c];
      const double want = cell.seen ? 1 : 0;
      if (line.coefficients[c] == want) continue;
      (line.coefficients[c] < want ? missing : extra) += cell.pairs;
      if (!first.empty()) continue;
      const auto [shard, block] = Teller::pair_of(line, line.slot_of[c]);
      const auto q = place.shards[static_cast<std::size_t>(shard)][static_cast<std::size_t>(cell.row)];
      const auto k = place.blocks[static_cast<std::size_t>(block)][static_cast<std::size_t>(cell.key)];
      first = "the query at position " + std::to_string(problem.queries[static_cast<std::size_t>(q)]) +
              " uses the key at position " + std::to_string(problem.keys[static_cast<std::size_t>(k)]) + " " +
              std::to_string(static_cast<int>(line.coefficients[c])) + " times, and should " +
              (cell.seen ? "once" : "not at all");
      if (place.ring)
        first += " (rank " + std::to_string(shard) + ", block of rank " + std::to_string(block) + ")";
    }
  }
  if (first.empty()) return {};
  return Cause{"solved-pairs",
               (where.empty() ? "" : where + ": ") +
                   std::string("of the pairs of query and key that were looked at, ") +
                   std::to_string(missing) + " are missing and " + std::to_string(extra) +
                   " are used too often; first: " + first,
               "Which of your masks, or which loop's borders, decides about this pair?"};
}

}  // namespace ringcraft::verify
