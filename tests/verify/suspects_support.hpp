#pragma once
// A case with its right answer, and whole tensors of a twisted ring, for tests that diagnose them.

#include <algorithm>

#include "ringcraft/core/matrix.hpp"
#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/twisted/twisted_ring.hpp"
#include "verify/oracle/cases.hpp"
#include "verify/oracle/compare.hpp"

namespace ringcraft::verify {

struct Scene {
  Case c;
  Inputs inputs;
  Oracle right;

  explicit Scene(Case example)
      : c(std::move(example)), inputs(make_inputs(c, DType::kFloat64)), right(oracle(c.problem, inputs)) {}
  explicit Scene(Problem problem) : Scene(make_case(std::move(problem), Data::kNormal, 21)) {}

  Diagnosis of(const Answer& claim, Ranks ranks = Ranks::kKnown, Expect expect = Expect::kForward) const {
    return diagnose(c.problem, inputs, claim, right, compare_exact(claim, right, expect), {.ranks = ranks});
  }
};

inline void put(Buffer& buffer, const RowPlace& row, const std::vector<double>& values) {
  std::copy(values.begin(), values.end(), head_of<double>(buffer, row.batch, row.head).row(row.row).begin());
}

template <class Body>
void for_each_row(const Extents& e, Body body) {
  for (Index batch = 0; batch < e.batch; ++batch)
    for (Index head = 0; head < e.heads; ++head)
      for (Position p = 0; p < e.rows; ++p) body(RowPlace{batch, head, p});
}

// Wrong out and lse beside the right gradients of `right`.
inline Answer twisted_forward(const Problem& problem, const Inputs& inputs, const Answer& right,
                              const Twist& twist, const Arrangement& arrangement) {
  const TwistedRing ring(whole(problem), inputs, right, arrangement);
  Answer answer = clone(right);
  for_each_row(answer.out.extents(), [&](const RowPlace& row) {
    const Merged value = ring.forward(twist, row);
    put(answer.out, row, value.out);
    put(answer.lse, row, {value.lse});
  });
  return answer;
}

inline Answer twisted_forward(const Problem& problem, const Inputs& inputs, const Answer& right,
                              const Twist& twist) {
  return twisted_forward(problem, inputs, right, twist, ring_arrangement(problem));
}

// Wrong gradients beside the right out and lse of `right`.
inline Answer twisted_backward(const Problem& problem, const Inputs& inputs, const Answer& right,
                               const Twist& twist) {
  const TwistedRing ring(whole(problem), inputs, right, ring_arrangement(problem));
  Answer answer = clone(right);
  for_each_row(answer.dq.extents(), [&](const RowPlace& row) { put(answer.dq, row, ring.dq(twist, row)); });
  for_each_row(answer.dk.extents(), [&](const RowPlace& row) {
    const KvRows value = ring.dkv(twist, row);
    put(answer.dk, row, value.dk);
    put(answer.dv, row, value.dv);
  });
  return answer;
}

}  // namespace ringcraft::verify
