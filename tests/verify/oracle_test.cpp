// The oracle against references that cannot share a mistake with it: finite differences, identities, the
// formulas of the scale written out again, and the library's key ranges.
#include "verify/oracle/oracle.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "ringcraft/core/error.hpp"
#include "support.hpp"
#include "support/catch.hpp"

namespace ringcraft::verify {
namespace {

// sum(out * dout)
double loss(const Problem& problem, const Inputs& inputs) {
  const Inputs forward{inputs.q.clone(), inputs.k.clone(), inputs.v.clone(), Buffer()};
  const Oracle answer = oracle(problem, forward);
  double total = 0;
  for (std::size_t i = 0; i < answer.value.out.values<double>().size(); ++i)
    total += answer.value.out.values<double>()[i] * inputs.dout.values<double>()[i];
  return total;
}

// Checks every element of one gradient against (loss(x + h) - loss(x - h)) / 2h.
void check_differences(const Problem& problem, Inputs& inputs, Buffer& x, const Buffer& gradient) {
  constexpr double kStep = 1e-5;
  const auto values = x.values<double>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double middle = values[i];
    values[i] = middle + kStep;
    const double above = loss(problem, inputs);
    values[i] = middle - kStep;
    const double below = loss(problem, inputs);
    values[i] = middle;
    INFO("element " << i);
    CHECK(std::fabs((above - below) / (2 * kStep) - gradient.values<double>()[i]) <= 5e-9);
  }
}

const std::vector<Mask> kMasks{full_mask(),
                               causal_mask(),
                               window_mask(2),
                               {.left = 1, .right = 2},
                               {.right = 0, .cu_seqlens = {0, 1, 4, 7}}};

TEST_CASE("the oracle's gradients are those of finite differences") {
  for (const Mask& mask : kMasks) {
    INFO(described(mask));
    const Case c = small_case({2, 4, 2, 7, 3}, mask);
    Inputs inputs = make_inputs(c, DType::kFloat64);
    const Oracle answer = oracle(c.problem, inputs);
    check_differences(c.problem, inputs, inputs.q, answer.value.dq);
    check_differences(c.problem, inputs, inputs.k, answer.value.dk);
    check_differences(c.problem, inputs, inputs.v, answer.value.dv);
  }
}

TEST_CASE("adding one vector to all keys changes nothing, and all dout reaches dv") {
  const Case c = small_case({1, 3, 1, 20, 4}, causal_mask());
  const Inputs inputs = make_inputs(c, DType::kFloat64);
  const Oracle answer = oracle(c.problem, inputs);
  for (Index column = 0; column < 4; ++column) {
    double dk = 0, dv = 0, dout = 0;
    for (Index i = 0; i < 20; ++i) {
      dk += head_of<double>(answer.value.dk, 0, 0)(i, column);
      dv += head_of<double>(answer.value.dv, 0, 0)(i, column);
      for (Index head = 0; head < 3; ++head) dout += head_of<double>(inputs.dout, 0, head)(i, column);
    }
    CHECK(std::fabs(dk) <= 1e-13);
    CHECK(std::fabs(dv - dout) <= 1e-13);
  }
}

// |a_i| . |b_j|
double absolute_dot(Matrix<const double> a, std::size_t i, Matrix<const double> b, std::size_t j) {
  double sum = 0;
  for (Index x = 0; x < a.cols; ++x)
    sum += std::fabs(a(static_cast<Index>(i), x) * b(static_cast<Index>(j), x));
  return sum;
}

TEST_CASE("the scales are the formulas written out") {
  constexpr std::size_t n = 6;
  constexpr Index d = 3;
  const Mask mask{.left = 3, .right = 1};
  const Problem problem = make_problem({1, 1, 1, n, d}, mask, Layout::kContiguous, 1, -0.8);
  const Inputs in = make_inputs(make_case(problem, Data::kNormal, 3), DType::kFloat64);
  const Oracle answer = oracle(problem, in);
  const auto q = head_of<double>(in.q, 0, 0), k = head_of<double>(in.k, 0, 0),
             v = head_of<double>(in.v, 0, 0), dout = head_of<double>(in.dout, 0, 0);
  const auto column = [](Matrix<const double> m, std::size_t i, Index x) {
    return std::fabs(m(static_cast<Index>(i), x));
  };
  using Square = std::array<std::array<double, n>, n>;
  Square p{}, w{}, z{};
  std::array<double, n> r{};
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j) {
      if (j + 3 < i || j > i + 1) continue;
      double score = 0;
      for (Index x = 0; x < d; ++x) score += -0.8 * q(static_cast<Index>(i), x) * k(static_cast<Index>(j), x);
      sum += p[i][j] = std::exp(score);
    }
    for (double& weight : p[i]) weight /= sum;
    for (std::size_t j = 0; j < n; ++j) r[i] += p[i][j] * (1 + 0.8 * absolute_dot(q, i, k, j));
    for (std::size_t j = 0; j < n; ++j) w[i][j] = p[i][j] * (1 + 0.8 * absolute_dot(q, i, k, j) + r[i]);
  }
  const auto close = [](double got, double want) { return std::fabs(got - want) <= 1e-13 * want; };
  for (std::size_t i = 0; i < n; ++i) {
    double spread = 0, through_out = 0;
    for (std::size_t j = 0; j < n; ++j) spread += p[i][j] * absolute_dot(dout, i, v, j);
    for (Index x = 0; x < d; ++x) {
      double scale = 0;
      for (std::size_t j = 0; j < n; ++j) scale += w[i][j] * column(v, j, x);
      CHECK(close(head_of<double>(answer.scale.out, 0, 0)(static_cast<Index>(i), x), scale));
      through_out += column(dout, i, x) * scale;
    }
    CHECK(close(answer.scale.lse.values<double>()[i], 1 + r[i]));
    for (std::size_t j = 0; j < n; ++j)
      z[i][j] = 0.8 * (w[i][j] * (absolute_dot(dout, i, v, j) + spread) + p[i][j] * through_out);
  }
  for (std::size_t i = 0; i < n; ++i)
    for (Index x = 0; x < d; ++x) {
      double dq = 0, dk = 0, dv = 0;
      for (std::size_t j = 0; j < n; ++j) {
        dq += z[i][j] * column(k, j, x);
        dk += z[j][i] * column(q, j, x);
        dv += w[j][i] * column(dout, j, x);
      }
      const Index row = static_cast<Index>(i);
      CHECK(close(head_of<double>(answer.scale.dq, 0, 0)(row, x), dq));
      CHECK(close(head_of<double>(answer.scale.dk, 0, 0)(row, x), dk));
      CHECK(close(head_of<double>(answer.scale.dv, 0, 0)(row, x), dv));
    }
}

TEST_CASE("the mask predicate agrees with key ranges") {
  Index visible_pairs = 0;
  for (const Case& c : case_table(chosen_set())) {
    const Mask& mask = c.problem.mask;
    const Position seqlen = c.problem.shape.seqlen;
    const KeyRanges ranges = key_ranges(mask, seqlen);
    Index wrong = 0;
    for (Position q = 0; q < seqlen; ++q)
      for (Position k = 0; k < seqlen; ++k) {
        const auto row = static_cast<std::size_t>(q);
        const bool sees = visible(mask, q, k);
        visible_pairs += sees;
        wrong += sees != (ranges.begin[row] <= k && k < ranges.end[row]);
      }
    INFO(c.name);
    CHECK(wrong == 0);
  }
  CHECK(visible_pairs > 10000);
}

TEST_CASE("queries without a key give 0 and -inf") {
  // Causal: the queries 0 to 2 see nothing of the keys 3 to 5.
  const BlockCase c{"", {1, 2, 1, 4, causal_mask(), {0, 1, 2, 4}, {3, 4, 5}, 0.5}, {}, Data::kNormal, 5};
  const Oracle answer = oracle(c.problem, make_inputs(c, DType::kFloat64));
  for (Index row = 0; row < 3; ++row) {
    CHECK(head_of<double>(answer.value.lse, 0, 1)(row, 0) == -std::numeric_limits<double>::infinity());
    for (Index x = 0; x < 4; ++x) {
      CHECK(head_of<double>(answer.value.out, 0, 1)(row, x) == 0.0);
      CHECK(head_of<double>(answer.value.dq, 0, 1)(row, x) == 0.0);
    }
  }
  CHECK(std::isfinite(head_of<double>(answer.value.lse, 0, 1)(3, 0)));
  for (Index x = 0; x < 4; ++x)
    CHECK(head_of<double>(answer.value.dk, 0, 0)(2, x) == 0.0);  // key 5: no query sees it
}

TEST_CASE("an oracle can be stopped while other threads than the caller's compute") {
  const Case c = make_case(make_problem({1, 1, 1, 900, 32}, {}, Layout::kContiguous, 1), Data::kNormal, 1);
  const Inputs inputs = make_inputs(c, DType::kFloat64);
  for (int i = 0; i < 20; ++i)  // one part for four threads: mostly not the caller's
    CHECK_THROWS_AS(oracle(c.problem, inputs,
                           {.threads = 4,
                            .progress =
                                [](double done) {
                                  if (done < 0.9) throw Error("stop", Code::kWrongAnswer);
                                }}),
                    Error);
}

TEST_CASE("the number of threads changes no bit") {
  const Case c = small_case({2, 6, 3, 40, 5}, causal_mask());
  const Inputs inputs = make_inputs(c, DType::kFloat64);
  const Oracle one = oracle(c.problem, inputs), many = oracle(c.problem, inputs, {.threads = 5});
  const auto same = [](const Answer& a, const Answer& b) {
    for (std::size_t t = 0; t < kAnswerNames.size(); ++t) {
      const auto x = named(a)[t].tensor.bytes(), y = named(b)[t].tensor.bytes();
      if (x.size() != y.size() || x.empty() || std::memcmp(x.data(), y.data(), x.size()) != 0) return false;
    }
    return true;
  };
  CHECK(same(one.value, many.value));
  CHECK(same(one.scale, many.scale));
}

TEST_CASE("the oracle refuses what it cannot judge") {
  const Case c = small_case({1, 2, 1, 6, 4}, full_mask());
  Inputs inputs = make_inputs(c, DType::kFloat32);
  inputs.v.values<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_AS(oracle(c.problem, inputs), Error);
  inputs = make_inputs(c, DType::kFloat32);
  inputs.k.values<float>()[0] = 1e38f;  // its scores fit into double, and so do the gradients ...
  CHECK_NOTHROW(oracle(c.problem, inputs));
  Inputs huge = make_inputs(c, DType::kFloat64);
  huge.v.values<double>()[0] = huge.dout.values<double>()[0] = 1e200;  // ... dout.v does not
  CHECK_THROWS_AS(oracle(c.problem, huge), Error);
  inputs = make_inputs(c, DType::kFloat32);
  inputs.dout = Buffer({1, 2, 5, 4}, DType::kFloat32);
  CHECK_THROWS_AS(oracle(c.problem, inputs), Error);
  inputs = make_inputs(c, DType::kFloat32);
  inputs.k = ringcraft::converted(inputs.k, DType::kFloat64);
  CHECK_THROWS_AS(oracle(c.problem, inputs), Error);
}

}  // namespace
}  // namespace ringcraft::verify
