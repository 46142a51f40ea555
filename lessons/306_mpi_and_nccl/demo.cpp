// Lesson 306: a ring that sends first under an eager limit; then the library's ring of four on a model of two
// streams per rank. Computing a block takes 3, an exchange 2; the last computation reads the results.
#include <cstdio>

#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/comm/threads.hpp"
#include "ringcraft/core/error.hpp"
#include "verify/streams/stream_lanes.hpp"

using namespace ringcraft;
constexpr int kRanks = 4;
constexpr RankStream kCompute = RankStream::kCompute, kCopies = RankStream::kCommunication;

// All ranks send first, on a transport that copies messages of up to `limit` bytes aside.
const char* outcome(std::size_t bytes, std::size_t limit) try {
  run_ranks(kRanks, [&](ThreadCommunicator& comm) {
    std::vector<std::byte> out(bytes), in(bytes);
    Pending sent = comm.start({send_to((comm.rank() + 1) % kRanks, out)});
    if (bytes > limit) sent.wait();
    recv(comm, (comm.rank() + kRanks - 1) % kRanks, in);
  });
  return "ends";
} catch (const Error&) {
  return "hangs";
}

void show(const char* title, int ranks_shown, const verify::StreamChange& change) {
  const auto order = verify::changed_order(change, change);
  const verify::StreamRun run = play(with_calls(recorded(verify::StreamPattern::kForward, kRanks), order));
  std::printf("%s: ends at %g\n", title, run.end);
  for (int rank = 0; rank < ranks_shown; ++rank) {
    std::printf("rank %d compute       %s\n", rank, lane_of(run, rank, kCompute).c_str());
    std::printf("rank %d communication %s\n", rank, lane_of(run, rank, kCopies).c_str());
  }
  for (const verify::StreamFinding& finding : run.findings)
    if (finding.rank == 0) std::printf("found: %s\n", sentence_of(finding).c_str());
  std::puts("");
}

int main() {
  std::puts("all send first: bytes, with eager limits of 0, 4096 and 65536 bytes");
  for (const std::size_t bytes : {8, 4096, 4097, 65536, 65537})
    std::printf("%zu %s %s %s\n", bytes, outcome(bytes, 0), outcome(bytes, 4096), outcome(bytes, 65536));
  std::puts("");
  show("the library's order", kRanks, [](auto&) {});
  show("no wait for done", 1, verify::without(StreamCall::kWait, kCompute));
  show("no wait for ready", 1, verify::without(StreamCall::kWait, kCopies));
  show("no group", 1, [](auto& calls) {
    for (const auto kind : {StreamCall::kGroupStart, StreamCall::kGroupEnd})
      verify::without(kind, kCompute)(calls);
  });
  show("messages on the compute stream", 1, [](auto& calls) {
    for (StreamCall& call : calls) call.stream = kCompute;
  });
  show("the host waits for the exchange", 1, [](auto& calls) {
    if (calls.size() == 1) calls = {{StreamCall::kSynchronize, kCopies}};
  });
}
