// The exercises of host code by name (see serve.hpp).
#include "judge/worker/serve.hpp"

#include "judge/exercises.hpp"
#include "judge/worker/serve_table.hpp"
#include "ringcraft/attention/host_engine.hpp"

namespace ringcraft::judge {
namespace {

// Tiles far smaller than the shards, so that every call of the engine meets several of them.
constexpr TileSize kSmallTiles{5, 3};

}  // namespace

Bytes serve(const std::string& exercise, Reader& arguments, Communicator& comm) {
  HostEngine<double> engine(kSmallTiles);
  return serve_one_of(std::type_identity<Exercises>{}, exercise, arguments, comm, engine);
}

}  // namespace ringcraft::judge
