#pragma once
// A rank's place in a job, from the variables that torchrun and many schedulers set.

#include <functional>
#include <optional>
#include <string>

namespace ringcraft::tool {

struct ToldPlace {
  int rank = 0, world_size = 1;
  std::string host;  // of rank 0
  int port = 0;      // at which it listens
};

using Variable = std::function<const char*(const char* name)>;  // null: not set

// RANK, WORLD_SIZE and MASTER_ADDR; the port is RINGCRAFT_PORT, or the one after MASTER_PORT, where torchrun
// listens itself. Nothing if RANK or WORLD_SIZE is not set. Throws Error if another one is missing, and for a
// number that is none or out of range.
std::optional<ToldPlace> told_place(const Variable& variable);
// From the environment of this process.
std::optional<ToldPlace> told_place();

}  // namespace ringcraft::tool
