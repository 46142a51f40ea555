// Asks which known mistakes would change the numbers of a case that somebody has computed rightly.
#include <algorithm>
#include <cmath>
#include <ranges>

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

// Whether a computation with these twists gives plainly other numbers.
class Showing {
 public:
  Showing(const Problem& problem, const Inputs& in, const Oracle& right, DType precision)
      : block_(whole(problem)),
        in_(in),
        ring_(block_, in, right.value, ring_arrangement(problem)),
        differs_(right, precision) {}

  bool forward(const Twist& twist) const {
    return ring_.can_be(twist) && any_row(in_.q.extents(), [&](const RowPlace& at) {
             const Merged value = ring_.forward(twist, at);
             return std::isfinite(value.lse) && differs_.row(&Answer::out, at, value.out);
           });
  }

  bool backward(const Twist& twist) const {
    if (!ring_.can_be(twist) || !in_.has_backward()) return false;
    return any_row(in_.q.extents(),
                   [&](const RowPlace& at) { return differs_.row(&Answer::dq, at, ring_.dq(twist, at)); }) ||
           any_row(in_.k.extents(), [&](const RowPlace& at) {
             const KvRows value = ring_.dkv(twist, at);
             return differs_.row(&Answer::dk, at, value.dk) || differs_.row(&Answer::dv, at, value.dv);
           });
  }

 private:
  BlockProblem block_;
  const Inputs& in_;
  TwistedRing ring_;
  Differing differs_;
};

}  // namespace

std::vector<std::string> shown_mistakes(const Problem& problem, const Inputs& inputs,
                                        const std::vector<std::string>& ids, DType precision) {
  const Inputs in = converted(inputs, DType::kFloat64);
  const Oracle right = oracle(problem, in);
  const Showing showing(problem, in, right, precision);
  std::vector<std::string> shown;
  for (const std::string& id : ids) {
    const auto has_id = [&](const Suspect& suspect) { return suspect.cause.id == id; };
    auto of_forward = forward_suspects() | std::views::filter(has_id);
    auto of_backward = backward_suspects() | std::views::filter(has_id);
    if (of_forward.empty() && of_backward.empty()) continue;
    if (std::ranges::any_of(of_forward, &Suspect::example)) continue;  // another number may not show here
    if (std::ranges::all_of(of_forward, [&](const Suspect& one) { return showing.forward(one.twist); }) &&
        std::ranges::all_of(of_backward, [&](const Suspect& one) { return showing.backward(one.twist); }))
      shown.push_back(id);
  }
  return shown;
}

}  // namespace ringcraft::verify
