#pragma once
/// @file
/// Several implementations judged by the oracle over one table of cases, under the rule for float32. The
/// oracle and plain dense attention, which cost more than the kernels, are computed once for all of them.

#include <functional>
#include <string>
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
  Index largest_head_dim;  ///< cases above it are left out
  std::function<verify::Answer(const C&, const verify::Inputs&)> answer;
};

inline Index head_dim_of(const verify::Case& c) { return c.problem.shape.head_dim; }
inline Index head_dim_of(const verify::BlockCase& c) { return c.problem.head_dim; }

/// What became of a candidate: good, or the first case that is wrong.
class Trial {
 public:
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

  verify::FloatRule rule_{DType::kFloat32};
  std::string first_;
};

/// Runs every candidate over the cases: one check of the runner for each. With kForward there is no dout.
template <class C>
void check_candidates(Runner& runner, const std::string& what, const std::vector<C>& cases,
                      verify::Expect expect, const std::vector<Candidate<C>>& candidates) {
  std::vector<Trial> trials(candidates.size());
  for (const C& c : cases) {
    verify::Inputs inputs = verify::make_inputs(c, DType::kFloat32);
    if (expect == verify::Expect::kForward) inputs.dout = Buffer();
    const verify::Answer dense = verify::plain_dense<float>(c.problem, inputs);
    const verify::Oracle oracle = verify::oracle(c.problem, inputs);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (head_dim_of(c) > candidates[i].largest_head_dim) continue;
      try {
        trials[i].judge(c.name, candidates[i].answer(c, inputs), dense, oracle, expect);
      } catch (const std::exception& error) {
        trials[i].fail(c.name + ": " + error.what());
      }
    }
  }
  for (std::size_t i = 0; i < candidates.size(); ++i)
    runner.check(what + ", " + candidates[i].name, [&] { return trials[i].verdict(); });
}

}  // namespace ringcraft::kernels
