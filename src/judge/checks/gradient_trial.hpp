#pragma once
/// @file
/// Backward steps of a ring for kernels, in float32: lse and delta of the forward pass, the gradients before
/// and after, and the oracle's answer under the rule for floats.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "judge/checks/kernel_trial.hpp"
#include "ringcraft/core/random.hpp"

namespace ringcraft::judge {

/// Calls the exercise: trial.call<E>(step).result.
using GradientCall = std::function<KernelRun(const GradientStep&)>;

/// A head, or several, as backward kernels meet them. lse and delta are those of whole rows, as a forward
/// pass in float32 leaves them. For a part of the keys, rows that see none of them hold NaN, or -inf as
/// lse: a kernel must not use them.
class GradientHead {
 public:
  /// The gradients begin as 0.
  explicit GradientHead(const HeadCase& head);

  /// Runs a step with the keys [first, last) of a single head, or with all keys of all heads. Throws Wrong if
  /// the launch ends with a finding (sign::kFinding), or if an array that a kernel may only read has changed.
  KernelRun step(const GradientCall& call, HowRun how = {});
  KernelRun step(const GradientCall& call, Index first, Index last, HowRun how = {});  ///< see above

  /// Throws Wrong unless dq, dk and dv are the oracle's; the rule goes on over several heads. `only` names
  /// the gradients that are compared; none: all.
  void require_gradients(verify::RoundingRule& rule, const std::vector<std::string_view>& only = {}) const;
  /// The gradients beside the oracle's, right or wrong, for a diagnosis.
  verify::AttentionExhibit exhibit(verify::RoundingRule& rule) const;
  /// Throws Wrong unless dq, dk and dv are what they were `before`, grown by the gradients of
  /// `from_zero`, a head with the same inputs.
  void require_grown(const std::vector<std::vector<float>>& before, const GradientHead& from_zero) const;
  /// Throws Wrong, "NAME, LABEL: dk of key 3 ... is 0.5, and was 0.25", unless both have the same gradients.
  void require_same_bits(const GradientHead& other, const std::string& label) const;
  /// Throws Wrong unless rows without a key and keys without a row have the gradients that they had before.
  void require_unseen_untouched(const std::vector<std::vector<float>>& before) const;

  /// Gives dq, dk and dv random numbers, and returns these.
  std::vector<std::vector<float>> begin_with(Random& random);

  const std::string& name() const { return name_; }
  void rename(const std::string& name) { name_ = name; }  ///< for sentences
  const verify::BlockProblem& problem() const { return problem_; }
  const KeyRanges& ranges() const { return ranges_; }
  Index rows() const { return in_.q.extents().rows; }
  Index keys() const { return in_.k.extents().rows; }

 private:
  enum Gradient : std::size_t { kDq, kDk, kDv, kGradients };
  // The claimed gradients; those that are not named are the right ones.
  verify::Answer answer(const std::vector<std::string_view>& only) const;
  verify::Oracle right() const;
  verify::AttentionExhibit exhibit(verify::Answer got, const verify::Comparison& comparison) const;
  // "dk of KV head 1, key 3, column 2": the place of number i of a gradient.
  std::string place_of(Gradient gradient, std::size_t i) const;
  // Whether the row of number i sees anything: a row of queries, or of keys with the transposed ranges.
  bool is_seen(const KeyRanges& ranges, std::size_t i) const;

  std::string name_;
  verify::BlockProblem problem_;
  KeyRanges ranges_;
  verify::Inputs in_;
  verify::Answer dense_;      // of plain loops in float32: the kernels get its lse
  std::vector<float> delta_;  // of its rows
  std::vector<float> gradients_[kGradients];
};

}  // namespace ringcraft::judge
