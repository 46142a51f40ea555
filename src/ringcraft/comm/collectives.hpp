#pragma once
/// @file
/// Collectives: operations of all ranks together, as free functions over Communicator::start and
/// Pending::wait, the same for every backend. The parts are combined in the order of the ranks, never in that
/// of arrival, so it has the same bits on every rank, in every run and on every backend.

#include "ringcraft/comm/communicator.hpp"

namespace ringcraft {

/// Gives every rank the bytes of all ranks: `all` becomes their `own`, one after the other, by rank. All
/// ranks pass the same length. Each rank sends (N - 1) own.size() bytes in gather_phases(N) exchanges: the
/// pieces that a rank holds double with every exchange (Bruck's algorithm). Throws Error unless `all` has N
/// times the length of `own`.
void all_gather(Communicator& comm, std::span<const std::byte> own, std::span<std::byte> all);

/// Exchanges, one after the other, that an all_gather takes: the smallest p with 2^p >= world_size.
int gather_phases(int world_size);

}  // namespace ringcraft
