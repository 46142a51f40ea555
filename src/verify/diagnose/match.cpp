// Compares a known mistake with a claim: counts, in a sample of rows, those that the mistake gives, per
// tensor and per rank.
#include "verify/diagnose/match.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {
namespace {

constexpr double kEnough = 0.9;  // of the rows: mistakes treat the borders of a sequence in several ways

// Counts for one tensor of the sample.
struct Tally {
  std::string name;
  Index wrong = 0, wrong_hits = 0, right = 0, right_hits = 0;
  Index told = 0, told_hits = 0;            // wrong rows that distinguish mistakes
  std::set<int> wrong_ranks, missed_ranks;  // with a wrong row; with a right row that the twist makes wrong

  bool forward() const { return name == "out" || name == "lse"; }
  bool explained() const {
    return wrong > 0 && static_cast<double>(told_hits) >= kEnough * static_cast<double>(told) &&
           static_cast<double>(wrong_hits) >= kEnough * static_cast<double>(wrong);
  }
  bool hopeless(Index planned) const {
    return static_cast<double>(wrong - wrong_hits) > (1 - kEnough) * static_cast<double>(planned);
  }
  // Whether it contradicts few rows, and fewer than it explains: right attention would otherwise explain
  // more.
  bool keeps_right() const {
    const Index contradicted = right - right_hits;
    return static_cast<double>(right_hits) >= kEnough * static_cast<double>(right) &&
           (wrong == 0 || contradicted < wrong_hits);
  }
  // Whether the rows that the twist makes wrong are on ranks where the claim is right.
  bool on_other_ranks(const std::set<int>& wrong_of_any) const {
    return std::none_of(missed_ranks.begin(), missed_ranks.end(),
                        [&](int r) { return wrong_of_any.contains(r); });
  }
};

// Whether a row of a claim distinguishes mistakes: many give zeros, and often NaN.
bool tells(std::span<const double> got, bool nan_tells) {
  return std::ranges::any_of(got, [=](double x) { return std::isfinite(x) ? x != 0 : nan_tells; });
}

void count(const Evidence& e, const std::vector<int>& owner, const RowPlace& row, const Buffer& claim,
           const Buffer& want, const Buffer& unit, std::span<const double> twisted, bool no_key,
           Tally& tally) {
  const auto got = row_of(claim, row.batch, row.head, row.row),
             units = row_of(unit, row.batch, row.head, row.row);
  const bool right = same_row(got, row_of(want, row.batch, row.head, row.row), units, e.nearness(), false);
  const bool hit = same_row(got, twisted, units, e.nearness(), no_key);
  const int rank = owner[static_cast<std::size_t>(row.row)];
  ++(right ? tally.right : tally.wrong);
  if (hit) ++(right ? tally.right_hits : tally.wrong_hits);
  if (!right && tells(got, tally.forward() && !no_key)) {
    ++tally.told;
    if (hit) ++tally.told_hits;
  }
  if (!right) tally.wrong_ranks.insert(rank);
  if (right && !hit) tally.missed_ranks.insert(rank);
}

std::vector<Tally> forward_tallies(const Evidence& e, const TwistedRing& ring, const Twist& twist,
                                   const Sample& sample) {
  std::vector<Tally> tallies{{"out"}, {"lse"}};
  const auto planned = static_cast<Index>(sample.rows.size());
  for (const RowPlace& row : sample.rows) {
    e.tick();
    const Merged value = ring.forward(twist, row);
    const bool no_key = std::isinf(value.lse);
    if (e.has("out"))
      count(e, ring.arrangement().row_owner, row, e.claim.out, e.oracle.value.out, e.units().out, value.out,
            no_key, tallies[0]);
    if (e.has("lse"))
      count(e, ring.arrangement().row_owner, row, e.claim.lse, e.oracle.value.lse, e.units().lse,
            {&value.lse, 1}, no_key, tallies[1]);
    if (tallies[0].hopeless(planned) && (tallies[1].hopeless(planned) || tallies[1].wrong == 0)) break;
    if (tallies[1].hopeless(planned) && tallies[0].wrong == 0) break;
  }
  return tallies;
}

std::vector<Tally> backward_tallies(const Evidence& e, const TwistedRing& ring, const Twist& twist,
                                    const Sample& sample) {
  std::vector<Tally> tallies{{"dq"}, {"dk"}, {"dv"}};
  for (const RowPlace& row : sample.rows) {
    if (!e.has("dq")) break;
    e.tick();
    count(e, ring.arrangement().row_owner, row, e.claim.dq, e.oracle.value.dq, e.units().dq,
          ring.dq(twist, row), false, tallies[0]);
    if (tallies[0].hopeless(static_cast<Index>(sample.rows.size()))) break;
  }
  const auto planned = static_cast<Index>(sample.kv_rows.size());
  for (const RowPlace& row : sample.kv_rows) {
    if (!e.has("dk") && !e.has("dv")) break;
    e.tick();
    const KvRows value = ring.dkv(twist, row);
    if (e.has("dk"))
      count(e, ring.arrangement().owner, row, e.claim.dk, e.oracle.value.dk, e.units().dk, value.dk, false,
            tallies[1]);
    if (e.has("dv"))
      count(e, ring.arrangement().owner, row, e.claim.dv, e.oracle.value.dv, e.units().dv, value.dv, false,
            tallies[2]);
    if (tallies[1].hopeless(planned) && (tallies[2].hopeless(planned) || tallies[2].wrong == 0)) break;
    if (tallies[2].hopeless(planned) && tallies[1].wrong == 0) break;
  }
  return tallies;
}

}  // namespace

Match match(const Evidence& e, const TwistedRing& ring, const Suspect& suspect, TensorGroup group,
            const Sample& sample) {
  const bool forward = group == TensorGroup::kForward;
  const std::vector<Tally> tallies = forward ? forward_tallies(e, ring, suspect.twist, sample)
                                             : backward_tallies(e, ring, suspect.twist, sample);
  Match result{.suspect = &suspect, .fit = Fit::kAll};
  std::set<int> ranks;
  for (const Tally& tally : tallies) ranks.insert(tally.wrong_ranks.begin(), tally.wrong_ranks.end());
  for (const Tally& tally : tallies) {
    if (tally.explained() && (tally.keeps_right() || tally.on_other_ranks(ranks))) {
      result.tensors.push_back(tally.name);
      result.hits += tally.wrong_hits + tally.right_hits;
      result.rows += tally.wrong + tally.right;
      result.told += tally.told;
    }
    const bool kept = (tally.wrong == 0 || tally.explained()) && tally.keeps_right();
    const bool elsewhere = (tally.wrong == 0 || tally.explained()) && tally.on_other_ranks(ranks);
    if (!kept) result.fit = std::min(result.fit, elsewhere ? Fit::kSomeRanks : Fit::kSomeTensors);
  }
  if (result.fit == Fit::kSomeRanks) result.ranks.assign(ranks.begin(), ranks.end());
  if (result.tensors.empty()) result.fit = Fit::kNone;
  return result;
}

}  // namespace ringcraft::verify
