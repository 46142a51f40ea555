// The oracle (see oracle.hpp). A tile of query rows is taken through five passes; inside a pass, a few keys
// at a time meet every row of the tile, so that keys are read from memory once per tile. The tile changes the
// speed, not the sums: each row adds its keys in order, each key its rows in order. "omp simd" lets the sum
// of one dot product be re-ordered; nothing else is.
#include "verify/oracle.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <numeric>
#include <thread>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/matrix.hpp"

namespace ringcraft::verify {

bool visible(const Mask& mask, Position q, Position k) {
  if (mask.left != kNoLimit && q - k > mask.left) return false;
  if (mask.right != kNoLimit && k - q > mask.right) return false;
  const auto sequence_of = [&](Position p) {
    return std::upper_bound(mask.cu_seqlens.begin(), mask.cu_seqlens.end(), p) - mask.cu_seqlens.begin();
  };
  return mask.cu_seqlens.empty() || sequence_of(q) == sequence_of(k);
}

BlockProblem whole(const Problem& problem) {
  const Shape& s = problem.shape;
  std::vector<Position> all(static_cast<std::size_t>(s.seqlen));
  std::iota(all.begin(), all.end(), Position{0});
  return {s.batch, s.heads, s.kv_heads, s.head_dim, problem.mask, all, all, problem.softmax_scale};
}

namespace {

constexpr Index kRowsPerTile = 8;  // rows whose vectors stay near while a few keys pass by
constexpr int kKeysPerChunk = 16;

// a . b and |a| . |b|
struct Dots {
  double plain, absolute;
};
Dots dots(const double* a, const double* b, Index n) {
  double plain = 0, absolute = 0;
#pragma omp simd reduction(+ : plain, absolute)
  for (Index c = 0; c < n; ++c) {
    const double product = a[c] * b[c];
    plain += product;
    absolute += std::fabs(product);
  }
  return {plain, absolute};
}

// value += x * vector, scale += x_scale * |vector|
void add(double* value, double* scale, double x, double x_scale, const double* vector, Index n) {
#pragma omp simd
  for (Index c = 0; c < n; ++c) {
    value[c] += x * vector[c];
    scale[c] += x_scale * std::fabs(vector[c]);
  }
}

// A quantity per visible pair of one row: what the names in oracle.hpp say.
struct Pair {
  int key;          // row of k and v
  double score, c;  // softmax_scale q.k; 1 + |softmax_scale| |q|.|k|
  double p, w;      // weight, and weight with its condition
  Dots dout_v;      // dout.v and |dout|.|v|
  double ds, z;     // softmax_scale P (dout.v - delta), and its scale
};

// The vectors of one (batch, kv_head) group and of the query head at work in it.
struct Head {
  Matrix<const double> q, k, v, dout;
  Matrix<double> out, lse, dq, dk, dv;
  Matrix<double> out_scale, lse_scale, dq_scale, dk_scale, dv_scale;
};

using Rows = std::vector<std::vector<Pair>>;  // of a tile

// Calls body(row of the tile, pair) for all pairs, a chunk of keys at a time.
template <class Body>
void for_each_pair(Rows& rows, int keys, Body body) {
  std::vector<std::size_t> next(rows.size(), 0);
  for (int chunk = kKeysPerChunk; chunk < keys + kKeysPerChunk; chunk += kKeysPerChunk)
    for (std::size_t a = 0; a < rows.size(); ++a)
      for (std::size_t& n = next[a]; n < rows[a].size() && rows[a][n].key < chunk; ++n)
        body(static_cast<Index>(a), rows[a][n]);
}

void score_pairs(Rows& rows, const Head& h, Index first, double softmax_scale) {
  for_each_pair(rows, static_cast<int>(h.k.rows), [&](Index a, Pair& pair) {
    const Dots d = dots(h.q.row(first + a).data(), h.k.row(pair.key).data(), h.k.cols);
    pair.score = softmax_scale * d.plain;
    pair.c = 1 + std::fabs(softmax_scale) * d.absolute;
  });
}

// Weights, lse and their scales of one row.
void weigh_row(std::vector<Pair>& row, const Head& h, Index i) {
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  double max = kNothing, sum = 0, r = 0;
  for (const Pair& pair : row) max = std::max(max, pair.score);
  for (Pair& pair : row) sum += pair.p = std::exp(pair.score - max);
  for (Pair& pair : row) r += (pair.p /= sum) * pair.c;
  for (Pair& pair : row) pair.w = pair.p * (pair.c + r);
  h.lse(i, 0) = row.empty() ? kNothing : max + std::log(sum);
  h.lse_scale(i, 0) = 1 + r;
}

void add_outputs(Rows& rows, const Head& h, Index first) {
  for_each_pair(rows, static_cast<int>(h.k.rows), [&](Index a, Pair& pair) {
    const double* v = h.v.row(pair.key).data();
    add(h.out.row(first + a).data(), h.out_scale.row(first + a).data(), pair.p, pair.w, v, h.v.cols);
    if (h.dout.rows > 0) pair.dout_v = dots(h.dout.row(first + a).data(), v, h.v.cols);
  });
}

// The gradient of the scores of one row, ds = softmax_scale P (dP - delta) with delta = sum of P dP.
void differentiate_row(std::vector<Pair>& row, const Head& h, Index i, double softmax_scale) {
  double delta = 0, delta_absolute = 0;
  for (const Pair& pair : row) {
    delta += pair.p * pair.dout_v.plain;
    delta_absolute += pair.p * pair.dout_v.absolute;
  }
  const double through_out = dots(h.dout.row(i).data(), h.out_scale.row(i).data(), h.dout.cols).absolute;
  for (Pair& pair : row) {
    pair.ds = softmax_scale * pair.p * (pair.dout_v.plain - delta);
    pair.z =
        std::fabs(softmax_scale) * (pair.w * (pair.dout_v.absolute + delta_absolute) + pair.p * through_out);
  }
}

void add_gradients(Rows& rows, const Head& h, Index first) {
  const Index d = h.q.cols;
  for_each_pair(rows, static_cast<int>(h.k.rows), [&](Index a, const Pair& pair) {
    const Index i = first + a, j = pair.key;
    add(h.dq.row(i).data(), h.dq_scale.row(i).data(), pair.ds, pair.z, h.k.row(j).data(), d);
    add(h.dk.row(j).data(), h.dk_scale.row(j).data(), pair.ds, pair.z, h.q.row(i).data(), d);
    add(h.dv.row(j).data(), h.dv_scale.row(j).data(), pair.p, pair.w, h.dout.row(i).data(), d);
  });
}

void compute_tile(Rows& rows, const Head& h, Index first, double softmax_scale) {
  score_pairs(rows, h, first, softmax_scale);
  for (std::size_t a = 0; a < rows.size(); ++a) weigh_row(rows[a], h, first + static_cast<Index>(a));
  add_outputs(rows, h, first);
  if (h.dout.rows == 0) return;
  for (std::size_t a = 0; a < rows.size(); ++a)
    differentiate_row(rows[a], h, first + static_cast<Index>(a), softmax_scale);
  add_gradients(rows, h, first);
}

// The keys that the rows of a tile see; the same for every head.
Rows visible_pairs(const BlockProblem& p, Index first, Index count) {
  Rows rows(static_cast<std::size_t>(count));
  for (std::size_t a = 0; a < rows.size(); ++a)
    for (std::size_t b = 0; b < p.keys.size(); ++b)
      if (visible(p.mask, p.queries[static_cast<std::size_t>(first) + a], p.keys[b]))
        rows[a].push_back({.key = static_cast<int>(b)});
  return rows;
}

Buffer zeros(const Extents& extents) {
  Buffer buffer(extents, DType::kFloat64);
  std::fill(buffer.values<double>().begin(), buffer.values<double>().end(), 0.0);
  return buffer;
}

Answer zero_answer(const BlockProblem& p, bool backward) {
  if (!backward) return {zeros(p.q_extents()), zeros(p.row_extents()), Buffer(), Buffer(), Buffer()};
  return {zeros(p.q_extents()), zeros(p.row_extents()), zeros(p.q_extents()), zeros(p.kv_extents()),
          zeros(p.kv_extents())};
}

// The head of a buffer, or an empty matrix if the buffer is empty (no gradients asked for).
template <class B>
auto head_or_none(B& buffer, Index batch, Index head) {
  using T = std::conditional_t<std::is_const_v<B>, const double, double>;
  return buffer.empty() ? Matrix<T>{} : Matrix<T>(head_of<double>(buffer, batch, head));
}

// One (batch, kv_head): all its query heads. The only writer of its dk and dv.
void compute_group(const BlockProblem& p, const Inputs& in, Oracle& to, Index batch, Index kv_head) {
  const Index group = p.heads / p.kv_heads, queries = static_cast<Index>(p.queries.size());
  for (Index first = 0; first < queries; first += kRowsPerTile) {
    Rows rows = visible_pairs(p, first, std::min(kRowsPerTile, queries - first));
    for (Index head = kv_head * group; head < (kv_head + 1) * group; ++head)
      compute_tile(rows,
                   {head_of<double>(in.q, batch, head), head_or_none(in.k, batch, kv_head),
                    head_or_none(in.v, batch, kv_head), head_or_none(in.dout, batch, head),
                    head_of<double>(to.value.out, batch, head), head_of<double>(to.value.lse, batch, head),
                    head_or_none(to.value.dq, batch, head), head_or_none(to.value.dk, batch, kv_head),
                    head_or_none(to.value.dv, batch, kv_head), head_of<double>(to.scale.out, batch, head),
                    head_of<double>(to.scale.lse, batch, head), head_or_none(to.scale.dq, batch, head),
                    head_or_none(to.scale.dk, batch, kv_head), head_or_none(to.scale.dv, batch, kv_head)},
                   first, p.softmax_scale);
  }
}

// A scale that has overflowed would let every answer pass.
void require_no_overflow(const Oracle& oracle) {
  for (const Answer* answer : {&oracle.value, &oracle.scale})
    for (const auto& [name, tensor] : named(*answer)) {
      if (tensor.empty()) continue;
      for (const double x : tensor.values<double>())
        if (!std::isfinite(x) && !(name == "lse" && x == -std::numeric_limits<double>::infinity()))
          throw Error("inputs", "numbers whose attention can be judged in double",
                      "an overflow in " + std::string(name), "scale the inputs down");
    }
}

}  // namespace

Oracle oracle(const BlockProblem& problem, const Inputs& inputs, int threads) {
  require_inputs(problem.q_extents(), problem.kv_extents(), inputs);
  require_finite(inputs);
  const Inputs in = converted(inputs, DType::kFloat64);
  Oracle result{zero_answer(problem, in.has_backward()), zero_answer(problem, in.has_backward())};
  const Index groups = problem.batch * problem.kv_heads;
  std::atomic<Index> next{0};
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(std::max(threads, 1)));
  const auto work = [&](std::exception_ptr& failure) {
    try {
      for (Index g = next++; g < groups; g = next++)
        compute_group(problem, in, result, g / problem.kv_heads, g % problem.kv_heads);
    } catch (...) {
      failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < failures.size(); ++t) others.emplace_back(work, std::ref(failures[t]));
    work(failures[0]);
  }
  for (const auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
  require_no_overflow(result);
  return result;
}

Oracle oracle(const Problem& problem, const Inputs& inputs, int threads) {
  validate(problem);
  return oracle(whole(problem), inputs, threads);
}

}  // namespace ringcraft::verify
