// Explains wrong reaches: tries every law of at most two wrong words, the likeliest first, and formulas of
// window and shard. A cause must give every answer.
#include <algorithm>

#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/functions/reach/reach_words.hpp"

namespace ringcraft::verify {
namespace {

constexpr const char* kReachQuestion =
    "Take the smallest problem that fails: which rank is the last one that sees a key of the block?";

struct ReachLaw {
  const ReachReading* reading = reach_readings().data();
  const ReachReading* also = reach_readings().data();  // a second one, later in the list
  const SightWord* sight = sight_words().data();
  const PeerWord* peer = peer_words().data();
  const PickWord* pick = pick_words().data();
  const ReturnWord* returned = return_words().data();

  int wrong() const {
    return (reading->words != nullptr) + (also->words != nullptr) + (sight->words != nullptr) +
           (peer->words != nullptr) + (pick->words != nullptr) + (returned->words != nullptr);
  }
  std::string id() const {
    return reading->words != nullptr ? "solved-reach-mask"
           : sight->words != nullptr ? "solved-reach-sight"
           : peer->words != nullptr  ? "solved-reach-ranks"
           : pick->words != nullptr  ? "solved-reach-search"
                                     : "solved-reach-number";
  }
  std::string told() const {
    std::string text;
    for (const char* words :
         {reading->words, also->words, sight->words, peer->words, pick->words, returned->words})
      if (words != nullptr) text += (text.empty() ? "" : ", and ") + std::string(words);
    return text;
  }
};

// All laws with at most two wrong words, those with fewer first.
const std::vector<ReachLaw>& reach_laws() {
  static const std::vector<ReachLaw> laws = [] {
    std::vector<ReachLaw> all;
    for (const ReturnWord& returned : return_words())
      for (const PickWord& pick : pick_words())
        for (const PeerWord& peer : peer_words())
          for (const SightWord& sight : sight_words())
            for (const ReachReading& reading : reach_readings())
              for (const ReachReading& also : reach_readings())
                if (const ReachLaw law{&reading, &also, &sight, &peer, &pick, &returned};
                    law.wrong() <= 2 &&
                    (also.words == nullptr || (reading.words != nullptr && &reading < &also)))
                  all.push_back(law);
    std::ranges::stable_sort(all, {}, &ReachLaw::wrong);
    return all;
  }();
  return laws;
}

bool gives(const ReachLaw& law, const ReachView& view) {
  const int n = view.ranks();
  const SightTable& sees = view.table(*law.reading, *law.also, *law.sight);
  std::vector<int> picked;
  for (int s = 0; s < n; ++s) {
    std::vector<bool> seen;  // by distance
    for (int t = 0; t <= n; ++t) {
      const int query = law.peer->query_rank(s, t, n), key = law.peer->key_rank(s, t, n);
      seen.push_back(query >= 0 && query < n && key >= 0 && key < n && sees[query * n + key]);
    }
    picked.push_back(law.pick->pick(n, seen));
  }
  return law.returned->numbers(view.problem(), std::move(picked)) == view.got();
}

const ReachLaw* law_of(const std::vector<ReachView>& views) {
  for (const ReachLaw& law : reach_laws())
    if (std::ranges::all_of(views, [&](const ReachView& view) { return gives(law, view); })) return &law;
  return nullptr;
}

// Problems to which no answer comes, if all others are answered.
struct Silence {
  const char* words;
  bool (*holds)(const Problem&);
};
constexpr Silence kSilences[] = {
    {"there is more than one rank", [](const Problem& p) { return p.world_size > 1; }},
    {"there are more than 8 ranks", [](const Problem& p) { return p.world_size > 8; }},
    {"there are more than 16 ranks", [](const Problem& p) { return p.world_size > 16; }},
    {"there are more than 32 ranks", [](const Problem& p) { return p.world_size > 32; }},
    {"there are more than 64 ranks", [](const Problem& p) { return p.world_size > 64; }},
    {"there are more than 128 ranks", [](const Problem& p) { return p.world_size > 128; }},
    {"a rank owns no token", [](const Problem& p) { return p.shape.seqlen < p.world_size; }},
    {"sequences are packed", [](const Problem& p) { return !p.mask.cu_seqlens.empty(); }},
    {"there is one rank", [](const Problem& p) { return p.world_size == 1; }}};

std::optional<Cause> cause_of_silence(const ReachExhibit& x) {
  for (const Silence& silence : kSilences)
    if (std::ranges::any_of(x.asked, [](const auto& each) { return !each.reach; }) &&
        std::ranges::all_of(
            x.asked, [&](const auto& each) { return each.reach.has_value() != silence.holds(each.problem); }))
      return Cause{"solved-reach-none", std::string("reaches does not return if ") + silence.words,
                   kReachQuestion};
  return {};
}

constexpr const char* kAnewQuestion =
    "Both ends of a query's keys only move right: where did the search for the last query end?";

// Four times the rows take four times the steps, or sixteen times.
std::optional<Cause> cause_of_steps(const ReachExhibit& x) {
  if (x.counted.size() < 2) return {};
  const auto &few = x.counted.front(), &many = x.counted.back();
  if (many.steps * few.rows < 2 * few.steps * many.rows) return {};
  return Cause{"solved-reach-steps",
               "the steps grow with the square of the rows of a shard: each query goes through the keys anew",
               kAnewQuestion};
}

// Steps in the library are not counted; but they take time.
std::optional<Cause> cause_of_time(const ReachExhibit& x) {
  const auto grows = [&](bool packed) {
    return std::ranges::any_of(x.timed,
                               [&](const auto& t) { return t.packed == packed && t.grows_faster(); });
  };
  if (grows(false))
    return Cause{
        "solved-reach-time",
        "the time grows with the square of the rows of a shard, in what is called for each query: it "
        "goes through the keys anew",
        kAnewQuestion};
  if (grows(true))
    return Cause{
        "solved-reach-borders",
        "each query passes the borders of all sequences before its own anew, as a new MaskCursor does",
        "A MaskCursor stands at the sequence of the last query: how many borders does the next one "
        "have to pass?"};
  return {};
}

}  // namespace

std::vector<Cause> causes_of(const ReachExhibit& x) {
  std::vector<Cause> causes;
  for (const auto& cause : {cause_of_silence(x), cause_of_steps(x), cause_of_time(x)})
    if (cause) causes.push_back(*cause);
  std::vector<ReachView> views;
  for (const auto& [problem, reach] : x.asked)
    if (reach) views.emplace_back(problem, *reach);
  if (views.empty()) return causes;
  const ReachLaw* const law = law_of(views);
  if (law != nullptr && law->wrong() < 2) {
    if (law->wrong() == 1) causes.push_back({law->id(), law->told(), kReachQuestion});
  } else if (const char* const cursor = reused_cursor_of(views)) {
    causes.push_back({"solved-reach-cursor",
                      std::string(cursor) +
                          ": it never moves back, and answers an earlier query with the borders of a later "
                          "sequence",
                      "At which position does a cursor stand when the queries of the next rank begin?"});
  } else if (const std::string formula = formula_of(views); !formula.empty()) {
    causes.push_back({"solved-reach-formula",
                      formula + ", instead of the farthest rank that sees one of its keys",
                      "For which layouts and masks does your formula hold, and how does it round?"});
  } else if (law != nullptr) {
    causes.push_back({law->id(), law->told(), kReachQuestion});
  }
  return causes;
}

}  // namespace ringcraft::verify
