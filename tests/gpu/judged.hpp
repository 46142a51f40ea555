#pragma once
/// @file
/// Several implementations judged by the oracle over one table of cases, under the rule for the
/// number type of their elements. The oracle and plain dense attention, which cost more than the kernels, are
/// computed once for all candidates of a type.

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runner.hpp"
#include "verify/cases.hpp"
#include "verify/compare.hpp"
#include "verify/plain_dense.hpp"

namespace ringcraft::kernels {

/// An implementation, and which cases it takes.
template <class C>
struct Candidate {
  std::string name;        ///< "01 naive"
  DType dtype;             ///< of q, k, v and dout
  Index largest_head_dim;  ///< cases above it are left out
  std::function<verify::Answer(const C&, const verify::Inputs&)> answer;
};

inline Index head_dim_of(const verify::Case& c) { return c.problem.shape.head_dim; }
inline Index head_dim_of(const verify::BlockCase& c) { return c.problem.head_dim; }

/// What became of a candidate: good, or the first case that is wrong.
class Trial {
 public:
  explicit Trial(DType dtype) : rule_(dtype) {}
  void judge(const std::string& name, const verify::Answer& got, const verify::Answer& dense,
             const verify::Oracle& oracle, verify::Expect expect) {
    const verify::Comparison found = rule_.add(got, dense, oracle, expect);
    if (!found.good) fail(name + ": " + (found.first ? verify::described(*found.first) : found.complaint));
  }
  void fail(const std::string& sentence) {
    if (first_.empty()) first_ = sentence;
  }
  Verdict verdict() const {
    return {failure(),
            {{"cases", static_cast<double>(rule_.cases())},
             {"RMS to dense", rule_.worst_rms_ratio()},
             {"share of bound", rule_.worst_share()}}};
  }

 private:
  std::string failure() const {
    if (!first_.empty()) return std::to_string(rule_.broken()) + " cases are wrong; the first: " + first_;
    return rule_.good() ? "" : "the RMS of the errors is above 1.5 times that of plain dense attention";
  }

  verify::FloatRule rule_;
  std::string first_;
};

/// A case in one number type: what is asked, and what answers are measured by.
struct Question {
  verify::Inputs inputs;  ///< of that type
  verify::Answer dense;   ///< of the same numbers, computed in float32, then rounded to that type
  verify::Oracle oracle;  ///< of the same numbers
};

/// With kForward there is no dout.
template <class C>
Question question(const C& c, DType dtype, verify::Expect expect) {
  verify::Inputs inputs = verify::make_inputs(c, dtype);
  if (expect == verify::Expect::kForward) inputs.dout = Buffer();
  const verify::Answer dense =
      verify::plain_dense<float>(c.problem, verify::converted(inputs, DType::kFloat32));
  verify::Oracle oracle = verify::oracle(c.problem, inputs);
  return {std::move(inputs), verify::converted(dense, dtype), std::move(oracle)};
}

/// Runs every candidate over the cases: one check of the runner for each.
template <class C>
void check_candidates(Runner& runner, const std::string& what, const std::vector<C>& cases,
                      verify::Expect expect, const std::vector<Candidate<C>>& candidates) {
  std::vector<Trial> trials;
  for (const Candidate<C>& candidate : candidates) trials.emplace_back(candidate.dtype);
  for (const C& c : cases) {
    std::map<DType, Question> questions;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const auto& [name, dtype, largest_head_dim, answer] = candidates[i];
      if (head_dim_of(c) > largest_head_dim) continue;
      if (!questions.contains(dtype)) questions.emplace(dtype, question(c, dtype, expect));
      const Question& asked = questions.at(dtype);
      try {
        trials[i].judge(c.name, answer(c, asked.inputs), asked.dense, asked.oracle, expect);
      } catch (const std::exception& error) {
        trials[i].fail(c.name + ": " + error.what());
      }
    }
  }
  for (std::size_t i = 0; i < candidates.size(); ++i)
    runner.check(what + ", " + candidates[i].name, [&] { return trials[i].verdict(); });
}

}  // namespace ringcraft::kernels
