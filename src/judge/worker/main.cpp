// The program that a student's object is linked into, one process per rank. It serves calls from the judge
// until the judge hangs up. It knows neither expected values nor the oracle.
#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "judge/exercises.hpp"
#include "judge/worker/wire_communicator.hpp"
#include "ringcraft/attention/host_engine.hpp"

namespace ringcraft::judge {
namespace {

struct Entry {
  std::string_view name;
  Bytes (*serve)(Reader&, Communicator&, BlockEngine&);
};

template <class... E>
constexpr auto entries_of(std::type_identity<std::tuple<E...>>) {
  return std::array{Entry{E::kName, &E::serve}...};
}
constexpr auto kEntries = entries_of(std::type_identity<Exercises>{});

// Tiles far smaller than the shards, so that every call of the engine meets several of them.
constexpr TileSize kSmallTiles{5, 3};

Bytes serve(const Bytes& call) {
  Reader from(call);
  const std::string name = get_string(from);
  const auto rank = from.number<int>(), world_size = from.number<int>();
  WireCommunicator comm(rank, world_size, from.number<Sending>());
  HostEngine<double> engine(kSmallTiles);
  for (const Entry& entry : kEntries)
    if (entry.name == name) {
      Bytes reply = entry.serve(from, comm, engine);
      comm.flush();
      return reply;
    }
  throw Error("this worker has no exercise " + name);
}

// What was printed during a call is handed over before its answer.
void reply(FrameKind kind, const Bytes& bytes) {
  std::fflush(stdout);
  write_frame(kind, bytes);
}

void answer(const Bytes& call) {
  std::string thrown;
  try {
    return reply(FrameKind::kReply, serve(call));
  } catch (const std::exception& error) {
    thrown = error.what();
  } catch (...) {
    thrown = "something that is no std::exception";
  }
  Writer to;
  put(to, thrown);
  reply(FrameKind::kThrew, to.take());
}

}  // namespace
}  // namespace ringcraft::judge

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 12);  // what a student prints is shown, even before a crash
  for (;;) ringcraft::judge::answer(ringcraft::judge::read_frame().bytes);
}
