// Calls the exercises of a lesson with host code, RINGCRAFT_SERVED, by their names.
#include "judge/worker/serve.hpp"

#include "judge/wire/exercises.hpp"
#include "judge/worker/serve_table.hpp"
#include "ringcraft/attention/host_engine.hpp"
#ifdef RINGCRAFT_OWN_EXERCISES  // lessons/NNN_name/exercise.hpp, of a lesson that has one
#include RINGCRAFT_OWN_EXERCISES
#endif

namespace ringcraft::judge {
namespace {

using Served = std::tuple<RINGCRAFT_SERVED>;

// Tiles far smaller than the shards, so that every call of the engine meets several of them.
constexpr TileSize kSmallTiles{5, 3};

template <class... E>
constexpr bool any_takes_engine(std::type_identity<std::tuple<E...>>) {
  return (E::kTakesEngine || ...);
}

}  // namespace

Bytes serve(const std::string& exercise, Reader& arguments, Arena& arena, Communicator& comm) {
  constexpr std::type_identity<Served> kServed;
  if constexpr (any_takes_engine(kServed)) {
    HostEngine<double> engine(kSmallTiles);
    return serve_one_of(kServed, exercise, arguments, arena, comm, &engine);
  } else {
    return serve_one_of(kServed, exercise, arguments, arena, comm, nullptr);
  }
}

}  // namespace ringcraft::judge
