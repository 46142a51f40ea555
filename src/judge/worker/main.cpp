// The program that a student's object is linked into, one process per rank. It serves calls from the judge
// until the judge hangs up, and has locked itself up before any of the student's code runs (first.cpp). It
// knows neither expected values nor the oracle.
#include <cstdio>
#include <exception>
#include <string>

#include "judge/worker/crash.hpp"
#include "judge/worker/guarded_memory.hpp"
#include "judge/worker/serve.hpp"
#include "judge/worker/wire_communicator.hpp"
#include "ringcraft/comm/refusal.hpp"

namespace ringcraft::judge {
namespace {

// The output of a call is flushed before its answer is sent.
void reply(FrameKind kind, const Bytes& bytes) {
  std::fflush(stdout);
  write_frame(kind, bytes);
}

void serve_call(const Bytes& call) {
  Reader from(call);
  const std::string exercise = get_string(from);
  const auto rank = from.number<int>(), world_size = from.number<int>();
  WireCommunicator comm(rank, world_size, from.number<Sending>());
  GuardedArena arena(from.number<Placement>());
  const Bytes answer = serve(exercise, from, arena, comm);
  comm.flush();
  const std::optional<Stray> stray = arena.stray();
  if (!stray) return reply(FrameKind::kReply, answer);
  Writer to;
  to.number(*stray);
  reply(FrameKind::kStrayed, to.take());
}

void answer(const Bytes& call) {
  std::string words;
  Thrown thrown = Thrown::kOther;
  Refusal refused = Refusal::kNone;
  try {
    return serve_call(call);
  } catch (const std::exception& error) {
    words = error.what();
    thrown = kind_of(error);
    refused = refusal_of(error);
  } catch (...) {
    words = "something that is no std::exception";
  }
  Writer to;
  put(to, words);
  to.number(thrown);
  to.number(refused);
  reply(FrameKind::kThrew, to.take());
}

}  // namespace
}  // namespace ringcraft::judge

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 12);  // a student's output is shown, even before a crash
  ringcraft::judge::report_crashes();
  ringcraft::judge::write_frame(ringcraft::judge::FrameKind::kReady, {});
  for (;;) ringcraft::judge::answer(ringcraft::judge::read_frame().bytes);
}
