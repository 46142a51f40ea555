// Computes dq, dk and dv tile by tile with the mistakes of a walk, starting from the out and lse of a claim.
#include "verify/diagnose/kernels/gradient_walk.hpp"

#include <limits>

#include "verify/diagnose/kernels/gradient_row.hpp"

namespace ringcraft::verify {
namespace {

using Walk = GradientWalk;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

WalkedGradient zero(const BlockProblem& p) {
  const auto width = static_cast<std::size_t>(p.head_dim);
  return {std::vector<double>(width, 0.0), std::vector<double>(width, 0.0)};
}

void scale(WalkedGradient& g, double factor) {
  for (double& x : g.value) x *= factor;
  for (double& x : g.size) x *= std::fabs(factor);
}

double factor_of(const BlockProblem& p, const Walk& walk) {
  switch (walk.factor) {
    case Walk::Factor::kNone:
      return 1;
    case Walk::Factor::kTwice:
      return p.softmax_scale * p.softmax_scale;
    case Walk::Factor::kLog2:
      return p.softmax_scale / std::log(2.0);
    case Walk::Factor::kOfDvToo:
    case Walk::Factor::kRight:
      break;
  }
  return p.softmax_scale;
}

}  // namespace

GradientScene::GradientScene(const AttentionExhibit& x)
    : exhibit(x), in(converted(x.inputs, DType::kFloat64)), claim(converted(x.claim, DType::kFloat64)) {
  const BlockProblem& p = x.problem;
  by_row = ranges_of(p.mask, std::max(p.queries.back(), p.keys.back()) + 1, p.queries, p.keys);
  by_key = by_row.transposed(static_cast<int>(p.keys.size()));
  for (Index b = 0; b < p.batch; ++b)
    for (Index h = 0; h < p.heads; ++h)
      for (Index row = 0; row < static_cast<Index>(p.queries.size()); ++row) {
        const auto out = row_of(claim.out, b, h, row);  // not requested, and right
        const auto i = static_cast<std::size_t>(row);
        const bool seen = by_row.begin[i] < by_row.end[i];
        // lse of a row that sees no key may be anything.
        lse.push_back(seen ? row_of(claim.lse, b, h, row)[0] : kNaN);
        delta.push_back(seen ? dot(out, row_of(in.dout, b, h, row)) : kNaN);
      }
}

WalkedGradient walked_dq(const GradientScene& x, Index batch, Index head, Index row, const Walk& walk) {
  const BlockProblem& p = x.exhibit.problem;
  Index kv = head / p.group();
  if (walk.heads == Walk::Heads::kModulo) kv = head % p.kv_heads;
  if (walk.heads == Walk::Heads::kZero) kv = 0;
  const OwnGradientRow own(x, walk, false, batch, head, kv, row);
  const std::vector<Index> visits = own.visited();
  WalkedGradient dq = zero(p), unused;
  std::vector<std::vector<OwnGradientRow::Sums>> earlier;
  for (std::size_t n = 0; n < visits.size(); ++n) own.add(visits, n, earlier, dq, unused);
  scale(dq, factor_of(p, walk));
  return dq;
}

std::pair<WalkedGradient, WalkedGradient> walked_dkv(const GradientScene& x, Index batch, Index head,
                                                     Index key, const Walk& walk) {
  const BlockProblem& p = x.exhibit.problem;
  std::vector<Index> heads;
  for (Index h = 0; h < p.group(); ++h)
    heads.push_back(walk.heads == Walk::Heads::kModulo ? head + h * p.kv_heads
                    : walk.heads == Walk::Heads::kFromZero || walk.heads == Walk::Heads::kFromZeroOfAll ? h
                    : walk.heads == Walk::Heads::kZero                                                  ? 0
                                                       : head * p.group() + h);
  if (walk.heads == Walk::Heads::kFirstAlone) heads.resize(1);
  if (walk.visits == Walk::Visits::kHeadsAnew) heads = {heads.back()};
  WalkedGradient dk = zero(p), dv = zero(p);
  std::vector<std::vector<OwnGradientRow::Sums>> earlier;
  for (const Index h : heads) {
    const OwnGradientRow own(x, walk, true, batch, h, head, key);
    const std::vector<Index> visits = own.visited();
    if (walk.scores == Walk::Sum::kAddsUpInHead || walk.dp == Walk::Sum::kAddsUpInHead) earlier.clear();
    for (std::size_t n = 0; n < visits.size(); ++n) own.add(visits, n, earlier, dk, dv);
  }
  scale(dk, factor_of(p, walk));
  if (walk.factor == Walk::Factor::kOfDvToo) scale(dv, p.softmax_scale);
  return {std::move(dk), std::move(dv)};
}

}  // namespace ringcraft::verify
