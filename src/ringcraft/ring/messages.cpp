// All messages of a ring, collected from the routes past its ranks.
#include "ringcraft/ring/messages.hpp"

#include <utility>

#include "ringcraft/ring/route.hpp"

namespace ringcraft {

std::vector<RingTransfer> ring_messages(const Problem& problem, Pass pass, Schedule schedule) {
  return ring_messages(problem, pass, schedule, shared_reaches(problem));
}

std::vector<RingTransfer> ring_messages(const Problem& problem, Pass pass, Schedule schedule,
                                        std::shared_ptr<const std::vector<int>> reaches) {
  const bool backward = pass == Pass::kBackward;
  std::vector<Route> routes;
  for (int rank = 0; rank < problem.world_size; ++rank)
    routes.emplace_back(problem, reaches, rank, backward ? schedule : Schedule::kForward);
  std::vector<RingTransfer> all;
  for (int step = 0; step <= routes[0].exchanges(); ++step)
    for (int rank = 0; rank < problem.world_size; ++rank) {
      const Route& route = routes[static_cast<std::size_t>(rank)];
      const auto leaves = [&](int to, int source, RingTransfer::What what) {
        const Index elements = 2 * problem.kv_extents(source).elements();
        if (elements > 0) all.push_back({step, rank, to, source, what, elements});
      };
      const int source = route.source(step);
      if (route.onward(step)) leaves(route.next(), source, RingTransfer::kBlock);
      if (route.enters(step)) leaves(route.last_rank(), rank, RingTransfer::kBlock);
      if (backward && route.sum_leaves(step)) leaves(route.sum_to(step), source, RingTransfer::kSum);
    }
  return all;
}

Index bytes_of(const RingTransfer& transfer, RoleBytes bytes) {
  const std::size_t number = transfer.what == RingTransfer::kBlock ? bytes.element : bytes.accumulator;
  return transfer.elements * static_cast<Index>(number);
}

}  // namespace ringcraft
