// Changes the library's order, and draws what came of it.
#include "verify/streams/stream_lanes.hpp"

namespace ringcraft::verify {

StreamOrder changed_order(StreamChange in_start, StreamChange in_wait) {
  const StreamOrder right = library_order();
  return {[=](auto messages, const auto& events) {
            auto calls = right.start(messages, events);
            in_start(calls);
            return calls;
          },
          [=](const auto& events) {
            auto calls = right.wait(events);
            in_wait(calls);
            return calls;
          }};
}

StreamChange without(StreamCall::Kind kind, RankStream stream) {
  return [=](std::vector<StreamCall>& calls) {
    std::erase_if(calls, [=](const StreamCall& c) { return c.kind == kind && c.stream == stream; });
  };
}

std::string lane_of(const StreamRun& run, int rank, RankStream stream) {
  std::string line;
  int computed = 0;
  for (const StreamSpan& span : run.spans)
    if (span.rank == rank && span.stream == stream) {
      line.resize(static_cast<std::size_t>(span.begin), '.');
      const int number = span.exchange < 0 ? computed++ : span.exchange;
      line.append(static_cast<std::size_t>(span.end - span.begin), static_cast<char>('0' + number % 10));
    }
  return line;
}

}  // namespace ringcraft::verify
