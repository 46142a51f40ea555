// Compares all accesses of a rank, and all its computations with its exchanges.
#include "verify/streams/stream_access.hpp"

#include <algorithm>

namespace ringcraft::verify {
namespace {

bool ordered(const StreamWork& a, const StreamWork& b) { return a.ends_before(b) || b.ends_before(a); }

StreamFinding race_between(const StreamAccess& compute, const StreamAccess& message) {
  using F = StreamFinding;
  const bool before = compute.work.position < message.work.position, receives = message.op == Op::kRecv;
  const F::Kind kind = before ? (receives ? F::kReceiveTooEarly : F::kSendTooEarly)
                              : (receives ? F::kComputeTooEarly : F::kOverwritten);
  return {kind, compute.work.rank, message.work.exchange, message.peer, message.op, compute.work.number};
}

}  // namespace

void join(VectorClock& into, const VectorClock& from) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

std::vector<StreamFinding> races_of(const std::vector<StreamAccess>& accesses) {
  std::vector<StreamFinding> found;
  for (std::size_t i = 0; i < accesses.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const StreamAccess &a = accesses[i], &b = accesses[j];
      const bool same_work = a.work.position == b.work.position && a.work.component == b.work.component &&
                             a.work.end_tick == b.work.end_tick;
      if ((!a.writes && !b.writes) || !a.bytes.overlaps(b.bytes) || same_work || ordered(a.work, b.work))
        continue;
      if (a.work.exchange >= 0 && b.work.exchange >= 0)
        found.push_back({StreamFinding::kExchanges, a.work.rank, a.work.exchange, a.peer, a.op});
      else
        found.push_back(a.work.exchange < 0 ? race_between(a, b) : race_between(b, a));
    }
  return found;
}

std::vector<StreamFinding> lost_overlap(const std::vector<StreamWork>& works,
                                        const std::vector<StreamStep>& steps) {
  std::vector<StreamFinding> found;
  for (const StreamWork& message : works) {
    if (message.exchange < 0) continue;
    int wait = static_cast<int>(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (steps[i].kind == StreamStep::kWait && steps[i].exchange == message.exchange)
        wait = static_cast<int>(i);
    for (const StreamWork& work : works)
      if (work.exchange < 0 && work.position > message.position && work.position < wait &&
          message.ends_before(work))
        found.push_back({StreamFinding::kNoOverlap, work.rank, message.exchange, -1, Op::kSend, work.number});
  }
  return found;
}

}  // namespace ringcraft::verify
