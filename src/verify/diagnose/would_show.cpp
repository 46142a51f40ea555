// Asks whether a known mistake would change the numbers of a case that somebody has computed rightly.
#include <algorithm>
#include <cmath>

#include "verify/diagnose/diagnose_detail.hpp"

namespace ringcraft::verify {
namespace {

// A difference beyond this share of an element's scale is no rounding of that type.
double plain_difference(DType precision) {
  switch (precision) {
    case DType::kFloat64:
      return 1e-9;
    case DType::kFloat32:
      return 1e-3;
    case DType::kBFloat16:
    case DType::kFloat16:
      break;
  }
  return 0.1;
}

class Differing {
 public:
  Differing(const Oracle& right, DType precision) : right_(right), share_(plain_difference(precision)) {}

  bool row(Buffer Answer::*tensor, const RowPlace& at, std::span<const double> value) const {
    const auto want = row_of(right_.value.*tensor, at.batch, at.head, at.row),
               scale = row_of(right_.scale.*tensor, at.batch, at.head, at.row);
    for (std::size_t c = 0; c < value.size(); ++c)
      if (!(std::fabs(value[c] - want[c]) <= share_ * scale[c])) return true;
    return false;
  }

 private:
  const Oracle& right_;
  double share_;
};

// Whether this holds for some row of a tensor of these extents.
template <class Holds>
bool any_row(const Extents& e, Holds holds) {
  for (Index batch = 0; batch < e.batch; ++batch)
    for (Index head = 0; head < e.heads; ++head)
      for (Index row = 0; row < e.rows; ++row)
        if (holds(RowPlace{batch, head, row})) return true;
  return false;
}

}  // namespace

std::optional<bool> would_show(const Problem& problem, const Inputs& inputs, const std::string& id,
                               DType precision) {
  const auto twist_in = [&](const std::vector<Suspect>& suspects) -> const Twist* {
    const auto found = std::ranges::find(suspects, id, [](const Suspect& s) { return s.cause.id; });
    return found == suspects.end() ? nullptr : &found->twist;
  };
  const Twist *const forward = twist_in(forward_suspects()), *const backward = twist_in(backward_suspects());
  if (forward == nullptr && backward == nullptr) return {};
  const Inputs in = converted(inputs, DType::kFloat64);
  const Oracle right = oracle(problem, in);
  const BlockProblem block = whole(problem);
  const TwistedRing ring(block, in, right.value, ring_arrangement(problem));
  const Differing differs(right, precision);
  if (forward != nullptr)
    return ring.can_be(*forward) && any_row(in.q.extents(), [&](const RowPlace& at) {
             const Merged value = ring.forward(*forward, at);
             return std::isfinite(value.lse) && differs.row(&Answer::out, at, value.out);
           });
  if (!ring.can_be(*backward) || !in.has_backward()) return false;
  return any_row(in.q.extents(),
                 [&](const RowPlace& at) { return differs.row(&Answer::dq, at, ring.dq(*backward, at)); }) ||
         any_row(in.k.extents(), [&](const RowPlace& at) {
           const KvRows value = ring.dkv(*backward, at);
           return differs.row(&Answer::dk, at, value.dk) || differs.row(&Answer::dv, at, value.dv);
         });
}

}  // namespace ringcraft::verify
