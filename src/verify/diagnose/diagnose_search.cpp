// Searches the known mistakes for those whose numbers a claim has: a small sample rules most of them out,
// larger ones confirm the rest.
#include <algorithm>

#include "verify/diagnose/diagnose_detail.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

// Rows of the three samples: enough to rule a mistake out, to suspect it, to confirm it.
constexpr Index kGlance = 2, kLook = 12;

// Rows of the last sample, so that it stays within some 1e9 multiplications.
Index rows_to_confirm(const BlockProblem& p) {
  const double of_one_row = static_cast<double>(std::max(p.queries.size(), p.keys.size())) *
                            static_cast<double>(p.head_dim * p.group()) * 4;
  return std::clamp<Index>(static_cast<Index>(1e9 / of_one_row), 24, 400);
}

const std::vector<Suspect>& suspects_of(TensorGroup group) {
  return group == TensorGroup::kForward ? forward_suspects() : backward_suspects();
}

// Rejects mistakes that need the sums of other blocks if that, quadratic in the sequence, is too expensive.
bool affordable(const Evidence& e, const Suspect& suspect) {
  const double pairs = static_cast<double>(e.problem.queries.size() * e.problem.keys.size());
  return !TwistedRing::slow(suspect.twist) ||
         pairs * static_cast<double>(e.problem.head_dim * e.problem.group()) < 5e9;
}

void sort_by_fit(std::vector<Match>& matches) {
  std::stable_sort(matches.begin(), matches.end(), [](const Match& a, const Match& b) {
    if (a.fit != b.fit) return a.fit > b.fit;
    if (a.tensors.size() != b.tensors.size()) return a.tensors.size() > b.tensors.size();
    return a.hits == a.rows && b.hits != b.rows;
  });
}

// Mistakes that the sample does not contradict.
std::vector<Match> matches_in(const Evidence& e, const TwistedRing& ring,
                              const std::vector<Suspect>& suspects, TensorGroup group) {
  const Sample glance = sample_of(e, group, kGlance, 0), look = sample_of(e, group, kLook, kLook);
  const Sample all = sample_of(e, group, rows_to_confirm(e.problem), rows_to_confirm(e.problem));
  std::vector<Match> matches;
  for (const bool slow : {false, true}) {
    for (const Suspect& suspect : suspects) {
      if (suspect.example || e.is_refuted(suspect.cause) || TwistedRing::slow(suspect.twist) != slow ||
          !affordable(e, suspect) || !ring.can_be(suspect.twist))
        continue;
      if (match(e, ring, suspect, group, glance).fit == Fit::kNone) continue;
      if (match(e, ring, suspect, group, look).fit == Fit::kNone) continue;
      const Match sure = match(e, ring, suspect, group, all);
      if (sure.fit != Fit::kNone) matches.push_back(sure);
    }
    sort_by_fit(matches);
    const bool clear = !matches.empty() && matches[0].fit == Fit::kAll;
    if (clear && e.problem.queries.size() > 1024) break;
  }
  return matches;
}

// Adds forward mistakes combined with a separate mistake of lse.
void add_lse_mistakes(const Evidence& e, Found& found) {
  std::vector<Suspect> made;
  for (const Match& match : found.matches) {
    if (match.fit != Fit::kSomeTensors || match.tensors != std::vector<std::string>{"out"}) continue;
    for (const Suspect& lse : forward_suspects()) {
      if (lse.twist.lse == LseTwist::kRight) continue;
      Twist both = match.suspect->twist;
      both.lse = lse.twist.lse;
      made.push_back(pair_of(*match.suspect, lse, both));
    }
    if (made.size() > 40) break;
  }
  found.made = std::move(made);
  const std::vector<Match> more = matches_in(e, *found.ring, found.made, TensorGroup::kForward);
  for (const Match& match : more)
    if (match.fit == Fit::kAll) found.matches.push_back(match);
  sort_by_fit(found.matches);
}

// Adds masks of other laws, but only those that give every row: they precede a known mistake that does, too.
bool add_pair_laws(const Evidence& e, TensorGroup group, Found& found) {
  if (e.ring == nullptr || !found.ring->arrangement().ring) return false;
  std::vector<Suspect> laws = pair_law_suspects(e.problem, *e.ring);
  if (group == TensorGroup::kBackward)  // labels of backward are mistakes of their own
    std::erase_if(laws, [](const Suspect& law) { return law.twist.label != LabelTwist::kRight; });
  std::vector<Match> matches = matches_in(e, *found.ring, laws, group);
  const auto misses = [](const Match& match) { return match.fit != Fit::kAll || match.hits != match.rows; };
  std::erase_if(matches, misses);
  if (matches.empty()) return false;
  std::erase_if(found.matches, misses);
  matches.insert(matches.end(), found.matches.begin(), found.matches.end());
  found.made = std::move(laws);
  found.matches = std::move(matches);
  return true;
}

// Adds masks by a finite number, which is solved for. They come before masked scores of 0, which show among
// ordinary scores, too, where no number far below them does.
void add_low_masks(const Evidence& e, Found& found) {
  found.low_masks = low_mask_suspects(e);
  const std::vector<Match> more = matches_in(e, *found.ring, found.low_masks, TensorGroup::kForward);
  found.matches.insert(found.matches.begin(), more.begin(), more.end());
  sort_by_fit(found.matches);
}

// Removes mistakes of backward that leave the gradients of the wrong forward pass unchanged: such gradients
// are no evidence for them.
void leave_out_what_follows(const Evidence& e, const Twist& forward, Found& found) {
  const Index rows = rows_to_confirm(e.problem);
  const Suspect nothing{{}, forward};
  const std::vector<std::string> follow =
      match(e, *found.ring, nothing, TensorGroup::kBackward, sample_of(e, TensorGroup::kBackward, rows, rows))
          .tensors;
  for (Match& match : found.matches)
    std::erase_if(match.tensors,
                  [&](const std::string& name) { return std::ranges::count(follow, name) > 0; });
  const bool nan_spreads = any_wrong(e.comparison, TensorGroup::kForward);
  std::erase_if(found.matches, [=](const Match& match) {
    return match.tensors.empty() || (nan_spreads && match.told == 0);
  });
}

}  // namespace

bool any_wrong(const Comparison& comparison, TensorGroup group) {
  for (const TensorComparison& tensor : comparison.tensors)
    if (!tensor.wrong_rows.empty() && group_of(tensor.name) == group) return true;
  return false;
}

Found search(const Evidence& e, TensorGroup group, const Answer& saved, const Arrangement& arrangement) {
  Found found{
      {}, std::make_shared<const TwistedRing>(e.problem, e.inputs, saved, arrangement, e.exponents()), {}};
  found.matches = matches_in(e, *found.ring, suspects_of(group), group);
  if (group == TensorGroup::kForward) add_low_masks(e, found);
  if (group == TensorGroup::kBackward) leave_out_what_follows(e, {}, found);
  const bool clear = !found.matches.empty() && found.matches[0].fit == Fit::kAll;
  const bool every_row = clear && found.matches[0].hits == found.matches[0].rows &&
                         found.matches[0].suspect->twist.scan == ScanTwist{};
  if (!every_row && add_pair_laws(e, group, found)) return found;
  if (group == TensorGroup::kForward && e.has("lse") && !clear && !found.matches.empty())
    add_lse_mistakes(e, found);
  return found;
}

Found search_after(const Evidence& e, const Twist& forward, const Arrangement& arrangement) {
  Found found{
      {}, std::make_shared<const TwistedRing>(e.problem, e.inputs, e.claim, arrangement, e.exponents()), {}};
  for (const Suspect& suspect : backward_suspects()) {
    const Twist& t = suspect.twist;
    Twist both = forward;
    both.weights = t.weights, both.delta = t.delta, both.dout = t.dout, both.dq = t.dq;
    both.journey = t.journey, both.kv_rows = t.kv_rows, both.group = t.group, both.stale = t.stale,
    both.negated = t.negated;
    both.swapped = t.swapped, both.dv_turned = t.dv_turned, both.dk_turned = t.dk_turned;
    both.dq_scales = t.dq_scales, both.dk_scales = t.dk_scales;
    both.dkv_ranks = t.dkv_ranks, both.dq_ranks = t.dq_ranks;
    found.made.push_back({suspect.cause, both});
  }
  found.matches = matches_in(e, *found.ring, found.made, TensorGroup::kBackward);
  leave_out_what_follows(e, forward, found);
  return found;
}

std::optional<Found> search_elsewhere(const Evidence& e, TensorGroup group, const Answer& saved) {
  const auto rows = static_cast<Index>(e.problem.queries.size()),
             keys = static_cast<Index>(e.problem.keys.size());
  struct Elsewhere {
    Arrangement place;
    std::optional<Problem> ring = {};
  };
  std::vector<Elsewhere> places;
  if (e.ring == nullptr)
    for (const Index tile : {1, 2, 3, 4, 5, 8})
      if (tile < keys) places.push_back({tiled_arrangement(rows, keys, tile)});
  for (const int n : e.ring == nullptr ? std::vector<int>{} : std::vector<int>{2, 3, 4, 6, 8})
    for (const Layout layout : kLayouts) {
      if (n > rows || (n == e.ring->world_size && layout == e.ring->layout)) continue;
      Problem other = *e.ring;
      other.world_size = n;
      other.layout = layout;
      places.push_back({ring_arrangement(other), std::move(other)});
    }
  for (const Index tile : {16, 32, 64, 128})
    if (tile < keys) places.push_back({tiled_arrangement(rows, keys, tile)});
  const Sample glance = sample_of(e, group, kGlance, 0);
  for (auto& [place, ring_of_place] : places) {
    const TwistedRing ring(e.problem, e.inputs, saved, place, e.exponents());
    const auto promising = [&](const Suspect& suspect) {
      return ring.can_be(suspect.twist) && (!TwistedRing::slow(suspect.twist) || rows <= 512) &&
             match(e, ring, suspect, group, glance).fit >= Fit::kSomeRanks;
    };
    if (std::none_of(suspects_of(group).begin(), suspects_of(group).end(), promising)) continue;
    Found found = search(e, group, saved, place);
    if (found.matches.empty() || found.matches[0].fit != Fit::kAll) continue;
    found.elsewhere = std::move(ring_of_place);
    return found;
  }
  return {};
}

namespace {

// Forward mistakes that change a row, other than the one to be explained.
std::vector<const Suspect*> telling(const Evidence& e, const TwistedRing& ring, const RowPlace& row) {
  std::vector<const Suspect*> all;
  const auto right = row_of(e.oracle.value.out, row.batch, row.head, row.row),
             unit = row_of(e.units().out, row.batch, row.head, row.row);
  const auto lse = row_of(e.oracle.value.lse, row.batch, row.head, row.row),
             unit_of_lse = row_of(e.units().lse, row.batch, row.head, row.row);
  for (const Suspect& suspect : forward_suspects()) {
    if (TwistedRing::slow(suspect.twist) || !ring.can_be(suspect.twist)) continue;
    const Merged value = ring.forward(suspect.twist, row);
    if (same_row(value.out, row_of(e.claim.out, row.batch, row.head, row.row), unit, e.nearness(), false) &&
        same_row({&value.lse, 1}, row_of(e.claim.lse, row.batch, row.head, row.row), unit_of_lse,
                 e.nearness(), false))
      continue;  // a mistake that explains the row alone needs no second one
    if (!same_row(value.out, right, unit, e.nearness(), false) ||
        !same_row({&value.lse, 1}, lse, unit_of_lse, e.nearness(), false))
      all.push_back(&suspect);
  }
  return all;
}

}  // namespace

Found search_pairs(const Evidence& e, const Answer& saved, const Arrangement& arrangement) {
  constexpr double kMostWork = 3e8;  // multiplications, for one row of all pairs
  Found found{
      {}, std::make_shared<const TwistedRing>(e.problem, e.inputs, saved, arrangement, e.exponents()), {}};
  const Sample glance = sample_of(e, TensorGroup::kForward, 1, 0);
  if (glance.rows.empty()) return found;
  const std::vector<const Suspect*> all = telling(e, *found.ring, glance.rows[0]);
  const double work = static_cast<double>(all.size() * all.size()) / 2 *
                      static_cast<double>(e.problem.keys.size()) * static_cast<double>(e.problem.head_dim);
  if (work > kMostWork) return found;
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = a + 1; b < all.size(); ++b) {
      const std::optional<Twist> twist = both(all[a]->twist, all[b]->twist);
      if (!twist || *twist == all[a]->twist) continue;
      const Suspect pair = pair_of(*all[a], *all[b], *twist);
      if (match(e, *found.ring, pair, TensorGroup::kForward, glance).fit != Fit::kNone)
        found.made.push_back(pair);
    }
  found.matches = matches_in(e, *found.ring, found.made, TensorGroup::kForward);
  std::erase_if(found.matches, [](const Match& match) { return match.fit != Fit::kAll; });
  return found;
}

Found search_gradient_pairs(const Evidence& e, const Answer& saved, const Arrangement& arrangement) {
  constexpr double kMostWork = 3e6;  // multiplications of one gradient
  Found found{
      {}, std::make_shared<const TwistedRing>(e.problem, e.inputs, saved, arrangement, e.exponents()), {}};
  const double work = static_cast<double>(e.problem.queries.size() * e.problem.keys.size()) *
                      static_cast<double>(e.problem.head_dim);
  if (e.ring != nullptr || work > kMostWork) return found;
  const Sample glance = sample_of(e, TensorGroup::kBackward, 1, 0);
  const std::vector<Suspect>& all = backward_suspects();
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = a + 1; b < all.size(); ++b) {
      if (!found.ring->can_be(all[a].twist) || !found.ring->can_be(all[b].twist)) continue;
      const std::optional<Twist> twist = both(all[a].twist, all[b].twist);
      if (!twist || *twist == all[a].twist || *twist == all[b].twist) continue;
      const Suspect pair = pair_of(all[a], all[b], *twist);
      if (match(e, *found.ring, pair, TensorGroup::kBackward, glance).fit == Fit::kAll)
        found.made.push_back(pair);
    }
  found.matches = matches_in(e, *found.ring, found.made, TensorGroup::kBackward);
  std::erase_if(found.matches, [](const Match& match) { return match.fit != Fit::kAll; });
  return found;
}

}  // namespace ringcraft::verify
