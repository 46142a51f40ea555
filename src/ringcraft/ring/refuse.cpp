// Validation of distributed calls.
#include "ringcraft/ring/refuse.hpp"

#include <string>

#include "ringcraft/core/error.hpp"
#include "ringcraft/ring/route.hpp"

namespace ringcraft {

std::string_view name_of(Schedule schedule) {
  return schedule == Schedule::kForward ? "forward" : "reversed";
}

void refuse(const Problem& problem, Pass pass, const Communicator& comm, const BlockEngine& engine) {
  validate(problem);
  if (problem.world_size != comm.world_size())
    throw Error("ranks", "as many as the communicator has (" + std::to_string(comm.world_size()) + ")",
                std::to_string(problem.world_size), "build the problem with the communicator's world_size");
  if (engine.space() != comm.space())
    throw Error("engine", "buffers in the communicator's memory space", "buffers in the other one",
                "use a host engine with threads and mpi, a device engine with a device communicator");
  engine.refuse(problem, pass);
}

namespace {

std::string described(const Extents& e, DType type, Space space) {
  return described(e) + " " + std::string(name_of(type)) +
         (space == Space::kHost ? " on the host" : " on the device");
}

void require(const char* name, const Buffer& buffer, const Extents& extents, DType type, Space space) {
  if (buffer.extents() != extents || buffer.dtype() != type || buffer.space() != space)
    throw Error(name, described(extents, type, space),
                described(buffer.extents(), buffer.dtype(), buffer.space()),
                "give each rank the shard that its layout assigns to it");
}

void require_kv(const BlockEngine& engine, const KvBlock& kv, const Extents& extents) {
  require("k", kv.k, extents, engine.dtype(Role::kElement), engine.space());
  require("v", kv.v, extents, engine.dtype(Role::kElement), engine.space());
}

bool is_empty(const KvBlock& kv) { return kv.k.empty() && kv.v.empty(); }

}  // namespace

void require_shard(const Problem& problem, int rank, const BlockEngine& engine, const Buffer& q,
                   const KvBlock& kv) {
  require("q", q, problem.q_extents(rank), engine.dtype(Role::kElement), engine.space());
  require_kv(engine, kv, problem.kv_extents(rank));
}

void require_shard(const Problem& problem, int rank, const BlockEngine& engine, const Buffer& q,
                   const KvBlock& first, const KvBlock& own, Schedule schedule, const Output& output,
                   const Buffer& dout) {
  const Route route(problem, rank, schedule);
  const DType element = engine.dtype(Role::kElement), accumulator = engine.dtype(Role::kAccumulator);
  require("q", q, problem.q_extents(rank), element, engine.space());
  if (route.here(0) || !is_empty(first)) require_kv(engine, first, problem.kv_extents(route.source(0)));
  if (route.keeps_own() || !is_empty(own)) require_kv(engine, own, problem.kv_extents(rank));
  require("out", output.out, problem.q_extents(rank), accumulator, engine.space());
  require("lse", output.lse, problem.row_extents(rank), accumulator, engine.space());
  require_dout(problem, rank, engine, dout);
}

void require_dout(const Problem& problem, int rank, const BlockEngine& engine, const Buffer& dout) {
  require("dout", dout, problem.q_extents(rank), engine.dtype(Role::kElement), engine.space());
}

KvBlock allocate_kv(BlockEngine& engine, const Problem& problem, Role role) {
  const Extents largest{problem.shape.batch, problem.shape.kv_heads, problem.sharding().largest_rows(),
                        problem.shape.head_dim};
  return {engine.allocate(largest, role), engine.allocate(largest, role)};
}

}  // namespace ringcraft
