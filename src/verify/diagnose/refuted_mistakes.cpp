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

// Numbers that refute a mistake.
enum class By : std::uint8_t {
  kRightNumbers,  // other numbers than those of a right answer, anywhere
  kOtherNumbers,  // other numbers than those of a wrong one
  kOtherMistake,  // the same where the mistake shows: the wrong numbers are known to be those of another one
};

// Whether a computation with these twists gives plainly other numbers than an answer. A wrong answer is asked
// on ranks that have a wrong row, since a mistake may be made on some ranks alone.
class Refuting {
 public:
  Refuting(const BlockProblem& problem, const Arrangement& place, const Inputs& in, const Oracle& right,
           const Answer& answer, By by, DType precision, const Poll& poll)
      : in_(in),
        by_(by),
        ring_(problem, in, right.value, place),
        rows_(answer, right.scale, precision),
        right_rows_(right.value, right.scale, precision),
        poll_(poll),
        asked_(static_cast<std::size_t>(place.count()), by == By::kRightNumbers) {
    if (by != By::kRightNumbers) ask_wrong_ranks(right.value);
  }

  bool forward(const Twist& twist) const { return refutes(twist, &Refuting::gives_other_rows); }
  bool backward(const Twist& twist) const { return refutes(twist, &Refuting::gives_other_gradients); }

 private:
  // A ring may leave out blocks of which a rank sees nothing.
  bool refutes(Twist twist, bool (Refuting::*gives_other)(const Twist&) const) const {
    if (!(this->*gives_other)(twist)) return false;
    if (by_ == By::kOtherNumbers || twist.route != RouteTwist::kAll) return true;
    for (const RouteTwist route : {RouteTwist::kReached, RouteTwist::kSeen}) {
      twist.route = route;
      if (ring_.can_be(twist) && !(this->*gives_other)(twist)) return false;
    }
    return true;
  }

  bool gives_other_rows(const Twist& twist) const {
    return ring_.can_be(twist) && rows_.has(&Answer::out) &&
           std::ranges::any_of(row_places(in_.q.extents()), [&](const RowPlace& at) {
             if (!is_asked(ring_.arrangement().row_owner, at)) return false;
             tick();
             const Merged value = ring_.forward(twist, at);
             return std::isfinite(value.lse) && differs(&Answer::out, at, value.out);
           });
  }

  bool gives_other_gradients(const Twist& twist) const {
    if (!ring_.can_be(twist) || !in_.has_backward()) return false;
    const auto differs_in_q = [&](const RowPlace& at) {
      if (!is_asked(ring_.arrangement().row_owner, at)) return false;
      tick();
      return differs(&Answer::dq, at, ring_.dq(twist, at));
    };
    const auto differs_in_kv = [&](const RowPlace& at) {
      if (!is_asked(ring_.arrangement().owner, at)) return false;
      tick();
      const KvRows value = ring_.dkv(twist, at);
      return differs(&Answer::dk, at, value.dk) || differs(&Answer::dv, at, value.dv);
    };
    return (rows_.has(&Answer::dq) && std::ranges::any_of(row_places(in_.q.extents()), differs_in_q)) ||
           ((rows_.has(&Answer::dk) || rows_.has(&Answer::dv)) &&
            std::ranges::any_of(row_places(in_.k.extents()), differs_in_kv));
  }

  bool differs(Buffer Answer::*tensor, const RowPlace& at, std::span<const double> value) const {
    return rows_.differs(tensor, at, value) &&
           (by_ != By::kOtherMistake || right_rows_.differs(tensor, at, value));
  }

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

  const Inputs& in_;
  By by_;
  TwistedRing ring_;
  Rows rows_, right_rows_;
  const Poll& poll_;
  std::vector<bool> asked_;  // of each rank
};

std::vector<std::string> refuted_of(const std::vector<std::string>& ids, const Refuting& refuting,
                                    const std::vector<Suspect>& laws = {}) {
  std::vector<std::string> refuted;
  for (const std::string& id : ids) {
    const auto has_id = [&](const Suspect& suspect) { return suspect.cause.id == id; };
    auto of_forward = forward_suspects() | std::views::filter(has_id);
    auto of_backward = backward_suspects() | std::views::filter(has_id);
    auto of_laws = laws | std::views::filter(has_id);
    if (of_forward.empty() && of_backward.empty() && of_laws.empty()) continue;
    if (std::ranges::any_of(of_forward, &Suspect::example)) continue;  // another number may not show here
    const auto by_forward = [&](const Suspect& one) { return refuting.forward(one.twist); };
    if (std::ranges::all_of(of_forward, by_forward) && std::ranges::all_of(of_laws, by_forward) &&
        std::ranges::all_of(of_backward, [&](const Suspect& one) { return refuting.backward(one.twist); }))
      refuted.push_back(id);
  }
  return refuted;
}

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
  const BlockProblem block = whole(problem);
  return refuted_of(ids, {block, ring_arrangement(problem), in, right, given ? numbers : right.value,
                          given ? By::kOtherNumbers : By::kRightNumbers, precision, poll});
}

std::vector<std::string> mistakes_ruled_out(const AttentionExhibit& x, const std::vector<std::string>& ids) {
  const Inputs in = converted(x.inputs, DType::kFloat64);
  const Oracle right = oracle(x.problem, in, {.rounding = x.rounding});
  const Answer numbers = converted(x.claim, DType::kFloat64);
  return refuted_of(ids, {x.problem, x.place, in, right, numbers, By::kOtherMistake, x.precision, {}},
                    x.ring ? pair_law_suspects(x.problem, *x.ring) : std::vector<Suspect>{});
}

std::vector<std::string> mistakes_ruled_out(const Case& right, const std::vector<std::string>& ids) {
  const Inputs in = make_inputs(right, DType::kFloat64);
  const BlockProblem block = whole(right.problem);
  const Oracle oracle = verify::oracle(right.problem, in);
  return refuted_of(ids,
                    {block,
                     ring_arrangement(right.problem),
                     in,
                     oracle,
                     oracle.value,
                     By::kRightNumbers,
                     DType::kFloat64,
                     {}},
                    pair_law_suspects(block, right.problem));
}

}  // namespace ringcraft::verify
