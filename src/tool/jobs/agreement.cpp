// Compares what the ranks of a job are about to compute: a hash of each statement goes to every rank.
#include "tool/jobs/agreement.hpp"

#include <cstdint>

#include "ringcraft/comm/collectives.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/hash.hpp"

namespace ringcraft::tool {

std::vector<std::string> CommunicatorMeeting::gathered(const std::string& own) {
  std::string all(own.size() * static_cast<std::size_t>(world_size()), '\0');
  all_gather(comm_, std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < all.size(); at += own.size()) pieces.push_back(all.substr(at, own.size()));
  return pieces;
}

void require_agreement(Meeting& meeting, const std::vector<Statement>& statements) {
  constexpr std::size_t kHash = sizeof(std::uint64_t);
  std::string own;
  for (const Statement& statement : statements) {
    const auto hash = fnv1a<std::uint64_t>(statement.value);
    own.append(reinterpret_cast<const char*>(&hash), kHash);
  }
  const std::vector<std::string> all = meeting.gathered(own);
  for (std::size_t i = 0; i < statements.size(); ++i)
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
      if (all[rank].compare(i * kHash, kHash, all[0], i * kHash, kHash) == 0) continue;
      const bool here = meeting.rank() == 0 && statements[i].shown;
      throw Error("rank " + std::to_string(rank) + " differs from rank 0 in " + statements[i].what +
                  (here ? " (rank 0: " + statements[i].value + ")" : "") +
                  "; start every rank with the same flags and input files");
    }
}

}  // namespace ringcraft::tool
