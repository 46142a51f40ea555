#pragma once
/// @file
/// The expected cost of Ulysses and of the hybrid: that of the rings along the columns, and of the parcels
/// that go from neighbour to neighbour before and after.

#include "ringcraft/parallel/method.hpp"

namespace ringcraft {

/// Neighbours that deal heads among each other: options.ulysses, or all ranks.
int degree_of(const Problem& problem, const MethodOptions& options);

/// With U neighbours, c rows on every rank and equal heads: (U - 1) parcels of c heads / U rows for each of
/// q, k, v and out, and one number per row of lse; backward the same of dout, dq, dk and dv. The ring's part
/// is that of U c rows and heads / U heads over N / U ranks: as many bytes as in a ring of N / U ranks with
/// all heads and c rows.
Theory hybrid_theory(const Problem& problem, const MethodOptions& options, Pass pass, RoleBytes bytes);

}  // namespace ringcraft
