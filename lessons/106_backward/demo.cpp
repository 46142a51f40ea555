// Lesson 106: gradients, right ones and wrong ones, against finite differences of the loss sum(out * dout).
#include <cmath>
#include <cstdio>
#include <numeric>

#include "ringcraft/attention/single_device.hpp"
#include "ringcraft/core/random.hpp"

using namespace ringcraft;
Random stream(106);
Buffer tensor() { return random_normal({1, 1, 6, 3}, DType::kFloat64, stream); }
Buffer q = tensor(), dout = tensor();
KvBlock kv{tensor(), tensor()};
const KeyRanges causal = key_ranges(causal_mask(), 6), full = key_ranges(full_mask(), 6);
const KeyRanges none{{0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}};
const KeyRanges block{{0, 0, 0, 0, 0, 0}, {1, 2, 3, 3, 3, 3}};  // causal, and of the keys 0 to 2 only

Output forward(const KeyRanges& seen) { return attention_forward(Algorithm::kBlockwise, q, kv, seen, 0.6); }
// Gradients from the out and the lse of forward passes over these keys.
Gradients backward(const KeyRanges& out, const KeyRanges& lse, const KeyRanges& seen) {
  const Output saved{forward(out).out, forward(lse).lse};
  return attention_backward(Algorithm::kBlockwise, q, kv, saved, dout, seen, 0.6);
}

double loss() {
  const Output output = forward(causal);
  const auto a = output.out.values<double>(), b = std::as_const(dout).values<double>();
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// The largest difference between a gradient and the slope of the loss between two steps of h.
double error(Buffer& input, const Buffer& gradient, double h) {
  double largest = 0;
  for (std::size_t i = 0; i < 18; ++i) {
    double& x = input.values<double>()[i] += h;
    const double above = loss();
    x -= 2 * h;
    const double wrong = std::fabs((above - loss()) / (2 * h) - gradient.values<double>()[i]);
    x += h;
    if (!(wrong <= largest)) largest = wrong;
  }
  return largest;
}

int main() {
  const Gradients right = backward(causal, causal, causal), block_delta = backward(block, causal, causal);
  const auto row = [](const char* name, const Gradients& g) {
    const double dq = error(q, g.dq, 1e-3), dk = error(kv.k, g.dkv.k, 1e-3), dv = error(kv.v, g.dkv.v, 1e-3);
    std::printf("%-16s %8.3f %8.3f %8.3f\n", name, dq, dk, dv);
  };
  std::printf("largest error of       dq       dk       dv\n");
  row("right", right);
  row("delta_is_0", backward(none, causal, causal));  // out is 0 then
  row("delta_of_a_block", block_delta);
  row("lse_of_a_block", backward(causal, block, causal));
  row("mask_forgotten", backward(causal, causal, full));
  std::printf("\nlargest error of dk, by h: right, and with the delta of a block\n");
  for (double h = 0.5; h > 0.001; h /= 2)
    std::printf("%-10g %.3e %.3e\n", h, error(kv.k, right.dkv.k, h), error(kv.k, block_delta.dkv.k, h));
}
