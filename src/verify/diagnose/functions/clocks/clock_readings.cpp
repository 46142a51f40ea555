// Wrong ways to read the costs of a ring, in words.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "verify/diagnose/functions/clocks/clock_law.hpp"

namespace ringcraft::verify {
namespace {

using Transfer = TimedTransfer;
using What = RingTransfer::What;

int steps_of(const TimedRing& r) { return static_cast<int>(r.computing.size()); }
int ranks_of(const TimedRing& r) { return static_cast<int>(r.computing.front().size()); }
int next(const TimedRing& r, int rank) { return (rank + 1) % ranks_of(r); }
int previous(const TimedRing& r, int rank) { return (rank + ranks_of(r) - 1) % ranks_of(r); }

bool is_block(const Transfer& m) { return m.what == What::kBlock; }

template <class Change>
void each(TimedRing& r, Change change) {
  for (Transfer& message : r.transfers) change(message);
}
template <class Which>
void drop(TimedRing& r, Which which) {
  std::erase_if(r.transfers, which);
}

// Appends copies of the messages of one kind and step, as those of another step.
void copy(TimedRing& r, What what, int from_step, int to_step) {
  const std::vector<Transfer> listed = r.transfers;
  for (Transfer message : listed)
    if (message.step == from_step && message.what == what) {
      message.step = to_step;
      r.transfers.push_back(message);
    }
}

// Of several messages of one kind in a step that share this rank, the first of the list alone counts.
void keep_first(TimedRing& r, int Transfer::*rank) {
  std::set<std::array<int, 3>> met;
  drop(r, [&](const Transfer& m) { return !met.insert({m.step, m.what, m.*rank}).second; });
}

void keep_last(TimedRing& r, int Transfer::*rank) {
  std::ranges::reverse(r.transfers);
  keep_first(r, rank);
  std::ranges::reverse(r.transfers);
}

// Tells each message the latest step that the list has reached with it.
template <class Tell>
void follow(TimedRing& r, Tell tell) {
  int latest = 0;
  std::erase_if(r.transfers, [&](Transfer& m) { return tell(m, latest = std::max(latest, m.step)); });
}

void extend_to_ranks(TimedRing& r) {
  const auto idle = std::vector<double>(r.computing.front().size(), 0.0);
  if (steps_of(r) < ranks_of(r)) r.computing.resize(idle.size(), idle);
}

constexpr const char* kWhoIsListed = "Which ranks does the list name?";
constexpr const char* kHowManySteps = "How many steps does the table of computing have?";
constexpr const char* kSeveral = "Can a rank have several messages in a step?";

constexpr ReadingWord kReadings[] = {
    {"computes", "seconds of computing are cut to whole numbers", "Which type do your seconds have?",
     [](TimedRing& r) {
       for (auto& step : r.computing)
         for (double& seconds : step) seconds = std::floor(seconds);
     }},
    {"computes", "every step computes as long as step 0", "Which row of the table belongs to this step?",
     [](TimedRing& r) { std::ranges::fill(r.computing, std::vector<double>(r.computing.front())); }},
    {"computes", "all ranks compute as long as rank 0", "Which column of the table belongs to this rank?",
     [](TimedRing& r) {
       for (auto& step : r.computing) step.assign(step.size(), double{step.front()});
     }},
    {"computes", "all ranks compute as long as the slowest of the step",
     "Which column of the table belongs to this rank?",
     [](TimedRing& r) {
       for (auto& step : r.computing) step.assign(step.size(), std::ranges::max(step));
     }},
    {"sums", "sums travel together with the blocks of their step", "When is there a sum that can leave?",
     [](TimedRing& r) { each(r, [](Transfer& m) { m.what = What::kBlock; }); }},
    {"sums", "nobody waits for sums", "Which messages has a backward pass beside those of blocks?",
     [](TimedRing& r) { drop(r, [](const Transfer& m) { return !is_block(m); }); }},
    {"sums", "nobody waits for the sums of the last step",
     "Which messages are under way when the last step ends?",
     [](TimedRing& r) {
       drop(r, [&](const Transfer& m) { return !is_block(m) && m.step == steps_of(r) - 1; });
     }},
    {"sums", "after the last step the sums of the step before it are waited for once more",
     "Of which step are the sums that are under way at the end?",
     [](TimedRing& r) { copy(r, What::kSum, steps_of(r) - 2, steps_of(r) - 1); }},
    {"sums", "sums are posted and waited for one step too late", "When does a sum of step t leave?",
     [](TimedRing& r) { each(r, [](Transfer& m) { m.step += !is_block(m); }); }},
    {"blocks", "nobody waits for blocks", "What does the next step compute with?",
     [](TimedRing& r) { drop(r, is_block); }},
    {"blocks", "nobody waits for the blocks of the last step", "Which steps may a message belong to?",
     [](TimedRing& r) {
       drop(r, [&](const Transfer& m) { return is_block(m) && m.step == steps_of(r) - 1; });
     }},
    {"list", "the blocks of step 0 are exchanged after the last step as well",
     "Is a block needed after the last step?",
     [](TimedRing& r) {
       if (steps_of(r) == 1) return;
       drop(r, [&](const Transfer& m) { return is_block(m) && m.step == steps_of(r) - 1; });
       copy(r, What::kBlock, 0, steps_of(r) - 1);
     }},
    {"blocks", "blocks are posted and waited for one step too late", "When does a block of step t leave?",
     [](TimedRing& r) { each(r, [](Transfer& m) { m.step += is_block(m); }); }},
    {"kinds", "blocks are taken for sums, and sums for blocks",
     "Which messages are posted when a step begins?",
     [](TimedRing& r) { each(r, [](Transfer& m) { m.what = is_block(m) ? What::kSum : What::kBlock; }); }},
    {"peers", "every message goes to the next rank", kWhoIsListed,
     [](TimedRing& r) { each(r, [&](Transfer& m) { m.to = next(r, m.from); }); }},
    {"peers", "every message goes to the previous rank", kWhoIsListed,
     [](TimedRing& r) { each(r, [&](Transfer& m) { m.to = previous(r, m.from); }); }},
    {"peers", "every message comes from the previous rank", kWhoIsListed,
     [](TimedRing& r) { each(r, [&](Transfer& m) { m.from = previous(r, m.to); }); }},
    {"peers", "every message comes from the next rank", kWhoIsListed,
     [](TimedRing& r) { each(r, [&](Transfer& m) { m.from = next(r, m.to); }); }},
    {"peers", "only messages to the next rank count", kWhoIsListed,
     [](TimedRing& r) { drop(r, [&](const Transfer& m) { return m.to != next(r, m.from); }); }},
    {"lasts", "all messages of a step take as long as the slowest", "Whose seconds are these?",
     [](TimedRing& r) {
       const std::vector<Transfer> listed = r.transfers;
       each(r, [&](Transfer& m) {
         for (const Transfer& other : listed)
           if (other.step == m.step && other.what == m.what) m.seconds = std::max(m.seconds, other.seconds);
       });
     }},
    {"lasts", "seconds of messages are cut to whole numbers", "Which type do your seconds have?",
     [](TimedRing& r) { each(r, [](Transfer& m) { m.seconds = std::floor(m.seconds); }); }},
    {"lasts", "a message is complete as soon as it begins", "How long does it travel?",
     [](TimedRing& r) { each(r, [](Transfer& m) { m.seconds = 0; }); }},
    {"list", "messages past the first one of a later step are not seen", "In which order is the list?",
     [](TimedRing& r) { follow(r, [](const Transfer& m, int latest) { return m.step < latest; }); }},
    {"list",
     "the list is read once, as if it were sorted: a message past one of a later step counts for that step",
     "In which order is the list?",
     [](TimedRing& r) { follow(r, [](Transfer& m, int latest) { return m.step = latest, false; }); }},
    {"list", "nobody waits for a message of 0 seconds",
     "Can a message that takes no time be complete before both of its ranks have posted it?",
     [](TimedRing& r) { drop(r, [](const Transfer& m) { return m.seconds == 0; }); }},
    {"list", "the first message of the list is left out", "Where does your loop begin?",
     [](TimedRing& r) {
       if (!r.transfers.empty()) r.transfers.erase(r.transfers.begin());
     }},
    {"list", "the last message of the list is left out", "Where does your loop end?",
     [](TimedRing& r) {
       if (!r.transfers.empty()) r.transfers.pop_back();
     }},
    {"list", "of several messages of a kind to a rank in a step only the last of the list counts", kSeveral,
     [](TimedRing& r) { keep_last(r, &Transfer::to); }},
    {"list", "of several messages of a kind to a rank in a step only the first of the list counts", kSeveral,
     [](TimedRing& r) { keep_first(r, &Transfer::to); }},
    {"list", "of several messages of a kind from a rank in a step only the last of the list counts", kSeveral,
     [](TimedRing& r) { keep_last(r, &Transfer::from); }},
    {"list", "of several messages of a kind from a rank in a step only the first of the list counts",
     kSeveral, [](TimedRing& r) { keep_first(r, &Transfer::from); }},
    {"list", "nobody waits in the last step", "Which messages may the last step still have?",
     [](TimedRing& r) {
       drop(r, [&](const Transfer& m) { return m.step + (is_block(m) ? 0 : 1) == steps_of(r) - 1; });
     }},
    {"count", "the ring makes at least as many steps as it has ranks", kHowManySteps, extend_to_ranks},
    {"count",
     "the ring makes at least as many steps as it has ranks, and then waits for the last sums once more",
     kHowManySteps,
     [](TimedRing& r) {
       const int last = steps_of(r) - 1;
       extend_to_ranks(r);
       if (steps_of(r) - 1 > last) copy(r, What::kSum, last, steps_of(r) - 1);
     }},
    {"count", "the ring makes no more steps than it has ranks", kHowManySteps,
     [](TimedRing& r) {
       if (steps_of(r) > ranks_of(r)) r.computing.resize(r.computing.front().size());
     }},
    // The last of all, as it may leave no step to the others.
    {"count", "the last step is left out", kHowManySteps, [](TimedRing& r) { r.computing.pop_back(); }},
};

}  // namespace

std::span<const ReadingWord> reading_words() { return kReadings; }

}  // namespace ringcraft::verify
