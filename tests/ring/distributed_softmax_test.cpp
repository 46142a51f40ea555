// The distributed softmax as an all-reduce and as a chain, against safe softmax of the whole row on one
// device.
#include "ringcraft/ring/distributed_softmax.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "ringcraft/comm/collectives.hpp"
#include "ringcraft/comm/threads.hpp"
#include "ringcraft/core/random.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

using namespace ringcraft;

namespace {

template <class T>
constexpr T kHidden = -std::numeric_limits<T>::infinity();

// Rows of scores, dealt to ranks by columns; shards may be empty.
template <class T>
struct Dealt {
  Index rows = 0;
  std::vector<Index> columns;         // per rank
  std::vector<std::vector<T>> shard;  // per rank, [rows, columns]

  int ranks() const { return static_cast<int>(columns.size()); }
  Matrix<const T> scores(int rank) const {
    const auto r = static_cast<std::size_t>(rank);
    return {shard[r], rows, columns[r]};
  }
  // Row i of all ranks.
  std::vector<T> whole(Index i) const {
    std::vector<T> row;
    for (int rank = 0; rank < ranks(); ++rank)
      for (const T score : scores(rank).row(i)) row.push_back(score);
    return row;
  }
};

// Kinds of rows: ordinary, hidden everywhere, hidden on some ranks, far from 0, rank 0 far above the others.
template <class T>
Dealt<T> random_dealt(Random& random, int ranks, Index rows) {
  Dealt<T> dealt;
  dealt.rows = rows;
  for (int rank = 0; rank < ranks; ++rank) {
    dealt.columns.push_back(random.integer(0, 5));
    auto& shard = dealt.shard.emplace_back();
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < dealt.columns.back(); ++j) {
        const double shift = i % 6 == 3 ? -2e4 : i % 6 == 4 ? 2e4 : i % 6 == 5 && rank == 0 ? 900 : 0;
        const bool hidden = i % 6 == 1 || (i % 6 == 2 && rank % 2 == 0) || random.integer(0, 9) == 0;
        shard.push_back(hidden ? kHidden<T> : static_cast<T>(shift + 2 * random.normal()));
      }
  }
  return dealt;
}

template <class T>
struct Result {
  std::vector<std::vector<T>> weights;               // per rank
  std::vector<std::vector<SoftmaxState<T>>> states;  // per rank
  RanksReport report;
};

template <class T>
using Form = std::function<std::vector<SoftmaxState<T>>(Communicator&, Matrix<const T>, Matrix<T>)>;

// The chain, with the weights that follow from its states.
template <class T>
std::vector<SoftmaxState<T>> chained(Communicator& comm, Matrix<const T> scores, Matrix<T> weights) {
  std::vector<SoftmaxState<T>> states;
  for (Index i = 0; i < scores.rows; ++i) states.push_back(online_scan(scores.row(i)));
  chain_states<T>(comm, states);
  for (Index i = 0; i < scores.rows; ++i) {
    const auto [max, sum] = states[static_cast<std::size_t>(i)];
    for (Index j = 0; j < scores.cols; ++j)
      weights(i, j) = max == kHidden<T> ? T(0) : std::exp(scores(i, j) - max) / sum;
  }
  return states;
}

template <class T>
Result<T> run(const Form<T>& form, const Dealt<T>& dealt, SwitchboardOptions options = {}) {
  const auto ranks = static_cast<std::size_t>(dealt.ranks());
  Result<T> result{dealt.shard, std::vector<std::vector<SoftmaxState<T>>>(ranks), {}};
  result.report = run_ranks(
      dealt.ranks(),
      [&](ThreadCommunicator& comm) {
        const auto r = static_cast<std::size_t>(comm.rank());
        std::ranges::fill(result.weights[r], std::numeric_limits<T>::quiet_NaN());
        result.states[r] =
            form(comm, dealt.scores(comm.rank()), {result.weights[r], dealt.rows, dealt.columns[r]});
      },
      options);
  return result;
}

template <class T>
void check_close(T got, T want, T tolerance) {
  CAPTURE(got, want);
  const bool close = got == want || std::abs(got - want) <= tolerance * std::abs(want);
  CHECK(close);
}

template <class T>
void check_right(const Dealt<T>& dealt, const Result<T>& result, T tolerance) {
  for (Index i = 0; i < dealt.rows; ++i) {
    const std::vector<T> scores = dealt.whole(i);
    std::vector<T> weights(scores.size());
    safe_softmax<T>(scores, weights);
    const SoftmaxState<T> state = online_scan<T>(scores);
    std::size_t at = 0;
    for (int rank = 0; rank < dealt.ranks(); ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      CAPTURE(i, rank);
      CHECK(result.states[r][static_cast<std::size_t>(i)].max == state.max);
      check_close(result.states[r][static_cast<std::size_t>(i)].sum, state.sum, tolerance);
      for (Index j = 0; j < dealt.columns[r]; ++j, ++at)
        check_close(result.weights[r][static_cast<std::size_t>(i * dealt.columns[r] + j)], weights[at],
                    tolerance);
    }
  }
}

template <class T>
bool same_bits(const std::vector<SoftmaxState<T>>& a, const std::vector<SoftmaxState<T>>& b) {
  return std::ranges::equal(std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
}

}  // namespace

TEMPLATE_TEST_CASE("both forms agree with safe softmax of the whole row", "", float, double) {
  const auto tolerance = static_cast<TestType>(sizeof(TestType) == 4 ? 2e-6 : 2e-15);
  Random random(301);
  for (int n = 1; n <= 8; ++n)
    for (const Index rows : {0, 1, 12})
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        CAPTURE(n, rows, seed);
        const Dealt<TestType> dealt = random_dealt<TestType>(random, n, rows);
        for (const Form<TestType>& form :
             {Form<TestType>(distributed_softmax<TestType>), Form<TestType>(chained<TestType>)})
          check_right(dealt, run(form, dealt, {.delivery_seed = seed}), tolerance);
      }
}

TEST_CASE("the all-reduce has the same bits on every rank, the chain need not") {
  Random random(302);
  int chains_apart = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const Dealt<double> dealt = random_dealt<double>(random, 3 + trial % 4, 12);
    const Result<double> reduced = run<double>(distributed_softmax<double>, dealt),
                         chain = run<double>(chained<double>, dealt);
    for (std::size_t r = 1; r < reduced.states.size(); ++r) {
      CHECK(same_bits(reduced.states[r], reduced.states[0]));
      chains_apart += same_bits(chain.states[r], chain.states[0]) ? 0 : 1;
    }
  }
  CHECK(chains_apart > 0);
}

TEST_CASE("both forms have the same bits under every delivery seed") {
  Random random(303);
  const Dealt<double> dealt = random_dealt<double>(random, 5, 12);
  for (const Form<double>& form :
       {Form<double>(distributed_softmax<double>), Form<double>(chained<double>)}) {
    const Result<double> expected = run(form, dealt);
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      const Result<double> result = run(form, dealt, {.delivery_seed = seed});
      for (std::size_t r = 0; r < expected.states.size(); ++r)
        CHECK(same_bits(result.states[r], expected.states[r]));
    }
  }
}

TEST_CASE("scores and weights may be the same memory") {
  Random random(304);
  const Dealt<double> dealt = random_dealt<double>(random, 4, 12);
  const Result<double> apart = run<double>(distributed_softmax<double>, dealt);
  Dealt<double> together = dealt;
  run_ranks(4, [&](ThreadCommunicator& comm) {
    const auto r = static_cast<std::size_t>(comm.rank());
    const Matrix<double> memory{together.shard[r], together.rows, together.columns[r]};
    distributed_softmax<double>(comm, memory, memory);
  });
  CHECK(together.shard == apart.weights);
}

TEST_CASE("two numbers travel for each row, in N - 1 hops or a logarithm of phases") {
  Random random(305);
  for (int n = 1; n <= 9; ++n)
    for (const Index rows : {1, 6}) {
      const Dealt<double> dealt = random_dealt<double>(random, n, rows);
      const SwitchboardOptions counting{.link = {.alpha = 1}};
      const Result<double> reduced = run<double>(distributed_softmax<double>, dealt, counting),
                           chain = run<double>(chained<double>, dealt, counting);
      const Index bytes = (n - 1) * rows * 16;
      CAPTURE(n, rows);
      for (std::size_t r = 0; r < reduced.states.size(); ++r) {
        CHECK(reduced.report.traffic[r] == Traffic{bytes, bytes, gather_phases(n)});
        CHECK(chain.report.traffic[r] == Traffic{bytes, bytes, n - 1});
        CHECK(reduced.report.clock[r] == gather_phases(n));
        CHECK(chain.report.clock[r] == n - 1);
      }
    }
}

TEST_CASE("ranks that disagree about the number of rows get an error") {
  for (const Form<double>& form : {Form<double>(distributed_softmax<double>), Form<double>(chained<double>)})
    testing::check_refused(
        [&] {
          run_ranks(2, [&](ThreadCommunicator& comm) {
            const Index rows = comm.rank() + 1;
            std::vector<double> scores(static_cast<std::size_t>(rows));
            form(comm, Matrix<const double>{scores, rows, 1}, {scores, rows, 1});
          });
        },
        "which expects", Code::kWrongAnswer);
}
