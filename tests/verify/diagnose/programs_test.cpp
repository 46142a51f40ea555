// Tests programs with a wrong address, rows without a key, and kernels one by one: each kind is recognised by
// its numbers.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ringcraft/core/matrix.hpp"
#include "support/catch.hpp"
#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/first_cause.hpp"
#include "verify/oracle/cases.hpp"

namespace ringcraft::verify {
namespace {

std::vector<Position> positions_from(Position first, Index count) {
  std::vector<Position> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), first);
  return all;
}

// One head: rows at [first_query, ...), keys at [first_key, ...), causal.
struct OneHead {
  BlockProblem problem;
  Inputs in;
  Oracle right;

  OneHead(Index rows, Index keys, Index width, Position first_query, Position first_key)
      : problem{1,
                1,
                1,
                width,
                causal_mask(),
                positions_from(first_query, rows),
                positions_from(first_key, keys),
                0.3},
        in(make_inputs(BlockCase{"", problem, {}, Data::kNormal, 5}, DType::kFloat64)) {
    in.dout = Buffer();
    right = oracle(problem, in);
  }
  std::span<const double> q(Index i) const { return head_of<double>(in.q, 0, 0).row(i); }
  std::span<const double> k(Index j) const { return head_of<double>(in.k, 0, 0).row(j); }
  std::span<const double> v(Index j) const { return head_of<double>(in.v, 0, 0).row(j); }
  bool sees(Index i, Index j) const {
    return visible(problem.mask, problem.queries[static_cast<std::size_t>(i)],
                   problem.keys[static_cast<std::size_t>(j)]);
  }

  // The first cause of a claim whose row i has the weights weight(i, j), divided by divisor(i).
  template <class Weight, class Divisor>
  std::string cause(Weight weight, Divisor divisor) const {
    Answer claim = clone(right.value);
    for (Index i = 0; i < static_cast<Index>(problem.queries.size()); ++i) {
      const auto row = head_of<double>(claim.out, 0, 0).row(i);
      std::ranges::fill(row, 0.0);
      for (Index j = 0; j < static_cast<Index>(problem.keys.size()); ++j)
        for (std::size_t c = 0; c < row.size(); ++c) row[c] += weight(i, j) / divisor(i) * v(j)[c];
    }
    return first(std::move(claim));
  }
  std::string first(Answer claim) const {
    const Comparison comparison = compare_exact(claim, right, Expect::kForward);
    const std::vector<Cause> causes =
        causes_of(AttentionExhibit{problem, one_block(problem), {}, clone(in), std::move(claim), comparison});
    return causes.empty() ? "" : causes[0].id;
  }
};

}  // namespace

TEST_CASE("a key that is read with a wrong stride is told") {
  const OneHead head(9, 13, 16, 4, 0);
  Answer claim = clone(head.right.value);
  const auto memory = head.in.k.values<double>();
  for (Index i = 0; i < 9; ++i) {
    double sum = 0;
    std::vector<double> weights(13, 0.0);
    for (Index j = 0; j < 13; ++j) {
      if (!head.sees(i, j)) continue;
      double score = 0;
      for (Index d = 0; d < 16; ++d)
        score += head.q(i)[static_cast<std::size_t>(d)] * memory[static_cast<std::size_t>(d * 13 + j)];
      sum += weights[static_cast<std::size_t>(j)] = std::exp(0.3 * score);
    }
    const auto row = head_of<double>(claim.out, 0, 0).row(i);
    for (std::size_t c = 0; c < row.size(); ++c) {
      row[c] = 0;
      for (Index j = 0; j < 13; ++j) row[c] += weights[static_cast<std::size_t>(j)] / sum * head.v(j)[c];
    }
    claim.lse.values<double>()[static_cast<std::size_t>(i)] = std::log(sum);
  }
  CHECK(head.first(std::move(claim)) == "index-k-0");
}

TEST_CASE("numbers that are nearly right are no sign of a wrong index that changes none of them") {
  const OneHead head(9, 20, 16, 11, 0);
  Answer claim = clone(head.right.value);
  for (double& x : claim.out.values<double>()) x *= 1 + 1e-6;
  const Comparison comparison = compare_exact(claim, head.right, Expect::kForward);
  REQUIRE_FALSE(comparison.good);
  AttentionExhibit exhibit{head.problem,   one_block(head.problem), {},
                           clone(head.in), std::move(claim),        comparison};
  exhibit.precision = DType::kFloat32;
  for (const Cause& cause : causes_of(exhibit)) {
    INFO(cause.sentence);
    CHECK_FALSE(cause.id.starts_with("tile-index"));
  }
}

TEST_CASE("weights that are normalised by columns are told") {
  const OneHead head(9, 13, 16, 4, 0);
  const auto weight = [&](Index i, Index j) {
    if (!head.sees(i, j)) return 0.0;
    double column = 0;
    for (Index other = 0; other < 9; ++other)
      column += head.sees(other, j) ? std::exp(0.3 * product(head.q(other), head.k(j))) : 0;
    return std::exp(0.3 * product(head.q(i), head.k(j))) / column;
  };
  CHECK(head.cause(weight, [](Index) { return 1.0; }) == "softmax-column-sum");
}

TEST_CASE("rows without a key show which of their parts was forgotten") {
  const OneHead head(10, 9, 5, 0, 4);
  Answer none = clone(head.right.value), mean = clone(head.right.value), zero = clone(head.right.value);
  for (Index i = 0; i < 4; ++i) {
    std::ranges::fill(head_of<double>(none.out, 0, 0).row(i), std::nan(""));
    zero.lse.values<double>()[static_cast<std::size_t>(i)] = 0;
    const auto row = head_of<double>(mean.out, 0, 0).row(i);
    for (std::size_t c = 0; c < row.size(); ++c)
      for (Index j = 0; j < 9; ++j) row[c] += head.v(j)[c] / 9;
  }
  CHECK(head.first(std::move(none)) == "blind-nan");
  CHECK(head.first(std::move(mean)) == "blind-mean");
  CHECK(head.first(std::move(zero)) == "blind-lse");
}

TEST_CASE("gradients that lose what they held before are told") {
  OneHead head(8, 8, 5, 0, 0);
  head.in.dout = head.in.q.clone();
  head.right = oracle(head.problem, head.in);
  Answer claim = clone(head.right.value), before;
  before.dq = head.right.value.dq.clone(), before.dk = head.right.value.dk.clone(),
  before.dv = head.right.value.dv.clone();
  for (Buffer* held : {&before.dq, &before.dk, &before.dv}) std::ranges::fill(held->values<double>(), 2.0);
  for (double& x : claim.dk.values<double>()) x -= 2;
  const Comparison comparison = compare_exact(claim, head.right);
  AttentionExhibit exhibit{head.problem,   one_block(head.problem), {},
                           clone(head.in), std::move(claim),        comparison};
  exhibit.before = std::move(before);
  const std::vector<Cause> causes = causes_of(exhibit);
  REQUIRE_FALSE(causes.empty());
  CHECK(causes[0].id == "lost-start");
}

namespace {

// Three right kernels on a small head; the test makes one of them wrong.
StepExhibit right_kernels() {
  constexpr Index kRows = 6, kKeys = 70, kWidth = 5;
  StepExhibit x{.rows = kRows, .keys = kKeys, .width = kWidth, .scale = 0.5};
  const auto numbers = [](Index count, double step) {
    std::vector<double> all;
    for (Index i = 0; i < count; ++i) all.push_back(std::sin(step * static_cast<double>(i + 1)));
    return all;
  };
  x.q = numbers(kRows * kWidth, 1.3), x.k = numbers(kKeys * kWidth, 0.7), x.v = numbers(kKeys * kWidth, 2.1);
  for (Index a = 0; a < kRows; ++a) x.begin.push_back(a), x.end.push_back(60 + a);
  StepExhibit::Memory m{std::vector<double>(kRows * kKeys, std::nan("")),
                        std::vector<double>(kRows, std::nan("")), std::vector<double>(kRows, 0.1),
                        std::vector<double>(kRows, 2.0), numbers(kRows * kWidth, 0.9)};
  x.after.push_back(m);
  for (Index a = 0; a < kRows; ++a)
    for (Index b = x.begin[static_cast<std::size_t>(a)]; b < x.end[static_cast<std::size_t>(a)]; ++b) {
      double sum = 0;
      for (Index d = 0; d < kWidth; ++d)
        sum += x.q[static_cast<std::size_t>(a * kWidth + d)] * x.k[static_cast<std::size_t>(b * kWidth + d)];
      m.scores[static_cast<std::size_t>(a * kKeys + b)] = x.scale * sum;
    }
  x.after.push_back(m);
  for (std::size_t a = 0; a < kRows; ++a) {
    double largest = m.max[a], sum = 0;
    for (auto b = static_cast<std::size_t>(x.begin[a]); b < static_cast<std::size_t>(x.end[a]); ++b)
      largest = std::max(largest, m.scores[a * kKeys + b]);
    for (auto b = static_cast<std::size_t>(x.begin[a]); b < static_cast<std::size_t>(x.end[a]); ++b)
      sum += m.scores[a * kKeys + b] = std::exp(m.scores[a * kKeys + b] - largest);
    m.rescale[a] = std::exp(m.max[a] - largest), m.max[a] = largest, m.sum[a] = m.rescale[a] * m.sum[a] + sum;
  }
  x.after.push_back(m);
  for (std::size_t a = 0; a < kRows; ++a)
    for (std::size_t d = 0; d < kWidth; ++d) {
      double& out = m.out[a * kWidth + d];
      out *= m.rescale[a];
      for (auto b = static_cast<std::size_t>(x.begin[a]); b < static_cast<std::size_t>(x.end[a]); ++b)
        out += m.scores[a * kKeys + b] * x.v[b * kWidth + d];
    }
  x.after.push_back(m);
  return x;
}

std::string first_of(const StepExhibit& x) {
  const std::vector<Cause> causes = causes_of(x);
  return causes.empty() ? "" : causes[0].id;
}

}  // namespace

TEST_CASE("each of three kernels is diagnosed by its output for the memory that it finds") {
  StepExhibit x = right_kernels();
  CHECK(causes_of(x).empty());

  StepExhibit scores = x;  // without the scale; what follows no longer matches these scores
  for (double& s : scores.after[1].scores) s /= x.scale;
  CHECK(first_of(scores) == "BL5");

  StepExhibit softmax = x;
  for (std::size_t a = 0; a < softmax.after[2].sum.size(); ++a)
    softmax.after[2].sum[a] += 31 * x.after[2].rescale[a] * x.after[1].sum[a];
  CHECK(first_of(softmax) == "kernel-l-8");

  StepExhibit values = x;
  for (std::size_t i = 0; i < values.after[3].out.size(); ++i)
    values.after[3].out[i] += (1 - x.after[2].rescale[i / 5]) * x.after[2].out[i];
  CHECK(first_of(values) == "OS2");
}

}  // namespace ringcraft::verify
