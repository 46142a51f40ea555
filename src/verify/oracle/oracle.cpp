// Evaluates the oracle's mask, and distributes its work over heads and threads; oracle_rows.cpp has the
// arithmetic.
#include "verify/oracle/oracle.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>
#include <numeric>
#include <thread>

#include "ringcraft/core/error.hpp"
#include "verify/oracle/oracle_detail.hpp"

namespace ringcraft::verify {

bool visible(const Mask& mask, Position q, Position k) {
  if (mask.left != kNoLimit && q - k > mask.left) return false;
  if (mask.right != kNoLimit && k - q > mask.right) return false;
  const auto sequence_of = [&](Position p) {
    return std::upper_bound(mask.cu_seqlens.begin(), mask.cu_seqlens.end(), p) - mask.cu_seqlens.begin();
  };
  return mask.cu_seqlens.empty() || sequence_of(q) == sequence_of(k);
}

Alike larger(const Alike& a, const Alike& b) {
  const auto larger_of = [](const SharedErrors& one, const SharedErrors& other) {
    return SharedErrors{std::max(one.factor, other.factor), std::max(one.shift, other.shift)};
  };
  return {std::max(a.factor, b.factor), std::max(a.rows, b.rows), larger_of(a.dk, b.dk),
          larger_of(a.dv, b.dv)};
}

BlockProblem whole(const Problem& problem) {
  const Shape& s = problem.shape;
  std::vector<Position> all(static_cast<std::size_t>(s.seqlen));
  std::iota(all.begin(), all.end(), Position{0});
  return {s.batch, s.heads, s.kv_heads, s.head_dim, problem.mask, all, all, problem.softmax_scale};
}

namespace {

constexpr Index kRowsPerTile = 8;  // rows whose vectors stay in cache while a few keys are processed
constexpr Index kMostTiles = 32;   // from which the errors that rows share are estimated

// The keys that the rows of a tile see; the same for every head.
std::vector<std::vector<int>> visible_keys(const BlockProblem& p, Index first, Index count) {
  std::vector<std::vector<int>> rows(static_cast<std::size_t>(count));
  for (std::size_t a = 0; a < rows.size(); ++a)
    for (std::size_t b = 0; b < p.keys.size(); ++b)
      if (visible(p.mask, p.queries[static_cast<std::size_t>(first) + a], p.keys[b]))
        rows[a].push_back(static_cast<int>(b));
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

// The head of a buffer, or an empty matrix if the buffer is empty (no gradients requested).
template <class B>
auto head_or_none(B& buffer, Index batch, Index head) {
  using T = std::conditional_t<std::is_const_v<B>, const double, double>;
  return buffer.empty() ? Matrix<T>{} : Matrix<T>(head_of<double>(buffer, batch, head));
}

HeadAnswer head_answer(Answer& a, Index batch, Index head, Index kv_head) {
  return {head_or_none(a.out, batch, head), head_or_none(a.lse, batch, head), head_or_none(a.dq, batch, head),
          head_or_none(a.dk, batch, kv_head), head_or_none(a.dv, batch, kv_head)};
}

// Counts finished query heads of tiles, from all threads; one thread reports. Once a thread has failed, the
// others stop at their next tile.
class Progress {
 public:
  Progress(const std::function<void(double)>& tell, double all) : tell_(tell), all_(all) {}
  void step(bool teller) {
    if (failed_) throw Error("the oracle was stopped by another of its threads", Code::kWrongAnswer);
    ++done_;
    if (teller) tell();
  }
  void tell() const {
    if (tell_) tell_(static_cast<double>(done_) / all_);
  }
  bool has_failed() const { return failed_; }
  bool is_first_failure() { return !failed_.exchange(true); }

 private:
  const std::function<void(double)>& tell_;
  double all_;
  std::atomic<Index> done_{0};
  std::atomic<bool> failed_ = false;
};

// The whole computation: problem, tensors and options.
struct Work {
  const BlockProblem& problem;
  const Inputs& in;
  OracleTerms terms;
  Oracle& to;
};

// The sums of errors of a gradient of keys of one head, with their weights in memory of its own.
class WeighedErrors {
 public:
  WeighedErrors(const Matrix<double>& value, const Matrix<double>& deviation)
      : a_(value.data.size()), b_(value.data.size()) {
    for (std::size_t i = 0; i < a_.size(); ++i) {
      const double unit = deviation.data[i], y = unit > 0 ? value.data[i] / unit : 0;
      a_[i] = unit > 0 ? y / unit : 0;
      b_[i] = unit > 0 ? 1 / unit : 0;
      length_ += y * y;
      elements_ += unit > 0 ? 1 : 0;
    }
    sums = {{a_, value.rows, value.cols}, {b_, value.rows, value.cols}};
  }
  WeighedErrors(const WeighedErrors&) = delete;
  // Their variances in parts of those of independent rows, once this share of the queries is added.
  SharedErrors compared(double share) const {
    const double width = static_cast<double>(sums.a.cols);
    const auto ratio = [&](double variance, double independent) {
      const double times = variance / share / independent;
      return std::isfinite(times) ? std::max(1.0, times) : 1.0;
    };
    return {ratio(sums.variance_a, width * length_), ratio(sums.variance_b, width * elements_)};
  }

  SharedSums sums;

 private:
  std::vector<double> a_, b_;
  double length_ = 0, elements_ = 0;
};

// Computes one (batch, kv_head) with all its query heads, and is the only writer of its dk and dv. Returns
// the largest C of its rows, and what its dk and dv share.
Alike compute_group(const Work& work, Index batch, Index kv_head, Progress& progress, bool teller) {
  const BlockProblem& p = work.problem;
  const Index group = p.heads / p.kv_heads, queries = static_cast<Index>(p.queries.size());
  std::vector<Repeats> repeats(static_cast<std::size_t>(p.heads));
  if (work.terms.rounding)
    for (Index head = kv_head * group; head < (kv_head + 1) * group; ++head)
      repeats[static_cast<std::size_t>(head)] =
          repeats_of(head_or_none(work.in.q, batch, head), head_or_none(work.in.k, batch, kv_head));
  const auto of_head = [&](Index head) {
    return OracleHead{head_or_none(work.in.q, batch, head),
                      head_or_none(work.in.k, batch, kv_head),
                      head_or_none(work.in.v, batch, kv_head),
                      head_or_none(work.in.dout, batch, head),
                      head_answer(work.to.value, batch, head, kv_head),
                      head_answer(work.to.scale, batch, head, kv_head),
                      head_answer(work.to.deviation, batch, head, kv_head),
                      &repeats[static_cast<std::size_t>(head)]};
  };
  const auto keys_from = [&](Index first) {
    return visible_keys(p, first, std::min(kRowsPerTile, queries - first));
  };
  Alike alike;
  for (Index first = 0; first < queries; first += kRowsPerTile) {
    const auto keys = keys_from(first);
    for (Index head = kv_head * group; head < (kv_head + 1) * group; ++head)
      alike.factor = std::max(alike.factor, add_rows(of_head(head), work.terms, first, keys));
    progress.step(teller);
  }
  if (!work.terms.rounding) return alike;
  const HeadAnswer value = head_answer(work.to.value, batch, 0, kv_head),
                   deviation = head_answer(work.to.deviation, batch, 0, kv_head);
  finish_variances(deviation.dk, value.dk, *work.terms.rounding);
  finish_variances(deviation.dv, value.dv, *work.terms.rounding);
  if (value.dk.rows == 0 || queries == 0) return alike;
  WeighedErrors dk(value.dk, deviation.dk), dv(value.dv, deviation.dv);
  const Index tiles = (queries + kRowsPerTile - 1) / kRowsPerTile,
              step = (tiles + kMostTiles - 1) / kMostTiles;
  Index used = 0;
  for (Index tile = 0; tile < tiles; tile += step, ++used) {
    const auto keys = keys_from(tile * kRowsPerTile);
    for (Index head = kv_head * group; head < (kv_head + 1) * group; ++head)
      add_shared(of_head(head), work.terms, tile * kRowsPerTile, keys, dk.sums, dv.sums);
  }
  const double share = static_cast<double>(used) / static_cast<double>(tiles);
  alike.dk = dk.compared(share), alike.dv = dv.compared(share);
  return alike;
}

// Refuses a scale that has overflowed: it would let every answer pass.
void require_no_overflow(const Oracle& oracle) {
  for (const Answer* answer : {&oracle.value, &oracle.scale, &oracle.deviation})
    for (const auto& [name, tensor] : named(*answer)) {
      if (tensor.empty()) continue;
      for (const double x : tensor.values<double>())
        if (!std::isfinite(x) && !(name == "lse" && x == -std::numeric_limits<double>::infinity()))
          throw Error("inputs", "numbers whose attention can be judged in double",
                      "an overflow in " + std::string(name), "scale the inputs down");
    }
}

}  // namespace

Oracle oracle(const BlockProblem& problem, const Inputs& inputs, const OracleOptions& options) {
  require_inputs(problem.q_extents(), problem.kv_extents(), inputs);
  require_finite(inputs);
  const Inputs in = converted(inputs, DType::kFloat64);
  const bool backward = in.has_backward();
  Oracle result{zero_answer(problem, backward), zero_answer(problem, backward)};
  if (options.rounding) result.deviation = zero_answer(problem, backward);
  const Index groups = problem.batch * problem.kv_heads, queries = static_cast<Index>(problem.queries.size());
  const Work all{problem,
                 in,
                 {problem.softmax_scale, options.rounding,
                  static_cast<double>(queries * (problem.heads / problem.kv_heads))},
                 result};
  Progress progress(options.progress,
                    static_cast<double>(groups * ((queries + kRowsPerTile - 1) / kRowsPerTile)));
  std::atomic<Index> next{0};
  std::vector<Alike> alike(static_cast<std::size_t>(groups));
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(std::max(options.threads, 1)));
  const auto guarded = [&](std::exception_ptr& failure, const auto& act) {
    try {
      act();
    } catch (...) {
      if (progress.is_first_failure()) failure = std::current_exception();
    }
  };
  const auto work = [&](std::exception_ptr& failure) {
    guarded(failure, [&] {
      for (Index g = next++; g < groups; g = next++)
        alike[static_cast<std::size_t>(g)] = compute_group(all, g / problem.kv_heads, g % problem.kv_heads,
                                                           progress, &failure == failures.data());
    });
  };
  {
    std::atomic<std::size_t> running = failures.size() - 1;  // of the other threads
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < failures.size(); ++t)
      others.emplace_back([&, t] {
        work(failures[t]);
        --running;
      });
    work(failures[0]);
    // This thread, which may be told to stop, waits with them.
    while (running > 0 && !progress.has_failed()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      guarded(failures[0], [&] { progress.tell(); });
    }
  }
  for (const auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
  if (groups > 0 && options.rounding) {
    result.alike.rows = rows_for_each_unlike(in.q);
    for (const Alike& each : alike) result.alike = larger(result.alike, each);
  }
  require_no_overflow(result);
  return result;
}

Oracle oracle(const Problem& problem, const Inputs& inputs, const OracleOptions& options) {
  validate(problem);
  return oracle(whole(problem), inputs, options);
}

}  // namespace ringcraft::verify
