// Computes dense attention in plain loops: one pass over the query rows, which keeps only the current row's
// weights in memory.
#include "verify/oracle/plain_dense.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/matrix.hpp"

namespace ringcraft::verify {
namespace {

template <class T>
T dot(std::span<const T> a, std::span<const T> b) {
  T sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

// to += x * vector
template <class T>
void add(std::span<T> to, T x, std::span<const T> vector) {
  for (std::size_t c = 0; c < to.size(); ++c) to[c] += x * vector[c];
}

template <class T>
Buffer zeros(const Extents& extents) {
  Buffer buffer(extents, dtype_of<T>());
  std::fill(buffer.values<T>().begin(), buffer.values<T>().end(), T(0));
  return buffer;
}

// The keys that each query sees.
std::vector<std::vector<Index>> visible_keys(const BlockProblem& p) {
  std::vector<std::vector<Index>> keys(p.queries.size());
  for (std::size_t i = 0; i < keys.size(); ++i)
    for (std::size_t j = 0; j < p.keys.size(); ++j)
      if (visible(p.mask, p.queries[i], p.keys[j])) keys[i].push_back(static_cast<Index>(j));
  return keys;
}

template <class T>
std::vector<T> scores_of(std::span<const T> q, Matrix<const T> k, const std::vector<Index>& keys,
                         T softmax_scale) {
  std::vector<T> scores;
  for (const Index j : keys) scores.push_back(softmax_scale * dot(q, k.row(j)));
  return scores;
}

// out = softmax(scores) v; returns the lse.
template <class T>
T forward_row(const std::vector<T>& scores, const std::vector<Index>& keys, Matrix<const T> v,
              std::span<T> out) {
  if (keys.empty()) return -std::numeric_limits<T>::infinity();
  const T max = *std::max_element(scores.begin(), scores.end());
  T sum = 0;
  for (const T s : scores) sum += std::exp(s - max);
  for (std::size_t n = 0; n < keys.size(); ++n) add<T>(out, std::exp(scores[n] - max) / sum, v.row(keys[n]));
  return max + std::log(sum);
}

// One query head with the KV head that serves it.
template <class T>
struct Head {
  Matrix<const T> q, k, v, dout;
  Matrix<T> out, lse, dq, dk, dv;
};

// P = exp(S - lse), dP = dout vᵀ, dS = P (dP - delta).
template <class T>
void backward_row(const Head<T>& h, Index i, const std::vector<T>& scores, const std::vector<Index>& keys,
                  T softmax_scale) {
  const std::span<const T> dout = h.dout.row(i);
  const T delta = dot<T>(dout, h.out.row(i));
  for (std::size_t n = 0; n < keys.size(); ++n) {
    const Index j = keys[n];
    const T weight = std::exp(scores[n] - h.lse(i, 0));
    const T dscore = softmax_scale * (weight * (dot(dout, h.v.row(j)) - delta));
    add<T>(h.dv.row(j), weight, dout);
    add<T>(h.dq.row(i), dscore, h.k.row(j));
    add<T>(h.dk.row(j), dscore, h.q.row(i));
  }
}

}  // namespace

template <class T>
Answer plain_dense(const BlockProblem& p, const Inputs& in) {
  require_inputs(p.q_extents(), p.kv_extents(), in);
  if (in.q.dtype() != dtype_of<T>())
    throw Error("plain_dense", std::string(name_of(dtype_of<T>())), std::string(name_of(in.q.dtype())),
                "convert the inputs first");
  const bool backward = in.has_backward();
  Answer a{zeros<T>(p.q_extents()), zeros<T>(p.row_extents()), Buffer(), Buffer(), Buffer()};
  if (backward) {
    a.dq = zeros<T>(p.q_extents());
    a.dk = zeros<T>(p.kv_extents());
    a.dv = zeros<T>(p.kv_extents());
  }
  const auto keys = visible_keys(p);
  const T softmax_scale = static_cast<T>(p.softmax_scale);
  for (Index b = 0; b < p.batch; ++b)
    for (Index head = 0; head < p.heads; ++head) {
      const Index g = head / (p.heads / p.kv_heads);
      Head<T> h{head_of<T>(in.q, b, head),
                head_of<T>(in.k, b, g),
                head_of<T>(in.v, b, g),
                {},
                head_of<T>(a.out, b, head),
                head_of<T>(a.lse, b, head),
                {},
                {},
                {}};
      if (backward) {
        h.dout = head_of<T>(in.dout, b, head);
        h.dq = head_of<T>(a.dq, b, head);
        h.dk = head_of<T>(a.dk, b, g);
        h.dv = head_of<T>(a.dv, b, g);
      }
      for (Index i = 0; i < h.q.rows; ++i) {
        const auto& seen = keys[static_cast<std::size_t>(i)];
        const std::vector<T> scores = scores_of<T>(h.q.row(i), h.k, seen, softmax_scale);
        h.lse(i, 0) = forward_row<T>(scores, seen, h.v, h.out.row(i));
        if (backward) backward_row<T>(h, i, scores, seen, softmax_scale);
      }
    }
  return a;
}

template Answer plain_dense<float>(const BlockProblem&, const Inputs&);
template Answer plain_dense<double>(const BlockProblem&, const Inputs&);

}  // namespace ringcraft::verify
