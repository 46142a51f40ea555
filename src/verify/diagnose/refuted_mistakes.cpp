// Asks which known mistakes give other numbers than a claim, or than attention.
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

// The rows of an answer, each beside another computation of it.
class Rows {
 public:
  Rows(const Answer& answer, const Answer& scale, DType precision)
      : answer_(answer), scale_(scale), share_(plain_difference(precision)) {}

  bool has(Buffer Answer::*tensor) const { return !(answer_.*tensor).empty(); }

  // Whether an element is plainly another one. NaN of an answer tells nothing.
  bool differs(Buffer Answer::*tensor, const RowPlace& at, std::span<const double> value) const {
    if (!has(tensor)) return false;
    const auto got = row_of(answer_.*tensor, at.batch, at.head, at.row),
               scale = row_of(scale_.*tensor, at.batch, at.head, at.row);
    for (std::size_t c = 0; c < value.size(); ++c)
      if (std::isfinite(got[c]) && !(std::fabs(value[c] - got[c]) <= share_ * scale[c])) return true;
    return false;
  }

 private:
  const Answer &answer_, &scale_;
  double share_;
};

// Whether a computation with these twists gives plainly other numbers than an answer: than a right one
// anywhere, than a wrong one on a rank that has a wrong row, since a mistake may be made on some ranks alone.
class Refuting {
 public:
  Refuting(const Problem& problem, const Inputs& in, const Oracle& right, const Answer& answer, bool is_right,
           DType precision, const Poll& poll)
      : block_(whole(problem)),
        in_(in),
        ring_(block_, in, right.value, ring_arrangement(problem)),
        rows_(answer, right.scale, precision),
        poll_(poll),
        asked_(static_cast<std::size_t>(problem.world_size), is_right) {
    if (!is_right) ask_wrong_ranks(right.value);
  }

  bool forward(const Twist& twist) const {
    return ring_.can_be(twist) && rows_.has(&Answer::out) &&
           std::ranges::any_of(row_places(in_.q.extents()), [&](const RowPlace& at) {
             if (!is_asked(ring_.arrangement().row_owner, at)) return false;
             tick();
             const Merged value = ring_.forward(twist, at);
             return std::isfinite(value.lse) && rows_.differs(&Answer::out, at, value.out);
           });
  }

  bool backward(const Twist& twist) const {
    if (!ring_.can_be(twist) || !in_.has_backward()) return false;
    const auto differs_in_q = [&](const RowPlace& at) {
      if (!is_asked(ring_.arrangement().row_owner, at)) return false;
      tick();
      return rows_.differs(&Answer::dq, at, ring_.dq(twist, at));
    };
    const auto differs_in_kv = [&](const RowPlace& at) {
      if (!is_asked(ring_.arrangement().owner, at)) return false;
      tick();
      const KvRows value = ring_.dkv(twist, at);
      return rows_.differs(&Answer::dk, at, value.dk) || rows_.differs(&Answer::dv, at, value.dv);
    };
    return (rows_.has(&Answer::dq) && std::ranges::any_of(row_places(in_.q.extents()), differs_in_q)) ||
           ((rows_.has(&Answer::dk) || rows_.has(&Answer::dv)) &&
            std::ranges::any_of(row_places(in_.k.extents()), differs_in_kv));
  }

 private:
  void ask_wrong_ranks(const Answer& right) {
    const auto ask = [&](const std::vector<int>& owner, const Extents& e,
                         std::initializer_list<Buffer Answer::*> tensors) {
      for (const RowPlace& at : row_places(e))
        for (Buffer Answer::*tensor : tensors)
          if (rows_.differs(tensor, at, row_of(right.*tensor, at.batch, at.head, at.row)))
            asked_[static_cast<std::size_t>(owner[static_cast<std::size_t>(at.row)])] = true;
    };
    const Arrangement& place = ring_.arrangement();
    ask(place.row_owner, in_.q.extents(), {&Answer::out});
    if (!in_.has_backward()) return;
    ask(place.row_owner, in_.q.extents(), {&Answer::dq});
    ask(place.owner, in_.k.extents(), {&Answer::dk, &Answer::dv});
  }

  bool is_asked(const std::vector<int>& owner, const RowPlace& at) const {
    return asked_[static_cast<std::size_t>(owner[static_cast<std::size_t>(at.row)])];
  }

  void tick() const {
    if (poll_) poll_();
  }

  BlockProblem block_;
  const Inputs& in_;
  TwistedRing ring_;
  Rows rows_;
  const Poll& poll_;
  std::vector<bool> asked_;  // of each rank
};

}  // namespace

std::vector<std::string> refuted_mistakes(const Problem& problem, const Inputs& inputs, const Answer& claim,
                                          const std::vector<std::string>& ids, DType precision,
                                          const Poll& poll) {
  const Inputs in = converted(inputs, DType::kFloat64);
  const Oracle right = oracle(problem, in, {.progress = [&](double) {
                                if (poll) poll();
                              }});
  const Answer numbers = converted(claim, DType::kFloat64);
  const bool given = std::ranges::any_of(named(numbers), [](const auto& one) { return !one.tensor.empty(); });
  const Refuting refuting(problem, in, right, given ? numbers : right.value, !given, precision, poll);
  std::vector<std::string> refuted;
  for (const std::string& id : ids) {
    const auto has_id = [&](const Suspect& suspect) { return suspect.cause.id == id; };
    auto of_forward = forward_suspects() | std::views::filter(has_id);
    auto of_backward = backward_suspects() | std::views::filter(has_id);
    if (of_forward.empty() && of_backward.empty()) continue;
    if (std::ranges::any_of(of_forward, &Suspect::example)) continue;  // another number may not show here
    if (std::ranges::all_of(of_forward, [&](const Suspect& one) { return refuting.forward(one.twist); }) &&
        std::ranges::all_of(of_backward, [&](const Suspect& one) { return refuting.backward(one.twist); }))
      refuted.push_back(id);
  }
  return refuted;
}

}  // namespace ringcraft::verify
