// Ends a replay: reports stuck ranks as cycles or chains, lists unmatched messages and the gradients that
// each rank holds.
#include <algorithm>

#include "verify/schedule/replay_detail.hpp"

namespace ringcraft::verify {

void Replayer::finish() {
  result_.complete = true;
  for (int rank = 0; rank < trace_.world_size(); ++rank)
    if (stuck(rank)) result_.complete = false;
  if (!result_.complete) report_stuck();
  for (const auto& [between, link] : links_) report_left_over(link);
  for (int rank = 0; rank < trace_.world_size(); ++rank) {
    for (const std::size_t start : self(rank).open)
      if (result_.complete && arrived(rank, start))
        violate(ScheduleClaim::kMessages, rank, start,
                "starts to " + described({rank, start, 0}) + " and never waits for it");
    for (const std::string_view sum : {"out", "dq"})  // results that are stated are proved by themselves
      if (self(rank).lost.contains(sum) && !result_.states_results)
        violate(ScheduleClaim::kMemory, rank, events(rank).size() - 1,
                "ends with " + std::string(sum) + " overwritten since its last block");
    list_gradients(rank);
  }
}

void Replayer::list_gradients(int rank) {
  const std::vector<TracedBytes>& written = self(rank).written;
  for (const auto& [bytes, piece] : self(rank).memory.all()) {
    const Content& c = contents_[piece.content];
    if (!c.is_gradient() || piece.size != c.bytes) continue;
    std::size_t last = written.size();
    while (last > 0 && !written[last - 1].overlaps(bytes)) --last;
    result_.gradients.push_back({rank, c, last});
  }
}

// The messages that a stuck rank waits for: those without another side.
std::vector<Half> Replayer::missing(int rank) {
  std::vector<Half> halves;
  const std::size_t start = event(rank, self(rank).next).waits_for;
  const std::vector<Posted>& posted = self(rank).posted[start];
  for (std::size_t i = 0; i < posted.size(); ++i)
    if (!posted[i].other) halves.push_back({rank, start, i});
  return halves;
}

// Reports deadlocks. Every stuck rank waits for a stuck rank or for one that has ended: it is on a cycle, or
// on a path to a cycle or to an end. A rank on such a path is reported once.
void Replayer::report_stuck() {
  std::vector<bool> told(ranks_.size(), false);
  for (int first = 0; first < trace_.world_size(); ++first) {
    if (!stuck(first)) continue;
    std::vector<Half> path;
    for (int rank = first; !told[static_cast<std::size_t>(rank)];) {
      told[static_cast<std::size_t>(rank)] = true;
      const std::vector<Half> halves = missing(rank);
      const auto ended = std::ranges::find_if(halves, [&](const Half& h) { return !stuck(message(h).peer); });
      if (ended != halves.end()) {
        violate(ScheduleClaim::kProgress, rank, ended->event,
                "waits to " + described(*ended) + ", which has ended");
        break;
      }
      path.push_back(halves.front());
      rank = message(halves.front()).peer;
      const auto again = std::ranges::find(path, rank, &Half::rank);
      if (again != path.end()) report_cycle({again, path.end()});
    }
  }
}

void Replayer::report_cycle(const std::vector<Half>& cycle) {
  std::string sentence;
  for (const Half& half : cycle)
    sentence += (sentence.empty() ? "deadlock: " : "; ") + place(half.rank, half.event) + ", waits to " +
                described(half);
  result_.violations.push_back({ScheduleClaim::kProgress, sentence});
}

// Reports messages with one side only. Stuck ranks have been reported already.
void Replayer::report_left_over(const Link& link) {
  for (const auto* halves : {&link.sends, &link.recvs})
    for (const Half& half : *halves)
      if (!stuck(half.rank) && !stuck(message(half).peer))
        violate(
            ScheduleClaim::kMessages, half.rank, half.event,
            "starts to " + described(half) +
                (message(half).kind == Op::kSend ? ", which never receives it" : ", which never sends it"));
}

}  // namespace ringcraft::verify
