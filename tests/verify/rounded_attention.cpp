// Computes attention with rounded steps, a query row at a time.
#include "rounded_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ringcraft/core/matrix.hpp"
#include "verify/oracle/oracle.hpp"

namespace ringcraft::verify {
namespace {

// Rounds a number to a half type; any other leaves it as it is.
class To {
 public:
  To(DType type, bool on) : type_(on ? type : DType::kFloat64) {}
  template <class T>
  T operator()(T x) const {
    if (type_ == DType::kBFloat16) return float_from_bfloat16(bfloat16_from(x));
    return type_ == DType::kFloat16 ? float_from_float16(float16_from(x)) : x;
  }

 private:
  DType type_;
};

template <class T>
T dot(std::span<const T> a, std::span<const T> b) {
  T lanes[16] = {}, sum = 0;
  std::size_t c = 0;
  for (; c + 16 <= a.size(); c += 16)
    for (std::size_t l = 0; l < 16; ++l) lanes[l] += a[c + l] * b[c + l];
  for (; c < a.size(); ++c) sum += a[c] * b[c];
  for (const T lane : lanes) sum += lane;
  return sum;
}

template <class T>
void add(std::span<T> to, T x, std::span<const T> vector) {
  for (std::size_t c = 0; c < to.size(); ++c) to[c] += x * vector[c];
}

template <class T>
Buffer zeros(const Extents& extents) {
  Buffer buffer(extents, dtype_of<T>());
  std::ranges::fill(buffer.values<T>(), T(0));
  return buffer;
}

template <class T>
struct Pair {
  Index key;
  T times, score, p = 0;
};

// A head at work.
template <class T>
struct Head {
  using Pairs = std::span<Pair<T>>;
  const RoundedSteps& steps;
  const Mistake& mistake;
  const Mask& mask;
  T scale;
  Matrix<const T> q, k, v, dout;
  Matrix<T> out, lse, dq, dk, dv;
  To kept{steps.type, steps.scores}, factor{steps.type, steps.weights || steps.scores},
      result{steps.type, true}, sum{steps.type, steps.sum_rows > 0};

  std::vector<Pair<T>> pairs_of(Index i) const {
    std::vector<Pair<T>> pairs;
    const auto within = [](Index j, Index first, Index count) { return j >= first && j < first + count; };
    for (Index j = 0; j < k.rows; ++j) {
      if (!visible(mask, i, j) || within(j, mistake.lost_first, mistake.lost_count)) continue;
      const T times = within(j, mistake.twice_first, mistake.twice_count) ? T(2) : T(1);
      pairs.push_back({j, times, kept(scale * kept(dot<T>(q.row(i), k.row(j))))});
    }
    return pairs;
  }

  std::span<const T> value(Index j) const {
    const bool stale = j >= mistake.stale_first && j < mistake.stale_first + mistake.stale_count;
    return v.row(stale ? j - mistake.stale_count : j);
  }

  // The partial result of some pairs: out normalised, and its lse.
  T partial(Pairs pairs, std::span<T> to) const {
    T max = -std::numeric_limits<T>::infinity(), l = 0;
    for (const Pair<T>& pair : pairs) max = std::max(max, pair.score);
    for (Pair<T>& pair : pairs) l += pair.p = pair.times * std::exp(pair.score - max);
    if (pairs.empty()) return max;
    // Code that keeps everything in the type normalises the weights first, other code the sum at the end.
    for (const Pair<T>& pair : pairs)
      add<T>(to, steps.scores ? factor(pair.p / l) : factor(pair.p), value(pair.key));
    for (T& x : to) x = steps.scores ? x : x / l;
    return max + std::log(l);
  }

  void forward(Pairs pairs, Index i) {
    const int blocks = std::max({steps.blocks, mistake.averaged, 1});
    if (blocks == 1) {
      lse(i, 0) = partial(pairs, out.row(i));
    } else {
      merge_blocks(pairs, i, blocks);
    }
    for (T& x : out.row(i)) x = result(x);
  }

  void merge_blocks(Pairs pairs, Index i, int blocks) {
    const To part{steps.type, steps.blocks > 1};
    std::vector<T> own(static_cast<std::size_t>(out.cols));
    T all = -std::numeric_limits<T>::infinity();
    int met = 0;
    for (int b = 0; b < blocks; ++b) {
      const auto first = std::ranges::find_if(pairs, [&](auto& p) { return p.key >= b * k.rows / blocks; });
      const auto last =
          std::ranges::find_if(pairs, [&](auto& p) { return p.key >= (b + 1) * k.rows / blocks; });
      if (first == last) continue;
      std::ranges::fill(own, T(0));
      const T block = partial({first, last}, own);
      const T both = std::max(all, block) + std::log1p(std::exp(-std::fabs(all - block)));
      const T keep =
          mistake.averaged > 0 ? static_cast<T>(met) / static_cast<T>(met + 1) : std::exp(all - both);
      const T take = mistake.averaged > 0 ? 1 / static_cast<T>(met + 1) : std::exp(block - both);
      for (Index c = 0; c < out.cols; ++c)
        out(i, c) = keep * out(i, c) + take * part(own[static_cast<std::size_t>(c)]);
      all = both;
      ++met;
    }
    lse(i, 0) = all;
  }

  void backward(Pairs pairs, Index i) {
    const T delta = mistake.no_delta ? 0 : kept(dot<T>(dout.row(i), out.row(i)));
    Index added = 0;
    for (const Pair<T>& pair : pairs) {
      const T p = pair.times * std::exp(pair.score - lse(i, 0)),
              dp = kept(dot<T>(dout.row(i), value(pair.key)));
      const T ds = factor(kept(kept(p) * kept(dp - delta)));
      add<T>(dq.row(i), scale * ds, k.row(pair.key));
      if (steps.sum_rows > 0 && ++added % steps.sum_rows == 0)
        for (T& x : dq.row(i)) x = sum(x);
      if (i >= q.rows - mistake.lost_rows && pair.key < mistake.lost_keys) continue;
      add<T>(dk.row(pair.key), scale * ds, q.row(i));
      add<T>(dv.row(pair.key), factor(p), dout.row(i));
    }
    if (steps.sum_rows == 0 || (i + 1) % steps.sum_rows != 0) return;
    for (Matrix<T>* tensor : {&dk, &dv})
      for (T& x : tensor->data) x = sum(x);
  }
};

}  // namespace

template <class T>
Answer rounded_attention(const Problem& problem, const Inputs& inputs, const RoundedSteps& steps,
                         const Mistake& mistake) {
  const Shape& s = problem.shape;
  const Extents q{s.batch, s.heads, s.seqlen, s.head_dim}, kv{s.batch, s.kv_heads, s.seqlen, s.head_dim};
  Answer a{zeros<T>(q), zeros<T>({s.batch, s.heads, s.seqlen, 1}), zeros<T>(q), zeros<T>(kv), zeros<T>(kv)};
  const Mask mask = mistake.mask.value_or(problem.mask);
  for (Index b = 0; b < s.batch; ++b)
    for (Index h = 0; h < s.heads; ++h) {
      const Index g = h / (s.heads / s.kv_heads);
      Head<T> head{steps,
                   mistake,
                   mask,
                   static_cast<T>(problem.softmax_scale),
                   head_of<T>(inputs.q, b, h),
                   head_of<T>(inputs.k, b, g),
                   head_of<T>(inputs.v, b, g),
                   head_of<T>(inputs.dout, b, h),
                   head_of<T>(a.out, b, h),
                   head_of<T>(a.lse, b, h),
                   head_of<T>(a.dq, b, h),
                   head_of<T>(a.dk, b, g),
                   head_of<T>(a.dv, b, g)};
      for (Index i = 0; i < s.seqlen; ++i) {
        std::vector<Pair<T>> pairs = head.pairs_of(i);
        head.forward(pairs, i);
        head.backward(pairs, i);
      }
    }
  const To result{steps.type, true};
  for (Buffer* tensor : {&a.dq, &a.dk, &a.dv})
    for (T& x : tensor->values<T>()) x = result(x);
  return a;
}

template Answer rounded_attention<float>(const Problem&, const Inputs&, const RoundedSteps&, const Mistake&);
template Answer rounded_attention<double>(const Problem&, const Inputs&, const RoundedSteps&, const Mistake&);

}  // namespace ringcraft::verify
