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

/// Adds up numbers of all ranks and gives every rank a part of the sum: `whole` of each rank has N pieces of
/// the length of `own`, one for each rank, and `own` becomes the sum of all ranks' pieces for this one, added
/// in the order of the ranks. Each rank sends (N - 1) pieces, in one exchange. Throws Error unless `whole`
/// has N times the length of `own`. T is float or double.
template <class T>
void reduce_scatter(Communicator& comm, std::span<const T> whole, std::span<T> own);

/// Adds up the numbers of all ranks, in the order of the ranks; `values` becomes the sum, with the same bits
/// on every rank. A reduce_scatter and an all_gather: each rank sends 2 (N - 1) ceil(length / N) numbers. All
/// ranks pass the same length. T is float or double.
template <class T>
void all_reduce(Communicator& comm, std::span<T> values);

}  // namespace ringcraft
