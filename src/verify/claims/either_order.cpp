// Judges a claim under both orders of axes if the shapes of its inputs fit both, and keeps the second order
// only if the first cannot be read or gives a clearly worse verdict.
#include "verify/claims/either_order.hpp"

#include <exception>

#include "ringcraft/core/error.hpp"

namespace ringcraft::verify {
namespace {

// Whether a claim is clearly less wrong under one reading of its inputs than under another.
bool clearly_better(const ClaimVerdict& one, const ClaimVerdict& other) {
  if (one.good || other.good) return one.good;
  return 10 * one.wrong < 9 * other.wrong || 10 * one.worst_share < other.worst_share;
}

}  // namespace

ClaimVerdict judge_in_either_order(const std::function<FormedInputs(TakeOrder)>& read,
                                   const std::function<ClaimVerdict(const FormedInputs&)>& judge) {
  const FormedInputs likelier = read(TakeOrder::kLikelier);
  if (!likelier.doubtful) return judge(likelier);
  std::optional<ClaimVerdict> verdict;
  std::exception_ptr refusal;
  try {
    verdict = judge(likelier);
    if (verdict->good && !likelier.many_heads) return *verdict;
  } catch (const Error&) {
    refusal = std::current_exception();
  }
  try {
    ClaimVerdict other = judge(read(TakeOrder::kOther));
    if (!verdict || clearly_better(other, *verdict)) return other;
  } catch (const Error&) {  // the verdict for the first order holds
  }
  if (!verdict) std::rethrow_exception(refusal);
  if (verdict->good) refuse_many_heads(likelier);
  return *verdict;
}

}  // namespace ringcraft::verify
