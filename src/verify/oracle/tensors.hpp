#pragma once
/// @file
/// Inputs of a case and answers of a subject: whole tensors in global row order, under the names that tensor
/// files use. The whole harness exchanges these two structs, for every kind of subject.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "ringcraft/problem/problem.hpp"

namespace ringcraft::verify {

/// The inputs of attention over a whole sequence: q, dout [batch, heads, seqlen, head_dim] and k, v [batch,
/// kv_heads, seqlen, head_dim]. Without dout (a default Buffer) only the forward pass is requested.
struct Inputs {
  Buffer q, k, v, dout;

  /// Whether gradients are requested.
  bool has_backward() const { return dout.extents() != Extents{}; }
  static auto fields(auto& self) { return std::tie(self.q, self.k, self.v, self.dout); }
};

/// A claimed or computed result: out [batch, heads, seqlen, head_dim], lse [batch, heads, seqlen, 1], and if
/// there was a dout the gradients dq, dk, dv of sum(out * dout), shaped as q, k, v. Empty gradients: forward
/// only.
struct Answer {
  Buffer out, lse, dq, dk, dv;

  static auto fields(auto& self) { return std::tie(self.out, self.lse, self.dq, self.dk, self.dv); }
};

/// The names of an Answer's tensors, in the order of its fields.
inline constexpr std::array<std::string_view, 5> kAnswerNames{"out", "lse", "dq", "dk", "dv"};
/// The names of the tensors of Inputs.
inline constexpr std::array<std::string_view, 4> kInputNames{"q", "k", "v", "dout"};

/// A tensor and its name.
template <class B>
struct Named {
  std::string_view name;
  B& tensor;
};

/// The tensors of an Answer with their names: `for (const auto& [name, tensor] : named(answer))`.
std::array<Named<Buffer>, 5> named(Answer& answer);
/// The same, read-only.
std::array<Named<const Buffer>, 5> named(const Answer& answer);
/// The same for Inputs.
std::array<Named<Buffer>, 4> named(Inputs& inputs);
/// The same for Inputs, read-only.
std::array<Named<const Buffer>, 4> named(const Inputs& inputs);

/// A copy in another number type; converting from float64 to float32 or bfloat16 rounds once.
Inputs converted(const Inputs& inputs, DType type);
/// The same for an Answer.
Answer converted(const Answer& answer, DType type);

/// An independent copy.
Inputs clone(const Inputs& inputs);
/// The same for an Answer.
Answer clone(const Answer& answer);

/// Throws Error unless q, k, v (and dout, if there is one) have one number type and the extents of the whole
/// problem.
void require_inputs(const Problem& problem, const Inputs& inputs);
/// The same for given extents of q (and dout) and of k and v.
void require_inputs(const Extents& q_extents, const Extents& kv_extents, const Inputs& inputs);

/// The first infinity or NaN of the tensor; empty if every element is finite.
std::optional<double> not_finite(const Buffer& tensor);
/// Whether any element is a finite number other than 0.
bool has_numbers(const Buffer& tensor);
/// Throws Error if an element is not finite: attention cannot be judged on such inputs.
void require_finite(const Inputs& inputs);

}  // namespace ringcraft::verify
