// Recording of events, for the base classes.
#include "ringcraft/comm/trace.hpp"

#include <utility>

namespace ringcraft {

TraceTime RankTrace::now() const {
  return {std::chrono::duration<double>(Clock::now() - origin_).count(),
          clock_ != nullptr ? clock_->clock() : 0};
}

std::size_t RankTrace::begin(TraceEvent event) {
  if (const MemoryMeter* meter = MeterScope::current()) event.live_bytes = meter->live();
  event.begin = event.end = now();
  events_.push_back(std::move(event));
  return events_.size() - 1;
}

void RankTrace::end(std::size_t event) {
  events_[event].end = now();
  events_[event].ended = true;
}

void RankTrace::holds(std::string_view name, int owner, const Buffer& buffer, const HeldPart& part) {
  TraceEvent event;
  event.owner = owner;
  event.part = part;
  event.tensors.push_back({name, TracedTensor::kWrite, TracedBytes(buffer)});
  end(begin(std::move(event)));
}

void RankTrace::gives(std::string_view name, const Buffer& buffer) {
  TraceEvent event;
  event.kind = TraceEvent::kGives;
  event.tensors.push_back({name, TracedTensor::kRead, TracedBytes(buffer)});
  end(begin(std::move(event)));
}

std::size_t RankTrace::start(std::span<const Op> ops) {
  TraceEvent event;
  event.kind = TraceEvent::kStart;
  for (const Op& op : ops) event.messages.push_back({op.kind, op.peer, TracedBytes(op.bytes)});
  return begin(std::move(event));
}

void RankTrace::started(std::size_t event, std::uint64_t ticket) {
  open_[ticket] = event;
  end(event);
}

std::optional<std::size_t> RankTrace::wait(std::uint64_t ticket) {
  const auto found = open_.find(ticket);
  if (found == open_.end()) return {};
  TraceEvent event;
  event.kind = TraceEvent::kWait;
  event.waits_for = found->second;
  open_.erase(found);
  return begin(std::move(event));
}

Trace::Trace(int world_size, TraceDetail detail) {
  const auto origin = RankTrace::Clock::now();
  for (int rank = 0; rank < world_size; ++rank) ranks_.push_back(RankTrace(origin, detail));
}

}  // namespace ringcraft
