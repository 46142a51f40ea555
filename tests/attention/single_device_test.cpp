// Whole tensors on one device: known vectors, the definition, and finite differences for every gradient.
#include "ringcraft/attention/single_device.hpp"

#include <cmath>
#include <numeric>
#include <vector>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/errors.hpp"
#include "support/plain_attention.hpp"
#include "support/random_problem.hpp"
#include "support/tensors.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

const std::vector<Algorithm> kAlgorithms{Algorithm::kDense, Algorithm::kBlockwise, Algorithm::kFast};

// sum(out * dout): the function whose gradients backward gives.
double loss(Algorithm algorithm, const Tensors& t, const KeyRanges& ranges, double scale) {
  const Output output = attention_forward(algorithm, t.q, t.kv, ranges, scale, {3, 2});
  const auto out = output.out.values<double>();
  return std::inner_product(out.begin(), out.end(), t.dout.values<double>().begin(), 0.0);
}

// The gradient with respect to one input tensor, by differences of fourth order.
Buffer numerical(Algorithm algorithm, Tensors& t, Buffer& input, const KeyRanges& ranges, double scale) {
  constexpr double kStep = 2e-3;
  Buffer gradient(input.extents(), DType::kFloat64);
  for (std::size_t i = 0; i < input.values<double>().size(); ++i) {
    double& x = input.values<double>()[i];
    const double at = x;
    const auto moved = [&](double by) {
      x = at + by * kStep;
      return loss(algorithm, t, ranges, scale);
    };
    gradient.values<double>()[i] = (8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12 * kStep);
    x = at;
  }
  return gradient;
}

struct Golden {
  Mask mask;
  double out[2], lse, dq[2], dk[2], dv[2];  // rows 5, 5, 5, 2, 2
  double sum_out, sum_dq, sum_dk, sum_dv;   // of out itself, of the absolute gradients
};

// S = 8, d = 2, x = i d + j: q = sin(.7x + .1), k = cos(.3x + .2), v = sin(.5x + .3), dout = cos(.9x + .4).
Tensors golden_inputs() {
  Tensors t;
  const Extents e{1, 1, 8, 2};
  for (Buffer* b : {&t.q, &t.kv.k, &t.kv.v, &t.dout}) *b = Buffer(e, DType::kFloat64);
  for (std::size_t x = 0; x < 16; ++x) {
    const auto at = static_cast<double>(x);
    t.q.values<double>()[x] = std::sin(0.7 * at + 0.1);
    t.kv.k.values<double>()[x] = std::cos(0.3 * at + 0.2);
    t.kv.v.values<double>()[x] = std::sin(0.5 * at + 0.3);
    t.dout.values<double>()[x] = std::cos(0.9 * at + 0.4);
  }
  return t;
}

}  // namespace

TEST_CASE("known vectors of full, causal, window and packed attention") {
  const std::vector<Golden> table{
      {full_mask(),
       {0.4304428060, 0.5608944476},
       2.1371143231,
       {-0.2103705522, -0.2043302184},
       {-0.0994258368, -0.0861859927},
       {0.0395820931, 0.0042284133},
       2.9523846047,
       3.1793759541,
       2.4385152327,
       3.0838456025},
      {causal_mask(),
       {0.4065072653, 0.5134837222},
       1.9720815877,
       {-0.2704248825, -0.2437946012},
       {-0.1719645155, -0.2053272998},
       {0.0098696581, 0.2580331816},
       5.1328153331,
       2.5517507848,
       2.4019737359,
       3.4642538637},
      {window_mask(3),
       {0.0516108643, -0.2065508527},
       0.7576479089,
       {-0.3337364282, -0.2619986997},
       {-0.3792761375, -0.4759527842},
       {-0.4203385556, -0.1313496512},
       2.1168469452,
       1.8693165623,
       3.0492377078,
       3.9718107270},
      {{.left = 3, .right = 0, .cu_seqlens = {0, 3, 8}},
       {-0.5570094775, -0.6814022241},
       0.1280502192,
       {-0.0650300720, -0.0414958337},
       {-0.0063804546, 0.0118014191},
       {-0.2378515692, 0.0678691849},
       -1.1061155386,
       0.5775709246,
       1.4268694644,
       4.2342773035},
  };
  const Tensors t = golden_inputs();
  for (const Golden& g : table)
    for (const Algorithm algorithm : kAlgorithms) {
      CAPTURE(described(g.mask), static_cast<int>(algorithm));
      const KeyRanges ranges = key_ranges(g.mask, 8);
      const double scale = 1 / std::sqrt(2.0);
      const Output output = attention_forward(algorithm, t.q, t.kv, ranges, scale, {3, 3});
      const Gradients gradients =
          attention_backward(algorithm, t.q, t.kv, output, t.dout, ranges, scale, {3, 3});
      const auto close = [](double got, double want) { return std::fabs(got - want) <= 1e-9; };
      const auto row_is = [&](const Buffer& b, std::size_t row, const double* want) {
        return close(b.values<double>()[2 * row], want[0]) && close(b.values<double>()[2 * row + 1], want[1]);
      };
      const auto sum = [](const Buffer& b, auto of) {
        double total = 0;
        for (const double x : b.values<double>()) total += of(x);
        return total;
      };
      const auto itself = [](double x) { return x; };
      const auto absolute = [](double x) { return std::fabs(x); };
      CHECK(row_is(output.out, 5, g.out));
      CHECK(close(output.lse.values<double>()[5], g.lse));
      CHECK(row_is(gradients.dq, 5, g.dq));
      CHECK(row_is(gradients.dkv.k, 2, g.dk));
      CHECK(row_is(gradients.dkv.v, 2, g.dv));
      CHECK(close(sum(output.out, itself), g.sum_out));
      CHECK(close(sum(gradients.dq, absolute), g.sum_dq));
      CHECK(close(sum(gradients.dkv.k, absolute), g.sum_dk));
      CHECK(close(sum(gradients.dkv.v, absolute), g.sum_dv));
    }
}

TEST_CASE("every algorithm agrees with the definition") {
  Random random(101);
  for (int trial = 0; trial < 80; ++trial) {
    const Problem p = random_problem(random, 1, 24);
    const Tensors t = random_tensors(p.shape, DType::kFloat64, random, trial % 3 == 0 ? 5.0 : 1.0);
    const Output expected = plain_forward(t.q, t.kv, p.mask, p.softmax_scale);
    INFO(described(p));
    for (const Algorithm algorithm : kAlgorithms) {
      const KeyRanges ranges = key_ranges(p.mask, p.shape.seqlen);
      CHECK(difference(attention_forward(algorithm, t.q, t.kv, ranges, p.softmax_scale, {4, 3}), expected) <=
            2e-13);
    }
  }
}

TEST_CASE("every gradient agrees with finite differences") {
  Random random(102);
  for (int trial = 0; trial < 24; ++trial) {
    const Problem p = random_problem(random, 1, 7);
    Tensors t = random_tensors(p.shape, DType::kFloat64, random);
    const KeyRanges ranges = key_ranges(p.mask, p.shape.seqlen);
    INFO(described(p));
    for (const Algorithm algorithm : kAlgorithms) {
      const Output output = attention_forward(algorithm, t.q, t.kv, ranges, p.softmax_scale, {3, 2});
      const Gradients g =
          attention_backward(algorithm, t.q, t.kv, output, t.dout, ranges, p.softmax_scale, {2, 3});
      CHECK(difference(g.dq, numerical(algorithm, t, t.q, ranges, p.softmax_scale)) <= 1e-9);
      CHECK(difference(g.dkv.k, numerical(algorithm, t, t.kv.k, ranges, p.softmax_scale)) <= 1e-9);
      CHECK(difference(g.dkv.v, numerical(algorithm, t, t.kv.v, ranges, p.softmax_scale)) <= 1e-9);
    }
  }
}

TEST_CASE("float agrees with double") {
  Random random(103);
  for (int trial = 0; trial < 20; ++trial) {
    const Problem p = random_problem(random, 1, 30);
    const Tensors f = random_tensors(p.shape, DType::kFloat32, random);
    const auto wide = [](const Buffer& b) { return converted(b, DType::kFloat64); };
    const Tensors d{wide(f.q), {wide(f.kv.k), wide(f.kv.v)}, wide(f.dout)};
    const KeyRanges ranges = key_ranges(p.mask, p.shape.seqlen);
    for (const Algorithm algorithm : kAlgorithms) {
      const Output narrow = attention_forward(algorithm, f.q, f.kv, ranges, p.softmax_scale);
      const Output exact = attention_forward(algorithm, d.q, d.kv, ranges, p.softmax_scale);
      CHECK(narrow.out.dtype() == DType::kFloat32);
      CHECK(difference(narrow, exact) <= 1e-5);
      const Gradients g = attention_backward(algorithm, f.q, f.kv, narrow, f.dout, ranges, p.softmax_scale);
      const Gradients e = attention_backward(algorithm, d.q, d.kv, exact, d.dout, ranges, p.softmax_scale);
      CHECK(difference(g.dq, e.dq) <= 1e-4);
      CHECK(difference(g.dkv.k, e.dkv.k) <= 1e-4);
      CHECK(difference(g.dkv.v, e.dkv.v) <= 1e-4);
    }
  }
}

TEST_CASE("bfloat16 is refused") {
  Random random(104);
  const Tensors t = random_tensors({.seqlen = 4, .head_dim = 2}, DType::kBFloat16, random);
  for (const Algorithm algorithm : kAlgorithms) {
    const KeyRanges ranges = key_ranges(causal_mask(), 4);
    check_refused([&] { return attention_forward(algorithm, t.q, t.kv, ranges, 1).out.empty(); },
                  "attention: expected float32 or float64, got bfloat16");
    const Output output{t.q.clone(), Buffer({1, 1, 4, 1}, DType::kFloat32)};
    check_refused(
        [&] { return attention_backward(algorithm, t.q, t.kv, output, t.dout, ranges, 1).dq.empty(); },
        "got bfloat16");
  }
}
