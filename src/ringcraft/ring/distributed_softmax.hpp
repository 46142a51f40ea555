#pragma once
/// @file
/// Softmax of rows whose scores lie on N ranks (lesson 302): each rank holds some columns of every row, any
/// number of them. Only (m, l) travels, two numbers for each row and rank, and never a score; it is merged as
/// a chain around the ring or as an all-reduce.

#include <vector>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/comm/communicator.hpp"
#include "ringcraft/core/matrix.hpp"

namespace ringcraft {

/// weights(i, j) = exp(scores(i, j) - m) / l with the m and l of row i over the columns of all ranks. Both
/// matrices are [rows, columns of this rank]; rows is the same on every rank, columns need not be and may be
/// 0; they may be the same memory. Returns (m, l) of each row. They are merged in the order of the ranks, so
/// all ranks have the same bits; a row of nothing but -inf has the state (-inf, 0) and weights 0. One
/// all-gather of the states of all rows: gather_phases(N) exchanges.
template <class T>
std::vector<SoftmaxState<T>> distributed_softmax(Communicator& comm, Matrix<const T> scores,
                                                 Matrix<T> weights);

/// The same (m, l) by a chain: states[i], of this rank's columns of row i, becomes that of the columns of all
/// ranks. A rank merges its own state into what comes from the previous rank and hands it on: N - 1
/// exchanges. Each rank merges in another order, so the last bits may differ from rank to rank.
template <class T>
void chain_states(Communicator& comm, std::span<SoftmaxState<T>> states);

}  // namespace ringcraft
