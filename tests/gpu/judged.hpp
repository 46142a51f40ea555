#pragma once
/// @file
/// Several implementations judged by the oracle over one table of cases, under the rule for the
/// number type of their elements. The oracle, which costs more than the kernels, is computed once for all
/// candidates of a type.

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runner.hpp"
#include "verify/oracle/cases.hpp"
#include "verify/oracle/rounding_rule.hpp"

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

/// Roundings allowed to a kernel of this type: P and dS on their way into tensor cores, and its results if it
/// writes them in that type, which it may.
inline verify::Rounding rounding_of(DType dtype) { return verify::tensor_core_rounding(dtype, dtype); }

/// The verdict on a candidate: good, or the first case that is wrong.
class Trial {
 public:
  explicit Trial(const verify::Rounding& rounding) : rule_(rounding) {}
  void judge(const std::string& name, const verify::Answer& got, const verify::Oracle& oracle,
             verify::Expect expect) {
    const verify::Comparison found = rule_.add(got, oracle, expect);
    if (!found.good) fail(name + ": " + (found.first ? verify::described(*found.first) : found.complaint));
  }
  void fail(const std::string& sentence) {
    if (first_.empty()) first_ = sentence;
  }
  Verdict verdict() const {
    return {failure(),
            {{"cases", static_cast<double>(rule_.cases())}, {"share of bound", rule_.worst_share()}}};
  }

 private:
  std::string failure() const {
    if (!first_.empty()) return std::to_string(rule_.broken()) + " cases are wrong; the first: " + first_;
    const auto fault = rule_.together();
    return fault ? verify::described(*fault) : rule_.good() ? "" : "no case was judged";
  }

  verify::RoundingRule rule_;
  std::string first_;
};

/// A case in one number type: the problem, and the reference for answers.
struct Question {
  verify::Inputs inputs;  ///< of that type
  verify::Oracle oracle;  ///< of the same numbers
};

/// With kForward there is no dout.
template <class C>
Question question(const C& c, DType dtype, verify::Expect expect) {
  verify::Inputs inputs = verify::make_inputs(c, dtype);
  if (expect == verify::Expect::kForward) inputs.dout = Buffer();
  verify::Oracle oracle = verify::oracle(c.problem, inputs, {.rounding = rounding_of(dtype)});
  return {std::move(inputs), std::move(oracle)};
}

/// Runs every candidate over the cases: one check of the runner for each.
template <class C>
void check_candidates(Runner& runner, const std::string& what, const std::vector<C>& cases,
                      verify::Expect expect, const std::vector<Candidate<C>>& candidates) {
  std::vector<Trial> trials;
  for (const Candidate<C>& candidate : candidates) trials.emplace_back(rounding_of(candidate.dtype));
  for (const C& c : cases) {
    std::map<DType, Question> questions;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const auto& [name, dtype, largest_head_dim, answer] = candidates[i];
      if (head_dim_of(c) > largest_head_dim) continue;
      if (!questions.contains(dtype)) questions.emplace(dtype, question(c, dtype, expect));
      const Question& asked = questions.at(dtype);
      try {
        trials[i].judge(c.name, answer(c, asked.inputs), asked.oracle, expect);
      } catch (const std::exception& error) {
        trials[i].fail(c.name + ": " + error.what());
      }
    }
  }
  for (std::size_t i = 0; i < candidates.size(); ++i)
    runner.check(what + ", " + candidates[i].name, [&] { return trials[i].verdict(); });
}

}  // namespace ringcraft::kernels
