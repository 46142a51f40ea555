// Compares what the ranks of a job are about to compute: a hash of each statement goes to every rank.
#include "tool/jobs/agreement.hpp"

#include <cstdint>

#include "ringcraft/comm/collectives.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/hash.hpp"

namespace ringcraft::tool {

void require_agreement(Communicator& comm, const std::vector<Statement>& statements) {
  const std::size_t n = static_cast<std::size_t>(comm.world_size()), count = statements.size();
  std::vector<std::uint64_t> own, all(n * count);
  for (const Statement& statement : statements) own.push_back(fnv1a<std::uint64_t>(statement.value));
  all_gather(comm, std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t rank = 1; rank < n; ++rank) {
      if (all[rank * count + i] == all[i]) continue;
      const bool here = comm.rank() == 0 && statements[i].shown;
      throw Error("rank " + std::to_string(rank) + " differs from rank 0 in " + statements[i].what +
                  (here ? " (rank 0: " + statements[i].value + ")" : "") +
                  "; start every rank with the same flags and input files");
    }
}

}  // namespace ringcraft::tool
