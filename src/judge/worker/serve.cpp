// The exercises by name (see serve.hpp).
#include "judge/worker/serve.hpp"

#include <array>
#include <string_view>

#include "judge/exercises.hpp"
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

}  // namespace

Bytes serve(const std::string& exercise, Reader& arguments, Communicator& comm) {
  HostEngine<double> engine(kSmallTiles);
  for (const Entry& entry : kEntries)
    if (entry.name == exercise) return entry.serve(arguments, comm, engine);
  throw Error("this worker has no exercise " + exercise);
}

}  // namespace ringcraft::judge
