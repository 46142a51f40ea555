#pragma once
/// @file
/// Exercises on one head, over the harness's table of single blocks: grouped heads, ragged and windowed
/// shards, rows without any key, hot and negative scores. Shared by the lessons of chapter 1.

#include <functional>

#include "judge/checks/lesson.hpp"
#include "ringcraft/core/matrix.hpp"
#include "verify/oracle/cases.hpp"

namespace ringcraft::judge {

/// One head of a block, as an exercise meets it. Views live as long as the call.
struct HeadForward {
  Matrix<const double> q, k, v;  ///< [rows, head_dim], [keys, head_dim]
  const KeyRanges& ranges;       ///< the keys that each row sees
  double softmax_scale;
  Matrix<double> out;     ///< to be written, [rows, head_dim]; holds NaN before
  std::span<double> lse;  ///< to be written, [rows]; holds NaN before
};

/// The same for gradients.
struct HeadBackward {
  Matrix<const double> q, k, v, dout;  ///< as in HeadForward; dout as q
  std::span<const double> lse, delta;  ///< of the forward pass, [rows]
  const KeyRanges& ranges;
  double softmax_scale;
  Matrix<double> dq, dk, dv;  ///< to be added to; dk and dv are shared by the heads of a group
};

/// Throws Wrong, with the case's name in front, unless the function gives the oracle's out and lse for every
/// head of every case. `function` calls the student's exercise, in this precision.
void require_forward(const std::vector<verify::BlockCase>& cases,
                     const std::function<void(const HeadForward&)>& function,
                     DType precision = DType::kFloat64);

/// The same for dq, dk and dv. lse and delta come from the oracle's own forward pass.
void require_backward(const std::vector<verify::BlockCase>& cases,
                      const std::function<void(const HeadBackward&)>& function);

/// Every `stride`-th case of the brief table of single blocks, beginning with case `first`, with seeds of
/// this trial.
std::vector<verify::BlockCase> some_blocks(const Trial& trial, int first, int stride);

/// require_forward() for dense attention: the student's, or the library's, which calls the student's
/// function.
void require_dense(Trial& trial, const std::vector<verify::BlockCase>& cases);

}  // namespace ringcraft::judge
