// Computes the rows of the oracle (see oracle.hpp for the formulas). Each tile of query rows goes through
// five passes; inside a pass, a few keys at a time meet every row of the tile, so that keys are read from
// memory once per tile. The tile changes the speed, not the sums: each row adds its keys in order, each key
// its rows in order. "omp simd" lets the sum of one dot product be re-ordered; nothing else is.
#include <algorithm>
#include <cmath>
#include <limits>

#include "verify/oracle/oracle_detail.hpp"

namespace ringcraft::verify {
namespace {

constexpr int kKeysPerChunk = 16;
constexpr double kSingle = 0x1p-48;  // (2^-24)^2: all code that is modelled computes in float32

// An error of a score up to which exp is a straight line, and how many of what is above it a weight follows.
constexpr double kStraight = 0.25, kReach = 6;

constexpr double square(double x) { return x * x; }

// a . b, |a| . |b|, and a^2 . b^2
struct Dots {
  double plain, absolute, squares;
};
Dots dots(const double* a, const double* b, Index n) {
  double plain = 0, absolute = 0;
#pragma omp simd reduction(+ : plain, absolute)
  for (Index c = 0; c < n; ++c) {
    const double product = a[c] * b[c];
    plain += product;
    absolute += std::fabs(product);
  }
  return {plain, absolute, 0};
}
Dots dots_and_squares(const double* a, const double* b, Index n) {
  double plain = 0, absolute = 0, squares = 0;
#pragma omp simd reduction(+ : plain, absolute, squares)
  for (Index c = 0; c < n; ++c) {
    const double product = a[c] * b[c];
    plain += product;
    absolute += std::fabs(product);
    squares += product * product;
  }
  return {plain, absolute, squares};
}

// value += x vector, scale += x_scale |vector|
void add(double* value, double* scale, double x, double x_scale, const double* vector, Index n) {
#pragma omp simd
  for (Index c = 0; c < n; ++c) {
    value[c] += x * vector[c];
    scale[c] += x_scale * std::fabs(vector[c]);
  }
}
// Additionally variance += x_variance vector^2 + partial value^2, with the partial sum so far.
void add(double* value, double* scale, double* variance, double x, double x_scale, double x_variance,
         double partial, const double* vector, Index n) {
#pragma omp simd
  for (Index c = 0; c < n; ++c) {
    value[c] += x * vector[c];
    scale[c] += x_scale * std::fabs(vector[c]);
    variance[c] += x_variance * vector[c] * vector[c] + partial * value[c] * value[c];
  }
}
// Additionally mean += x_mean vector
void add(double* value, double* scale, double* variance, double* mean, double x, double x_scale,
         double x_variance, double partial, double x_mean, const double* vector, Index n) {
#pragma omp simd
  for (Index c = 0; c < n; ++c) {
    value[c] += x * vector[c];
    scale[c] += x_scale * std::fabs(vector[c]);
    variance[c] += x_variance * vector[c] * vector[c] + partial * value[c] * value[c];
    mean[c] += x_mean * vector[c];
  }
}

// Quantities of one visible pair of a row; oracle.hpp defines the names.
struct Pair {
  int key;          // row of k and v
  double score, c;  // softmax_scale q.k; 1 + |softmax_scale| |q|.|k|
  double p, w;      // weight, and weight with its condition
  Dots dout_v;
  double ds, z;                                        // softmax_scale P (dout.v - delta), and its scale
  double var_score, moved, var_p;                      // of the score; of P, by its own score; and in all
  double same = 1;                                     // N
  double spread_q = 0, spread_k = 0, spread_dout = 0;  // factors of k^2, q^2, dout^2
};

struct Row {
  std::vector<Pair> pairs;
  double lost = 0;         // L
  double var_sum = 0;      // F
  double moved = 0;        // sum_j N V
  double var_weights = 0;  // R
  double delta = 0;
  double var_delta = 0;                  // times softmax_scale^2
  std::vector<double> mean_v, mean_key;  // sum_j V v, sum_j P k
};
using Rows = std::vector<Row>;  // of a tile

// A tile of query rows in progress.
struct Tile {
  const OracleHead& h;
  const OracleTerms& terms;
  Index first;
  Rows rows;
  std::vector<int> counts = {};  // number of equal keys

  double scale2() const { return square(terms.softmax_scale); }
  // The variance of a sum of n terms, relative to the sum of their squares, if the terms come in a random
  // order: the mean square of a partial sum is then n/2 times as much. This is one half of the model, for one
  // half of the code: `sums` is the Rounding's, for gradients.
  static double random_order(double n, double sums) {
    return (kSingle + sums / Rounding::kBlock) / 2 * n / 2;
  }
  // The share of each partial sum, relative to its own square, in the order of the sequence: the other half
  // of the model, if `same` of its terms are equal. Includes the two rounded parts of the sum that a ring
  // has.
  double partial_sum(double n, double sums, double same) const {
    return same * (kSingle + sums / Rounding::kBlock) / 2 + 2 * terms.rounding->partials / n;
  }

  // Calls body(row, its row of q, pair) for all pairs, a chunk of keys at a time.
  template <class Body>
  void for_each_pair(Body body) {
    std::vector<std::size_t> next(rows.size(), 0);
    for (Index chunk = kKeysPerChunk; chunk < h.k.rows + kKeysPerChunk; chunk += kKeysPerChunk)
      for (std::size_t a = 0; a < rows.size(); ++a)
        for (std::size_t& n = next[a]; n < rows[a].pairs.size() && rows[a].pairs[n].key < chunk; ++n)
          body(rows[a], first + static_cast<Index>(a), rows[a].pairs[n]);
  }

  void score_pairs() {
    const double s = terms.softmax_scale, operands = terms.rounding ? terms.rounding->operands : 0;
    for_each_pair([&](Row&, Index i, Pair& pair) {
      const double *q = h.q.row(i).data(), *k = h.k.row(pair.key).data();
      const Dots d = operands > 0 ? dots_and_squares(q, k, h.k.cols) : dots(q, k, h.k.cols);
      pair.score = s * d.plain;
      pair.c = 1 + std::fabs(s) * d.absolute;
      pair.var_score = 4 * kSingle * square(pair.c) + 2 * operands * scale2() * d.squares;
    });
  }

  // Computes weights, lse and their scales of one row.
  void weigh(Row& row, Index i) {
    constexpr double kNothing = -std::numeric_limits<double>::infinity();
    double max = kNothing, sum = 0, r = 0;
    for (const Pair& pair : row.pairs) max = std::max(max, pair.score);
    for (Pair& pair : row.pairs) sum += pair.p = std::exp(pair.score - max);
    for (Pair& pair : row.pairs) r += (pair.p /= sum) * pair.c;
    for (Pair& pair : row.pairs) pair.w = pair.p * (pair.c + r);
    h.value.lse(i, 0) = row.pairs.empty() ? kNothing : max + std::log(sum);
    h.scale.lse(i, 0) = 1 + r;
    if (terms.rounding) spread_weights(row, i);
  }

  // Counts, among the keys that a row sees, those that give the same score as this one.
  void count_repeats(Row& row, Index i) {
    const Repeats& repeats = *h.repeats;
    if (repeats.flat[static_cast<std::size_t>(i)]) {
      for (Pair& pair : row.pairs) pair.same = static_cast<double>(row.pairs.size());
    } else if (!repeats.key_class.empty()) {
      const auto count_of = [&](const Pair& pair) -> int& {
        return counts[static_cast<std::size_t>(repeats.key_class[static_cast<std::size_t>(pair.key)])];
      };
      counts.assign(repeats.key_class.size(), 0);
      for (const Pair& pair : row.pairs) ++count_of(pair);
      for (Pair& pair : row.pairs) pair.same = count_of(pair);
    }
  }

  // The variance of lse by the rounding of the row of q, which moves all its scores: they err by the same
  // error times k, and lse by that of the mean key.
  double common_variance(const Row& row, Index i) const {
    if (terms.rounding->operands == 0) return 0;
    std::vector<double> mean_key(static_cast<std::size_t>(h.k.cols));
    for (const Pair& pair : row.pairs)
      for (Index c = 0; c < h.k.cols; ++c) mean_key[static_cast<std::size_t>(c)] += pair.p * h.k(pair.key, c);
    return terms.rounding->operands * scale2() *
           dots_and_squares(h.q.row(i).data(), mean_key.data(), h.k.cols).squares;
  }

  // V, for a pair of a row with this lse.
  static double moved(const Pair& pair, double lse) {
    const double error = std::sqrt(pair.var_score);
    if (error <= kStraight) return square(pair.p) * pair.var_score;
    return std::exp(2 * std::min(0.0, pair.score - lse + kReach * (error - kStraight))) *
           std::min(1.0, pair.var_score);
  }

  void spread_weights(Row& row, Index i) {
    const Rounding& r = *terms.rounding;
    count_repeats(row, i);
    const double lse = row.pairs.empty() ? 0 : h.value.lse(i, 0);
    double single = 0, all = 0;
    for (Pair& pair : row.pairs) {
      single += pair.same * square(pair.p) * pair.var_score;
      pair.var_score += r.inner * square(pair.score);
      all += pair.same * square(pair.p) * pair.var_score;
      pair.moved = moved(pair, lse);
      row.moved += pair.same * pair.moved;
    }
    for (const Pair& pair : row.pairs)
      if (pair.p < 0x1p-24) row.lost += pair.p;
    double n = 0;  // as many errors, if each were independent
    for (const Pair& pair : row.pairs) n += pair.p * pair.same * static_cast<double>(row.pairs.size());
    row.var_sum = square(row.lost) + kSingle * (n / 6 + 4 * square(lse));
    const double added = kSingle * n / 3 + row.var_sum;
    row.var_weights = row.moved + added;
    for (Pair& pair : row.pairs)
      pair.var_p = std::max(0.0, pair.moved * (1 - 2 * pair.p)) + square(pair.p) * row.var_weights;
    const double stored = r.lse > 0 ? r.lse * square(lse) + all - single : 0;
    h.deviation.lse(i, 0) = std::sqrt(single + added + stored + common_variance(row, i) + r.exponentials +
                                      square(8.0 / 12 * 0x1p-23 * h.scale.lse(i, 0)));
  }

  void add_outputs() {
    const Index n = h.v.cols;
    for_each_pair([&](Row& row, Index i, Pair& pair) {
      const double* v = h.v.row(pair.key).data();
      double *value = h.value.out.row(i).data(), *scale = h.scale.out.row(i).data();
      if (!terms.rounding) {
        add(value, scale, pair.p, pair.w, v, n);
      } else {
        const Rounding& r = *terms.rounding;
        const double moved = pair.same * pair.moved, keys = static_cast<double>(row.pairs.size());
        const double rounded =
            square(pair.p) * pair.same * (r.products + r.operands + random_order(keys, 0)) + r.underflow;
        row.mean_v.resize(static_cast<std::size_t>(n));
        add(value, scale, h.deviation.out.row(i).data(), row.mean_v.data(), pair.p, pair.w, moved + rounded,
            partial_sum(keys, 0, pair.same), moved, v, n);
      }
      if (h.dout.rows == 0) return;
      const double* dout = h.dout.row(i).data();
      const bool rounds = terms.rounding && terms.rounding->operands + terms.rounding->factors > 0;
      pair.dout_v = rounds ? dots_and_squares(dout, v, n) : dots(dout, v, n);
    });
  }

  // sum_j V (v - out)^2 = sum_j V v^2 - 2 out mean_v + out^2 sum_j V
  void finish_outputs(const Row& row, Index i) {
    const Rounding& r = *terms.rounding;
    const double own = r.results + row.var_sum;
    for (Index c = 0; c < h.v.cols; ++c) {
      const double out = h.value.out(i, c);
      double& deviation = h.deviation.out(i, c);
      const double mean = row.mean_v.empty() ? 0 : row.mean_v[static_cast<std::size_t>(c)];
      const double variance = std::max(0.0, deviation - 2 * out * mean + square(out) * row.moved);
      deviation = std::sqrt(variance + own * square(out) + r.underflow);
    }
  }

  // The gradient of the scores of one row, ds = softmax_scale P (dP - delta) with delta = sum of P dP.
  void differentiate(Row& row, Index i) {
    const double s = terms.softmax_scale;
    double delta = 0, delta_absolute = 0;
    for (const Pair& pair : row.pairs) {
      delta += pair.p * pair.dout_v.plain;
      delta_absolute += pair.p * pair.dout_v.absolute;
    }
    const double through_out = dots(h.dout.row(i).data(), h.scale.out.row(i).data(), h.dout.cols).absolute;
    for (Pair& pair : row.pairs) {
      pair.ds = s * pair.p * (pair.dout_v.plain - delta);
      pair.z = std::fabs(s) * (pair.w * (pair.dout_v.absolute + delta_absolute) + pair.p * through_out);
    }
    row.delta = delta;
    if (terms.rounding) spread_gradients(row, i, delta);
  }

  void spread_gradients(Row& row, Index i, double delta) {
    const Rounding& r = *terms.rounding;
    const Dots d = dots_and_squares(h.dout.row(i).data(), h.value.out.row(i).data(), h.dout.cols);
    double var_delta =
        r.results * d.squares + (r.inner + row.var_sum) * square(delta) + 4 * kSingle * square(d.absolute);
    for (const Pair& pair : row.pairs)
      var_delta += pair.same * (square(pair.p) * r.products * square(pair.dout_v.plain) +
                                pair.moved * square(pair.dout_v.plain - delta));
    row.var_delta = scale2() * var_delta;
    const double added_q = random_order(static_cast<double>(row.pairs.size()), r.sums);
    const double added_k = random_order(terms.most_rows, r.sums);
    const double same_query = h.repeats->same_query[static_cast<std::size_t>(i)];
    double all = 0;
    for (Pair& pair : row.pairs) {
      const Dots& dp = pair.dout_v;
      const double p2 = scale2() * square(pair.p), ds2 = square(pair.ds), g2 = square(dp.plain - delta);
      const double own = (r.products + 3 * r.inner + r.operands) * ds2 +
                         p2 * (r.inner * square(dp.plain) + 4 * kSingle * square(dp.absolute) +
                               (2 * r.operands + r.factors) * dp.squares) +
                         scale2() * r.underflow * (2 + g2 + square(dp.plain));
      all += own;
      pair.spread_q = pair.same * (own + scale2() * pair.moved * g2 + added_q * ds2);
      pair.spread_k =
          same_query * (own + scale2() * pair.var_p * g2 + square(pair.p) * row.var_delta + added_k * ds2);
      pair.spread_dout =
          same_query * (square(pair.p) * (r.products + r.operands + added_k) + pair.var_p) + r.underflow;
    }
    if (r.inner <= kSingle || row.pairs.empty()) return;
    Pair& largest = *std::ranges::max_element(row.pairs, {}, &Pair::p);
    largest.spread_q += all;
    largest.spread_k += all;
  }

  void add_gradients() {
    const Index d = h.q.cols, n = h.dout.cols;
    const HeadAnswer &value = h.value, &scale = h.scale, &deviation = h.deviation;
    const double sums = terms.rounding ? terms.rounding->sums : 0;
    for_each_pair([&](Row& row, Index i, const Pair& pair) {
      const Index j = pair.key;
      const double *q = h.q.row(i).data(), *k = h.k.row(j).data(), *dout = h.dout.row(i).data();
      if (!terms.rounding) {
        add(value.dq.row(i).data(), scale.dq.row(i).data(), pair.ds, pair.z, k, d);
        add(value.dk.row(j).data(), scale.dk.row(j).data(), pair.ds, pair.z, q, d);
        add(value.dv.row(j).data(), scale.dv.row(j).data(), pair.p, pair.w, dout, n);
        return;
      }
      const double partial =
          partial_sum(terms.most_rows, sums, h.repeats->same_query[static_cast<std::size_t>(i)]);
      row.mean_key.resize(static_cast<std::size_t>(d));
      add(value.dq.row(i).data(), scale.dq.row(i).data(), deviation.dq.row(i).data(), row.mean_key.data(),
          pair.ds, pair.z, pair.spread_q, partial_sum(static_cast<double>(row.pairs.size()), sums, pair.same),
          pair.p, k, d);
      add(value.dk.row(j).data(), scale.dk.row(j).data(), deviation.dk.row(j).data(), pair.ds, pair.z,
          pair.spread_k, partial, q, d);
      add(value.dv.row(j).data(), scale.dv.row(j).data(), deviation.dv.row(j).data(), pair.p, pair.w,
          pair.spread_dout, partial, dout, n);
    });
  }

  void finish_query_gradients(const Row& row, Index i) {
    const Rounding& r = *terms.rounding;
    for (Index c = 0; c < h.q.cols; ++c) {
      const double mean = row.mean_key.empty() ? 0 : row.mean_key[static_cast<std::size_t>(c)];
      double& deviation = h.deviation.dq(i, c);
      deviation = std::sqrt(deviation + row.var_delta * square(mean) +
                            (row.var_weights + r.results) * square(h.value.dq(i, c)) + r.underflow);
    }
  }

  // The variances of two sums over the gradients of keys, by the errors of this tile's rows.
  void add_shared(SharedSums& dk, SharedSums& dv) {
    score_pairs();
    const auto row_at = [&](std::size_t a) { return first + static_cast<Index>(a); };
    for (std::size_t a = 0; a < rows.size(); ++a) {
      weigh(rows[a], row_at(a));
      for (Pair& pair : rows[a].pairs)
        pair.dout_v = dots_and_squares(h.dout.row(row_at(a)).data(), h.v.row(pair.key).data(), h.v.cols);
      differentiate(rows[a], row_at(a));
    }
    for (std::size_t a = 0; a < rows.size(); ++a) {
      const double same_query = h.repeats->same_query[static_cast<std::size_t>(row_at(a))];
      const auto along = [&](const Matrix<const double>& weights, const Matrix<const double>& of) {
        std::vector<double> dotted;
        for (const Pair& pair : rows[a].pairs)
          dotted.push_back(dots(of.row(row_at(a)).data(), weights.row(pair.key).data(), of.cols).plain);
        return dotted;
      };
      dv.variance_a += same_query * shared_by_values(rows[a], along(dv.a, h.dout));
      dv.variance_b += same_query * shared_by_values(rows[a], along(dv.b, h.dout));
      dk.variance_a += same_query * shared_by_keys(rows[a], along(dk.a, h.q));
      dk.variance_b += same_query * shared_by_keys(rows[a], along(dk.b, h.q));
    }
  }

  // Of sum_j dv_j . a_j, with g_j = dout . a_j.
  static double shared_by_values(const Row& row, const std::vector<double>& g) {
    double mean = 0, variance = 0;
    for (std::size_t n = 0; n < g.size(); ++n) mean += row.pairs[n].p * g[n];
    for (std::size_t n = 0; n < g.size(); ++n)
      variance += row.pairs[n].same * row.pairs[n].moved * square(g[n] - mean);
    return variance + row.var_sum * square(mean);
  }

  // Of sum_j dk_j . b_j, with h_j = q . b_j.
  double shared_by_keys(const Row& row, const std::vector<double>& along) const {
    double mean = 0, mean_of_slopes = 0, variance = 0;
    const auto slope = [&](const Pair& pair) { return pair.dout_v.plain - row.delta; };
    for (std::size_t n = 0; n < along.size(); ++n) {
      mean += row.pairs[n].p * along[n];
      mean_of_slopes += row.pairs[n].p * slope(row.pairs[n]) * along[n];
    }
    double own_delta = row.var_delta;  // times softmax_scale^2
    for (std::size_t n = 0; n < along.size(); ++n) {
      const Pair& pair = row.pairs[n];
      const double moved = scale2() * pair.same * pair.moved;
      variance += moved * square(slope(pair) * (along[n] - mean) - mean_of_slopes);
      own_delta -= moved * square(slope(pair));
    }
    return variance + std::max(0.0, own_delta) * square(mean) +
           scale2() * row.var_sum * square(mean_of_slopes);
  }

  void compute() {
    const bool backward = h.dout.rows > 0, spread = terms.rounding.has_value();
    const auto for_each_row = [&](auto body) {
      for (std::size_t a = 0; a < rows.size(); ++a) body(rows[a], first + static_cast<Index>(a));
    };
    score_pairs();
    for_each_row([&](Row& row, Index i) { weigh(row, i); });
    add_outputs();
    if (spread) for_each_row([&](Row& row, Index i) { finish_outputs(row, i); });
    if (!backward) return;
    for_each_row([&](Row& row, Index i) { differentiate(row, i); });
    add_gradients();
    if (spread) for_each_row([&](Row& row, Index i) { finish_query_gradients(row, i); });
  }
};

Tile tile_of(const OracleHead& head, const OracleTerms& terms, Index first,
             const std::vector<std::vector<int>>& keys_of_row) {
  Tile tile{head, terms, first, Rows(keys_of_row.size())};
  for (std::size_t a = 0; a < keys_of_row.size(); ++a) {
    tile.rows[a].pairs.resize(keys_of_row[a].size());
    for (std::size_t n = 0; n < keys_of_row[a].size(); ++n) tile.rows[a].pairs[n].key = keys_of_row[a][n];
  }
  return tile;
}

}  // namespace

void add_shared(const OracleHead& head, const OracleTerms& terms, Index first,
                const std::vector<std::vector<int>>& keys_of_row, SharedSums& dk, SharedSums& dv) {
  tile_of(head, terms, first, keys_of_row).add_shared(dk, dv);
}

double add_rows(const OracleHead& head, const OracleTerms& terms, Index first,
                const std::vector<std::vector<int>>& keys_of_row) {
  Tile tile = tile_of(head, terms, first, keys_of_row);
  tile.compute();
  double common = 0;
  for (std::size_t a = 0; terms.rounding && a < tile.rows.size(); ++a) {
    const bool flat = head.repeats->flat[static_cast<std::size_t>(first) + a];
    const double same = terms.rounding->unit + 0x1p-24 / 8 * static_cast<double>(tile.rows[a].pairs.size());
    common = std::max(common, tile.rows[a].lost + (flat ? same : 0));
  }
  return common;
}

void finish_variances(const Matrix<double>& deviation, const Matrix<double>& value,
                      const Rounding& rounding) {
  for (std::size_t i = 0; i < deviation.data.size(); ++i)
    deviation.data[i] =
        std::sqrt(deviation.data[i] + rounding.results * square(value.data[i]) + rounding.underflow);
}

}  // namespace ringcraft::verify
