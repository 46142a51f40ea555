// Runs a one-head exercise over the table of single blocks, and compares every head with the oracle.
#include "judge/checks/block_trial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/checks/head_trial.hpp"
#include "judge/outcome/comparison.hpp"
#include "judge/wire/exercises.hpp"
#include "ringcraft/attention/heads.hpp"
#include "verify/oracle/compare.hpp"

namespace ringcraft::judge {
namespace {

using verify::BlockCase;

Buffer filled(const Extents& extents, double value) {
  Buffer buffer(extents, DType::kFloat64);
  std::ranges::fill(buffer.values<double>(), value);
  return buffer;
}

// Names the block of one head as the student sees it: its rows count from 0. `about_nan` names the possible
// sources of a NaN.
void require_good(const BlockCase& c, const verify::Inputs& inputs, const verify::Answer& got,
                  const verify::Comparison& comparison, DType precision, const char* about_nan = "") {
  if (comparison.good) return;
  const auto rows = static_cast<Position>(c.problem.queries.size());
  const bool nan = comparison.first && std::isnan(comparison.first->got);
  throw wrong_values(verify::error_maps(comparison, rows, static_cast<Position>(c.problem.keys.size())),
                     "{}: {}{}", c.name, verify::described(comparison, {Layout::kContiguous, rows, 1}),
                     nan ? about_nan : "")
      .knowing(facts_of(comparison))
      .exhibiting(exhibit_of(verify::AttentionExhibit{c.problem,
                                                      verify::one_block(c.problem),
                                                      {},
                                                      verify::clone(inputs),
                                                      verify::clone(got),
                                                      comparison,
                                                      rounding_in(precision),
                                                      precision}));
}

}  // namespace

void require_forward(const std::vector<BlockCase>& cases,
                     const std::function<void(const HeadForward&)>& function, DType precision) {
  const std::optional<verify::Rounding> rounding = rounding_in(precision);
  for (BlockCase c : cases) {
    if (rounding) c.problem.softmax_scale = as_float(c.problem.softmax_scale);
    verify::Inputs in = verify::converted(verify::make_inputs(c, precision), DType::kFloat64);
    in.dout = Buffer();
    verify::Answer got;
    got.out = filled(c.problem.q_extents(), verify::unwritten());
    got.lse = filled(c.problem.row_extents(), verify::unwritten());
    with_label(c.name + ": ", [&] {
      for_each_head(c.problem.q_extents(), c.problem.kv_heads, [&](Index b, Index h, Index g) {
        function({head_of<double>(std::as_const(in.q), b, h), head_of<double>(std::as_const(in.k), b, g),
                  head_of<double>(std::as_const(in.v), b, g), c.ranges, c.problem.softmax_scale,
                  head_of<double>(got.out, b, h), head_of<double>(got.lse, b, h).data});
      });
    });
    require_good(c, in, got,
                 compared(got, verify::oracle(c.problem, in, {.rounding = rounding}), rounding,
                          verify::Expect::kForward),
                 precision,
                 "; a NaN is computed, by -inf - (-inf) or 0 * inf, or was never overwritten: the "
                 "results are full of NaN before your function writes them");
  }
}

void require_backward(const std::vector<BlockCase>& cases,
                      const std::function<void(const HeadBackward&)>& function) {
  for (const BlockCase& c : cases) {
    const verify::Inputs in = verify::make_inputs(c, DType::kFloat64);
    const verify::Oracle want = verify::oracle(c.problem, in);
    verify::Answer got = verify::clone(want.value);
    for (Buffer* gradient : {&got.dq, &got.dk, &got.dv}) *gradient = filled(gradient->extents(), 0);
    with_label(c.name + ": ", [&] {
      for_each_head(c.problem.q_extents(), c.problem.kv_heads, [&](Index b, Index h, Index g) {
        const auto out = head_of<double>(want.value.out, b, h), dout = head_of<double>(in.dout, b, h);
        std::vector<double> delta(static_cast<std::size_t>(out.rows), 0.0);
        for (Index i = 0; i < out.rows; ++i)
          for (Index j = 0; j < out.cols; ++j) delta[static_cast<std::size_t>(i)] += out(i, j) * dout(i, j);
        function({head_of<double>(in.q, b, h), head_of<double>(in.k, b, g), head_of<double>(in.v, b, g), dout,
                  head_of<double>(want.value.lse, b, h).data, delta, c.ranges, c.problem.softmax_scale,
                  head_of<double>(got.dq, b, h), head_of<double>(got.dk, b, g),
                  head_of<double>(got.dv, b, g)});
      });
    });
    require_good(c, in, got, verify::compare_exact(got, want), DType::kFloat64);
  }
}

std::vector<BlockCase> some_blocks(const Trial& trial, int first, int stride) {
  const std::vector<BlockCase> all = verify::block_case_table(verify::CaseSet::kBrief);
  std::vector<BlockCase> some;
  for (std::size_t i = static_cast<std::size_t>(first); i < all.size();
       i += static_cast<std::size_t>(stride)) {
    some.push_back(all[i]);
    some.back().seed += trial.seed();
  }
  return some;
}

void require_dense(Trial& trial, const std::vector<verify::BlockCase>& cases) {
  require_forward(
      cases,
      [&](const HeadForward& h) {
        trial.call<DenseForward>(h.q, h.k, h.v, h.ranges, h.softmax_scale, h.out, h.lse);
      },
      trial.precision());
}

}  // namespace ringcraft::judge
