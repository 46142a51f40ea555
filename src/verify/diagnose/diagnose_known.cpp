// Converts known mistakes whose numbers a claim has into causes, with the tensors, ranks and arrangement in
// which each was found.
#include <algorithm>
#include <cmath>

#include "verify/diagnose/diagnose_detail.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

constexpr std::size_t kMost = 12;  // for a caller that compares several answers

// A match as a cause, with the facts that its sentence omits: which tensors, which ranks, and where it was
// found.
Cause cause_of(const Match& match, const Arrangement& place, const std::string& elsewhere) {
  Cause cause = match.suspect->cause;
  cause.sentence = with_part(cause.sentence, place.part());
  cause.question = with_part(cause.question, place.part());
  if (match.fit == Fit::kSomeTensors) cause.sentence = list_of(match.tensors) + ": " + cause.sentence;
  if (match.fit == Fit::kSomeRanks) {
    std::vector<std::string> ranks;
    for (const int rank : match.ranks) ranks.push_back(std::to_string(rank));
    cause.sentence +=
        "; on " + std::string(ranks.size() == 1 ? "rank " : "ranks ") + list_of(ranks) + " only";
    cause.of_some_ranks = true;
  }
  if (!elsewhere.empty()) cause.sentence += "; fits " + elsewhere;
  const std::string all = std::to_string(match.rows);
  cause.sentence += " (by its numbers: a computation with this mistake gives " +
                    (match.hits == match.rows
                         ? "all " + all + " rows that were compared)"
                         : std::to_string(match.hits) + " of the " + all + " rows that were compared)");
  return cause;
}

}  // namespace

std::string list_of(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

std::vector<Conjunction> explanations_of(std::vector<Cause> causes) {
  std::vector<Conjunction> all;
  for (Cause& cause : causes) {
    if (!cause.also || all.empty()) all.emplace_back();
    all.back().push_back(std::move(cause));
  }
  return all;
}

void append(std::vector<Cause>& causes, const std::vector<Cause>& more) {
  for (const Cause& cause : more)
    if (causes.size() < kMost &&
        std::none_of(causes.begin(), causes.end(), [&](const Cause& c) { return c.id == cause.id; }))
      causes.push_back(cause);
}

std::vector<Cause> causes_of_known(const Found& found, const std::string& elsewhere) {
  std::vector<const Match*> order;
  const auto take = [&](const Match& match) {
    if (std::none_of(order.begin(), order.end(),
                     [&](const Match* known) { return known->suspect->cause.id == match.suspect->cause.id; }))
      order.push_back(&match);
  };
  std::vector<std::string> explained;
  for (const Match& match : found.matches)
    if (std::any_of(match.tensors.begin(), match.tensors.end(), [&](const std::string& name) {
          return std::find(explained.begin(), explained.end(), name) == explained.end();
        })) {
      take(match);
      explained.insert(explained.end(), match.tensors.begin(), match.tensors.end());
    }
  const std::size_t of_tensors = order.size();  // together they explain all that can be explained
  for (const Match& match : found.matches)  // partial explanations are of no interest beside a complete one
    if (match.fit == Fit::kAll || match.fit == found.matches[0].fit) take(match);
  std::vector<Cause> causes;
  for (std::size_t i = 0; i < std::min(order.size(), kMost); ++i) {
    causes.push_back(cause_of(*order[i], found.ring->arrangement(), elsewhere));
    causes.back().also = i > 0 && i < of_tensors;
  }
  return causes;
}

Known searched(const Evidence& e, TensorGroup group, const Answer& saved, Ranks ranks) {
  Found found = search(e, group, saved, e.place);
  const bool weak = found.matches.empty() || found.matches[0].fit == Fit::kSomeTensors;
  if (weak && (e.ring == nullptr || ranks == Ranks::kUnknown))
    if (auto other = search_elsewhere(e, group, saved)) {
      std::vector<Cause> causes =
          causes_of_known(*other, e.ring == nullptr ? "" : other->ring->arrangement().words);
      return {std::move(causes), std::move(*other)};
    }
  std::vector<Cause> causes = causes_of_known(found, "");
  return {std::move(causes), std::move(found)};
}

Known searched_without_numbers(const Evidence& e) {
  Found found = search(e, TensorGroup::kForward, e.oracle.value, e.place);
  std::erase_if(found.matches, [](const Match& match) { return match.fit != Fit::kAll; });
  std::vector<Cause> causes;
  if (!all_zero(e.claim.out) || e.ring != nullptr || found.matches.empty())
    causes = causes_by_numbers(e, TensorGroup::kForward);
  append(causes, causes_of_known(found, ""));
  return {std::move(causes), std::move(found)};
}

std::vector<Cause> with_known(const Evidence& e, TensorGroup group, const Cause& lost) {
  const Found found = search(e, group, e.oracle.value, e.place);
  const bool whole = !found.matches.empty() && found.matches[0].fit == Fit::kAll;
  std::vector<Cause> causes = whole ? causes_of_known(found) : std::vector<Cause>{};
  append(causes, {lost});
  return causes;
}

Known searched_after(const Evidence& e, const Found& forward, Ranks ranks) {
  if (!forward.matches.empty() && forward.matches[0].fit == Fit::kAll) {
    Found found = search_after(e, forward.matches[0].suspect->twist, forward.ring->arrangement());
    if (!found.matches.empty()) {
      std::vector<Cause> causes = causes_of_known(found, "");
      return {std::move(causes), std::move(found)};
    }
  }
  return searched(e, TensorGroup::kBackward, e.claim, ranks);
}

namespace {

// The claim with the lse of the mistake that it has, as its backward pass may have saved it.
Answer with_lse_of_mistake(const Evidence& e, const Found& forward) {
  Answer saved = clone(e.claim);
  const Twist& twist = forward.matches[0].suspect->twist;
  std::size_t next = 0;
  for (const RowPlace& row : row_places(e.inputs.q.extents())) {
    e.tick();
    saved.lse.values<double>()[next++] = forward.ring->forward(twist, row).lse;
  }
  return saved;
}

}  // namespace

bool follows(const Evidence& e, const Found& forward) {
  const bool lacks_lse = !e.has("lse") && forward.ring && !forward.matches.empty();
  const Answer saved = lacks_lse ? with_lse_of_mistake(e, forward) : Answer();
  const TwistedRing ring(e.problem, e.inputs, lacks_lse ? saved : e.claim,
                         forward.ring ? forward.ring->arrangement() : e.place, e.exponents());
  const Sample sample = sample_of(e, TensorGroup::kBackward, 12, 6);
  const Suspect right_formulas{};  // for a wrong out and lse
  if (match(e, ring, right_formulas, TensorGroup::kBackward, sample).fit == Fit::kAll) return true;
  if (forward.matches.empty()) return false;
  Suspect repeated{.cause = {}, .twist = forward.matches[0].suspect->twist};
  for (const Done through : {Done::kNo, Done::kYes}) {  // as autograd has it, and as code that masks no dS
    repeated.twist.through = through;
    if (match(e, ring, repeated, TensorGroup::kBackward, sample).fit == Fit::kAll) return true;
    if (repeated.twist.masked == MaskedTwist::kRight) break;
  }
  return false;
}

bool explains_all(const Found& found) {
  return !found.matches.empty() && found.matches[0].fit >= Fit::kSomeRanks;
}

bool explains_each_row(const Found& found) {
  return explains_all(found) &&
         (found.matches[0].fit == Fit::kSomeRanks || found.matches[0].hits == found.matches[0].rows);
}

bool is_of_lost_keys(const Found& found) {
  return !found.matches.empty() && found.matches[0].suspect->twist.tail == TailTwist::kDropped;
}

bool explains_each(const Found& found, const Comparison& comparison, TensorGroup group) {
  return std::ranges::all_of(comparison.tensors, [&](const TensorComparison& t) {
    if (t.wrong_rows.empty() || group_of(t.name) != group) return true;
    return std::ranges::any_of(found.matches,
                               [&](const Match& m) { return std::ranges::count(m.tensors, t.name) > 0; });
  });
}

}  // namespace ringcraft::verify
