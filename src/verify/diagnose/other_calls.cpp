// Leaves out causes of one answer of a ring that other answers of the same program rule out.
#include <algorithm>
#include <map>

#include "ringcraft/problem/reach.hpp"
#include "verify/diagnose/diagnose_detail.hpp"
#include "verify/diagnose/suspects.hpp"

namespace ringcraft::verify {
namespace {

constexpr auto kNotElsewhere =
    "; in these calls alone: others of the same program are right, or wrong in another way, where this would "
    "show";

const AttentionExhibit* ring_of(const Exhibit& exhibit) {
  const auto* const attention = std::get_if<AttentionExhibit>(exhibit.get());
  return attention != nullptr && attention->ring ? attention : nullptr;
}

// Whether a known mistake is one of masks, as those by other laws are.
bool is_of_masks(const std::string& id) {
  const Twist right;
  for (const auto* suspects : {&forward_suspects(), &backward_suspects()})
    for (const Suspect& suspect : *suspects)
      if (const Twist& twist = suspect.twist; suspect.cause.id == id)
        return twist.mask != right.mask || twist.masked != right.masked ||
               twist.positions != right.positions || twist.label != right.label || twist.nodes != right.nodes;
  return true;
}

// Whether a program that makes this mistake for one problem would make it for the other: code has branches
// for kinds of masks and for layouts, and computes the number of hops from a window.
bool is_made_alike(const std::string& id, const Problem& a, const Problem& b) {
  const auto is_closed = [](const Problem& p) { return hops(p) == p.world_size - 1; };
  const bool same_limits = (a.mask.left == kNoLimit) == (b.mask.left == kNoLimit) &&
                           a.mask.right == b.mask.right &&
                           a.mask.cu_seqlens.empty() == b.mask.cu_seqlens.empty();
  return is_closed(a) == is_closed(b) && ((same_limits && a.layout == b.layout) || !is_of_masks(id));
}

// Whether this mistake is one of these causes, in the same words or in others.
bool is_one_of(const Explanations& explanations, const std::string& id) {
  return std::ranges::any_of(explanations, [&](const Conjunction& causes) {
    return std::ranges::any_of(causes, [&](const Cause& cause) {
      return cause.id == id || std::ranges::any_of(kSameMistakes, [&](const auto& same) {
               return same.first == id && same.second == cause.id;
             });
    });
  });
}

// Known mistakes that give the numbers of some rings, and that others of the same program rule out.
class RuledOut {
 public:
  RuledOut(const std::vector<Exhibit>& exhibits, const std::vector<Explanations>& of_each,
           const std::vector<Case>& right) {
    for (std::size_t i = 0; i < exhibits.size(); ++i)
      if (const AttentionExhibit* const ring = ring_of(exhibits[i])) gather(*ring, of_each[i]);
    for (const std::string& id : of_some_ranks_) seen_in_.erase(id);  // others need not show them
    for (const Case& c : right) rule_out(c.problem, c, {});
    if (const auto largest = largest_of(exhibits); largest != exhibits.end())
      if (const Explanations& own = of_each[static_cast<std::size_t>(largest - exhibits.begin())];
          is_clear(own))
        if (const AttentionExhibit* const ring = ring_of(*largest)) rule_out(*ring->ring, *ring, own);
  }

  std::set<std::string> take() && { return std::move(ids_); }

 private:
  void gather(const AttentionExhibit& ring, const Explanations& explanations) {
    for (const Conjunction& causes : explanations)
      for (const Cause& cause : causes) {
        seen_in_[cause.id].push_back(&*ring.ring);
        if (cause.of_some_ranks) of_some_ranks_.insert(cause.id);
      }
  }

  // The wrong answer that tells most mistakes apart: of the most ranks, and then of the most tokens.
  static std::vector<Exhibit>::const_iterator largest_of(const std::vector<Exhibit>& exhibits) {
    return std::ranges::max_element(exhibits, {}, [](const Exhibit& exhibit) {
      const AttentionExhibit* const ring = ring_of(exhibit);
      return ring == nullptr ? std::pair(0, Position{0})
                             : std::pair(ring->ring->world_size, ring->ring->shape.seqlen);
    });
  }

  static bool is_clear(const Explanations& explanations) {
    return std::ranges::any_of(
        explanations, [](const Conjunction& causes) { return std::ranges::none_of(causes, is_general); });
  }

  // Asks an answer to this problem, which has these explanations, about all mistakes that are left.
  template <class Answered>
  void rule_out(const Problem& problem, const Answered& answer, const Explanations& own) {
    std::vector<std::string> asked;
    for (const auto& [id, problems] : seen_in_)
      if (!ids_.contains(id) && !is_one_of(own, id) &&
          std::ranges::any_of(problems,
                              [&](const Problem* seen) { return is_made_alike(id, *seen, problem); }))
        asked.push_back(id);
    if (asked.empty()) return;
    const std::vector<std::string> out = mistakes_ruled_out(answer, asked);
    ids_.insert(out.begin(), out.end());
  }

  std::map<std::string, std::vector<const Problem*>> seen_in_;  // the problems that a mistake explains
  std::set<std::string> of_some_ranks_, ids_;
};

void remove(std::vector<Explanations>& of_each, const std::set<std::string>& ids) {
  for (Explanations& each : of_each)
    std::erase_if(each, [&](const Conjunction& causes) {
      return std::ranges::any_of(causes, [&](const Cause& cause) { return ids.contains(cause.id); });
    });
}

// Looks for another explanation of the rings that are left without one.
void explain_again(const std::vector<Exhibit>& exhibits, const std::vector<Explanations>& all,
                   const std::set<std::string>& out, std::vector<Explanations>& left) {
  for (std::size_t i = 0; i < left.size(); ++i)
    if (const AttentionExhibit* const ring = ring_of(exhibits[i]); ring && left[i].empty() && !all[i].empty())
      if (Explanations again = explanations_of(diagnose(*ring, {out.begin(), out.end()}).causes(100));
          again.size() == 1 && std::ranges::none_of(again[0], &Cause::of_some_ranks) &&  // no guesswork
          std::ranges::none_of(out, [&](const std::string& id) { return is_one_of(again, id); }))
        left[i] = std::move(again);
}

}  // namespace

std::set<std::string> ids_of(const Conjunction& causes) {
  std::set<std::string> ids;
  for (const Cause& cause : causes) ids.insert(cause.id);
  return ids;
}

ExplanationsOfEach explanations_of_each(const std::vector<Exhibit>& exhibits,
                                        const std::vector<Case>& right) {
  std::vector<Explanations> all;
  for (const Exhibit& exhibit : exhibits) all.push_back(explanations_of(causes_of(exhibit)));
  std::set<std::string> out = RuledOut(exhibits, all, right).take();
  if (out.empty()) return {all, all};
  std::vector<Explanations> left = all;
  remove(left, out);
  explain_again(exhibits, all, out, left);
  out.merge(RuledOut(exhibits, left, right).take());
  remove(left, out);
  for (Explanations& each : all)
    for (Conjunction& causes : each)
      for (Cause& cause : causes)
        if (out.contains(cause.id)) cause.sentence += kNotElsewhere;
  return {std::move(left), std::move(all)};
}

}  // namespace ringcraft::verify
