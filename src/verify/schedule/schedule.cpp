// Checks a whole replay: every visible pair exactly once, every gradient complete on its owner, and the
// closed-form costs; reports the proof with one row per claim.
#include "verify/schedule/schedule.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "ringcraft/core/shown.hpp"
#include "ringcraft/parallel/hybrid/hybrid_theory.hpp"
#include "ringcraft/ring/messages.hpp"
#include "verify/schedule/rows/sum_flaws.hpp"

namespace ringcraft::verify {
namespace {

std::string rank_name(int rank) { return "rank " + std::to_string(rank); }

// "at steps 0 and 3", "at steps 0, 1, 2, 3 and 40 more".
std::string steps_of(const std::vector<int>& steps) {
  constexpr std::size_t kShown = 8;
  const std::size_t named = steps.size() > kShown ? kShown / 2 : steps.size() - 1;
  std::string text = "at steps " + std::to_string(steps[0]);
  for (std::size_t i = 1; i < named; ++i) text += ", " + std::to_string(steps[i]);
  return text + " and " +
         (steps.size() > kShown ? std::to_string(steps.size() - named) + " more"
                                : std::to_string(steps.back()));
}

class ScheduleProver {
 public:
  ScheduleProver(const Trace& trace, const Problem& problem, const ScheduleGoal& goal, ScheduleProof& proof)
      : trace_(trace), problem_(problem), goal_(goal), proof_(proof), flaws_(problem, goal.degree) {}

  void run() {
    proof_.violations = proof_.replay.violations;
    if (proof_.replay.complete) {
      if (goal_.forward) require_pairs(false);
      if (goal_.backward) require_pairs(true);
      require_results();
      if (goal_.backward) require_gradients();
      if (goal_.costs) require_costs(*goal_.costs);
    }
    std::ranges::stable_sort(proof_.violations, {}, &Violation::claim);
  }

 private:
  void violate(ScheduleClaim claim, const std::string& sentence) {
    proof_.violations.push_back({claim, sentence});
  }

  // ---- pairs: each rank against each block that it sees, once in every head

  struct Computed {
    Heads heads;
    int step;
  };

  std::string pass_words(bool backward) const {
    return goal_.forward && goal_.backward ? backward ? " in the backward pass" : " in the forward pass" : "";
  }

  void require_pairs(bool backward) {
    std::map<std::pair<int, int>, std::vector<Computed>> all;  // of each (queries, block)
    for (const Computation& c : proof_.replay.computations)
      if (c.backward == backward)
        all[{c.queries, c.block}].push_back(
            {c.heads == Heads{} ? Heads{0, problem_.shape.heads} : c.heads, c.step});
    const Problem& units = flaws_.rows().units();
    for (int queries = 0; queries < units.world_size; ++queries)
      for (int block = 0; block < units.world_size; ++block)
        require_pairs(queries, block, all[{queries, block}], pass_words(backward));
  }

  void require_pairs(int queries, int block, const std::vector<Computed>& computed, const std::string& pass) {
    const int joined = goal_.degree;
    const Index pairs = key_ranges(flaws_.rows().units(), queries, block).pairs();
    std::set<Index> borders{0, problem_.shape.heads};
    for (const Computed& c : computed) borders.insert({c.heads.first, c.heads.first + c.heads.count});
    for (auto border = borders.begin(); std::next(border) != borders.end(); ++border) {
      const Heads heads{*border, *std::next(border) - *border};
      std::vector<int> when;
      for (const Computed& c : computed)
        if (c.heads.first <= heads.first && heads.first < c.heads.first + c.heads.count)
          when.push_back(c.step);
      const bool all = heads.count == problem_.shape.heads;
      const std::string what = (all ? " " : " " + heads_name(heads) + " of ") +
                               std::string(joined > 1 ? "their" : "its") + " queries against " +
                               name_of({Content::kKeys, block, 0, {}, joined, {}}) + pass;
      const std::string who = ranks_name(queries, joined);
      if (pairs > 0 && when.empty())
        violate(ScheduleClaim::kPairs, who + (joined > 1 ? " never compute" : " never computes") + what +
                                           ", of which " + (joined > 1 ? "they see " : "it sees ") +
                                           counted(pairs, "pair"));
      if (when.size() > 1)
        violate(ScheduleClaim::kPairs, who + (joined > 1 ? " compute" : " computes") + what + " " +
                                           std::to_string(when.size()) + " times: " + steps_of(when));
    }
  }

  // ---- results: on their owners, with every share once

  // A rank whose trace states results states each of them, and every row of one is complete.
  void require_result(int owner, Content::Kind kind, ScheduleClaim claim) {
    const GivenResult* given = nullptr;
    for (const GivenResult& g : proof_.replay.given)
      if (g.rank == owner && g.kind == kind) given = &g;
    const std::string name = name_of({kind, owner, 0, {}}), home = rank_name(owner);
    if (given == nullptr) {
      violate(claim, home + " never gives " + name);
      return;
    }
    if (!given->whole) return;  // the replay has reported it
    std::set<std::string> flaws;
    for (const auto& [sum, heads] : given->sums) flaws.insert(flaws_.of(sum, heads));
    for (const std::string& flaw : flaws)
      if (!flaw.empty()) violate(claim, name + " on its owner, " + home + ", " + flaw);
  }

  bool states_results() const { return goal_.results || proof_.replay.states_results || goal_.degree > 1; }

  bool gives(int owner, Content::Kind kind) const {
    return std::ranges::any_of(proof_.replay.given,
                               [&](const GivenResult& g) { return g.rank == owner && g.kind == kind; });
  }

  void require_results() {
    if (!states_results()) return;
    for (int owner = 0; owner < problem_.world_size; ++owner) {
      if (problem_.sharding().rows(owner) == 0) continue;
      if (goal_.forward)
        for (const auto kind : {Content::kOutput, Content::kLse})
          require_result(owner, kind, ScheduleClaim::kPairs);
      if (goal_.backward) require_result(owner, Content::kQueryGradient, ScheduleClaim::kGradients);
    }
  }

  void require_gradients() {
    // A schedule in a text does not distinguish values from keys; elsewhere dv shares the fate of dk, once
    // that is reported.
    const bool stated = states_results();
    const bool values = stated || std::ranges::any_of(proof_.replay.gradients, [](const HeldGradient& g) {
                          return g.content.kind == Content::kValueGradient;
                        });
    for (int owner = 0; owner < problem_.world_size; ++owner) {
      if (problem_.sharding().rows(owner) == 0) continue;
      for (const auto kind : {Content::kKeyGradient, Content::kValueGradient}) {
        if (kind == Content::kValueGradient && !values) break;
        if (gives(owner, kind))
          require_result(owner, kind, ScheduleClaim::kGradients);
        else if (!require_gradient(owner, kind))
          break;
        else if (stated)
          require_result(owner, kind, ScheduleClaim::kGradients);  // it has it, and does not say so
      }
    }
  }

  // Takes, as the one that it keeps, the sum of its own block that the owner wrote last.
  bool require_gradient(int owner, Content::Kind kind) {
    const HeldGradient* kept = nullptr;
    const HeldGradient* elsewhere = nullptr;  // a right sum on another rank
    for (const HeldGradient& g : proof_.replay.gradients) {
      if (g.content.kind != kind || g.content.block != owner || !g.content.is_block()) continue;
      if (g.rank == owner && (kept == nullptr || g.written > kept->written)) kept = &g;
      if (g.rank != owner && flaws_.of(g.content).empty()) elsewhere = &g;
    }
    if (kept != nullptr && flaws_.of(kept->content).empty()) return true;
    const std::string name = name_of({kind, owner, 0, {}}), home = rank_name(owner);
    violate(ScheduleClaim::kGradients,
            elsewhere != nullptr
                ? name + " ends on " + rank_name(elsewhere->rank) + " and not on its owner, " + home
            : kept != nullptr ? name + " on its owner, " + home + ", " + flaws_.of(kept->content)
                              : name + " never reaches its owner, " + home);
    return false;
  }

  // ---- costs

  struct Spent {
    Index bytes = 0, messages = 0, peak = 0;
  };

  Spent spent_by(int rank) const {
    Spent spent;
    for (const TraceEvent& e : trace_.rank(rank).events()) {
      spent.peak = std::max(spent.peak, e.live_bytes);
      for (const TracedMessage& m : e.messages)
        if (m.kind == Op::kSend) {
          spent.bytes += m.bytes.size;
          ++spent.messages;
        }
    }
    return spent;
  }

  void require_equal(int rank, const char* what, Index got, Index want) {
    if (got != want)
      violate(ScheduleClaim::kCosts,
              rank_name(rank) + " " + what + " " + std::to_string(got) +
                  (goal_.costs->method == &kRing ? ", and a ring's " : ", and in theory ") +
                  std::to_string(want));
  }

  void require_costs(const PassCosts& costs) {
    const Theory theory = costs.method->theory(problem_, costs.options, costs.pass, costs.bytes);
    for (int rank = 0; rank < problem_.world_size; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      const Spent spent = spent_by(rank);
      require_equal(rank, "sends bytes:", spent.bytes, theory.bytes_sent[r]);
      require_equal(rank, "sends messages:", spent.messages,
                    theory.messages_sent[r] / (costs.one_message_per_block ? 2 : 1));
      // The most at the beginning of an event; of a ring that is the most there is.
      if (spent.peak > theory.peak_bytes[r] || (spent.peak > 0 && costs.method == &kRing))
        require_equal(rank, "holds at most bytes:", spent.peak, theory.peak_bytes[r]);
    }
    if (costs.method != &kRing) return;
    // With the pairs computed and the gradients home, as many hops as these leave no message that no rank
    // needs.
    const auto messages = ring_messages(problem_, costs.pass, costs.options.schedule);
    for (int block = 0; block < problem_.world_size; ++block) {
      const auto hops = [&](RingTransfer::What what) {
        return std::ranges::count_if(
            messages, [&](const RingTransfer& m) { return m.source == block && m.what == what; });
      };
      require_hops(block_name(block), hops(RingTransfer::kBlock));
      require_hops(name_of({Content::kKeyGradient, block, 0, {}}), hops(RingTransfer::kSum));
    }
  }

  // Counts how often a block moved on, over all ranks.
  void require_hops(const std::string& name, Index want) {
    Index hops = 0;
    for (int rank = 0; rank < trace_.world_size(); ++rank) {
      const auto& events = trace_.rank(rank).events();
      for (std::size_t number = 0; number < events.size(); ++number) {
        const auto& labels = proof_.replay.events[static_cast<std::size_t>(rank)][number].labels;
        for (std::size_t i = 0; i < labels.size(); ++i)
          hops += events[number].messages[i].kind == Op::kSend && labels[i] == name ? 1 : 0;
      }
    }
    if (hops != want)
      violate(ScheduleClaim::kCosts,
              name + " makes " + counted(hops, "hop") + ", and in a ring " + std::to_string(want));
  }

  const Trace& trace_;
  const Problem& problem_;
  const ScheduleGoal& goal_;
  ScheduleProof& proof_;
  SumFlaws flaws_;
};

struct ClaimText {
  const char *id, *claim;
};

ClaimText text_of(ScheduleClaim claim) {
  switch (claim) {
    case ScheduleClaim::kMessages:
      return {"messages", "every send has its receive, of the same length, and brings what it should"};
    case ScheduleClaim::kProgress:
      return {"progress", "no rank waits forever, whatever the timing"};
    case ScheduleClaim::kMemory:
      return {"memory", "no buffer is read or overwritten while it is under way"};
    case ScheduleClaim::kPairs:
      return {"pairs", "every visible pair is computed exactly once"};
    case ScheduleClaim::kGradients:
      return {"gradients", "every gradient ends at its owner, with each rank's share exactly once"};
    case ScheduleClaim::kCosts:
      return {"costs", "bytes, messages, hops and memory are those of the ring"};
  }
  return {"?", "?"};
}

}  // namespace

int dealing_degree(const Method& method, const Problem& problem, const MethodOptions& options) {
  return (method.takes & kTakesUlysses) != 0 ? degree_of(problem, options) : 1;
}

bool moves_heads(const Method& method, const Problem& problem, const MethodOptions& options) {
  return (method.takes & kTakesUlysses) != 0 ||
         (options.gather_heads > 0 && options.gather_heads < problem.shape.kv_heads);
}

bool ScheduleProof::broken(ScheduleClaim claim) const {
  return std::ranges::find(violations, claim, &Violation::claim) != violations.end();
}

ScheduleProof prove_schedule(const Trace& trace, const Problem& problem, const ScheduleGoal& goal,
                             const ScheduleNotes& notes) {
  ScheduleProof proof{replay(trace, problem, notes, goal.degree), {}};
  ScheduleProver(trace, problem, goal, proof).run();
  return proof;
}

Report report_of(const ScheduleProof& proof, const ScheduleGoal& goal, const std::string& title) {
  Report report{title, {}};
  for (const ScheduleClaim claim : kScheduleClaims) {
    if (claim == ScheduleClaim::kGradients && !goal.backward) continue;
    if (claim == ScheduleClaim::kCosts && !goal.costs) continue;
    ReportRow& row = report.rows.emplace_back();
    row.id = text_of(claim).id;
    row.claim = text_of(claim).claim;
    row.status = Status::kPassed;
    for (const Violation& violation : proof.violations)
      if (violation.claim == claim) {
        row.status = Status::kFailed;
        row.sentence += (row.sentence.empty() ? "" : "\n") + violation.sentence;
      }
    const bool later = claim >= ScheduleClaim::kPairs && row.status == Status::kPassed;
    if (later && !proof.replay.complete) {
      row.status = Status::kSkipped;
      row.sentence = "the ranks are stuck before the end";
    }
  }
  return report;
}

}  // namespace ringcraft::verify
