// Backward passes as popular write-ups have them: gradients that travel the wrong way or not at all, deltas
// of a single block, averages where sums are meant.
#include <functional>

#include "head.hpp"
#include "support/catch.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

// A ring of contiguous shards over full attention: KV blocks go to the next rank, one hop after every step.
struct Ring {
  explicit Ring(int ranks) : n(ranks), head(4 * ranks, 3, false, 11), pass(forward(head)) {}

  int n;
  Head head;
  Forward pass;

  Positions positions(int rank) const {
    return Sharding{Layout::kContiguous, head.seqlen(), n}.positions(rank);
  }

  // The contribution of the queries of `rank` to the gradients of the keys of `block`, as rows of the block.
  Table part(int rank, int block) const {
    Gradients all(head.seqlen(), 3);
    add_block(all, head, pass.lse, row_deltas(head, pass.out), positions(rank), positions(block));
    Table rows(4, 3);
    for (Index a = 0; a < 4; ++a)
      for (Index c = 0; c < 3; ++c) rows(a, c) = all.dk(4 * block + a, c);
    return rows;
  }

  // dk where each rank ends with the accumulator that has made `hops` hops in this direction (1: with the KV
  // blocks, -1: against them, 0: none).
  Table dk(int direction, int hops) const {
    std::vector<Table> held(static_cast<std::size_t>(n), Table(4, 3));
    for (int t = 0; t < n; ++t) {
      for (int rank = 0; rank < n; ++rank) {
        const Table more = part(rank, (rank - t + n) % n);
        Table& accumulator = held[static_cast<std::size_t>(rank)];
        for (std::size_t i = 0; i < more.numbers.size(); ++i) accumulator.numbers[i] += more.numbers[i];
      }
      if (t >= hops) continue;
      std::vector<Table> moved(held.size());
      for (int rank = 0; rank < n; ++rank)
        moved[static_cast<std::size_t>((rank + direction + n) % n)] = held[static_cast<std::size_t>(rank)];
      held = moved;
    }
    Table whole(head.seqlen(), 3);
    for (int rank = 0; rank < n; ++rank)
      for (Index a = 0; a < 4; ++a)
        for (Index c = 0; c < 3; ++c) whole(4 * rank + a, c) = held[static_cast<std::size_t>(rank)](a, c);
    return whole;
  }

  Table right() const { return gradients(head).dk; }
};

// Sums over all tokens.
std::vector<double> column_sums(const Table& table) {
  std::vector<double> sums(static_cast<std::size_t>(table.cols));
  for (Index i = 0; i < table.rows; ++i)
    for (Index c = 0; c < table.cols; ++c) sums[static_cast<std::size_t>(c)] += table(i, c);
  return sums;
}

}  // namespace

TEST_CASE("gradients that ride with their block are home after N hops") {
  for (const int n : {1, 2, 3, 4, 5}) {
    const Ring ring(n);
    CHECK(relative_error(ring.dk(1, n), ring.right()) <= 1e-13);
  }
}

TEST_CASE("gradients that ride with their block are one rank short after N - 1 hops") {
  for (const int n : {2, 3, 4, 5}) {
    const Ring ring(n);
    CHECK(relative_error(ring.dk(1, n - 1), ring.right()) > 0.1);
  }
}

TEST_CASE("gradients that travel against their block are mixed from three ranks on, whatever the hops") {
  for (const int n : {3, 4, 5}) {
    const Ring ring(n);
    CHECK(relative_error(ring.dk(-1, n - 1), ring.right()) > 0.1);
    CHECK(relative_error(ring.dk(-1, n), ring.right()) > 0.1);
  }
  CHECK(relative_error(Ring(2).dk(-1, 1), Ring(2).right()) > 0.1);
  CHECK(relative_error(Ring(2).dk(-1, 2), Ring(2).right()) <= 1e-13);  // two ranks hide it
}

TEST_CASE("gradients that never travel are wrong on every rank, and sums do not show it") {
  for (const int n : {2, 3, 4}) {
    const Ring ring(n);
    const Table got = ring.dk(0, 0), want = ring.right();
    CHECK(relative_error(got, want) > 0.1);
    for (const double sum : column_sums(got)) CHECK(std::fabs(sum) <= 1e-12);  // as they must be
    for (const double sum : column_sums(want)) CHECK(std::fabs(sum) <= 1e-12);
  }
}

TEST_CASE("delta from the output of one block gives wrong dq and dk and a right dv") {
  const Head head(12, 3, false, 12);
  const Forward pass = forward(head);
  const Gradients want = gradients(head);
  Gradients got(12, 3);
  for (int block = 0; block < 3; ++block) {
    const Positions keys = Sharding{Layout::kContiguous, 12, 3}.positions(block);
    Table block_out(12, 3);  // the block's share of out: sum of P v over its keys
    for (Position i = 0; i < 12; ++i)
      for (const Position j : keys)
        for (Index c = 0; c < 3; ++c)
          block_out(i, c) +=
              std::exp(head.score(i, j) - pass.lse[static_cast<std::size_t>(i)]) * head.v(j, c);
    add_block(got, head, pass.lse, row_deltas(head, block_out), everything(12), keys);
  }
  CHECK(relative_error(got.dq, want.dq) > 0.05);
  CHECK(relative_error(got.dk, want.dk) > 0.05);
  CHECK(relative_error(got.dv, want.dv) <= 1e-13);
}

TEST_CASE("delta is the sum of P dP, which makes every row of dS add up to 0") {
  const Head head(9, 3, true, 13);
  const Forward pass = forward(head);
  const std::vector<double> delta = row_deltas(head, pass.out);
  for (Position i = 0; i < 9; ++i) {
    double sum = 0, ds = 0;
    for (Position j = 0; j <= i; ++j) {
      const double p = std::exp(head.score(i, j) - pass.lse[static_cast<std::size_t>(i)]);
      double dp = 0;
      for (Index c = 0; c < 3; ++c) dp += head.dout(i, c) * head.v(j, c);
      sum += p * dp;
      ds += p * (dp - delta[static_cast<std::size_t>(i)]);
    }
    CHECK(std::fabs(sum - delta[static_cast<std::size_t>(i)]) <= 1e-13);
    CHECK(std::fabs(ds) <= 1e-13);
  }
}

// A weight that scales out: its gradient is the sum of delta over the tokens of the loss.
TEST_CASE("weight gradients of a summed loss are summed over ranks, not averaged") {
  const Head head(16, 3, true, 14);
  const std::vector<double> delta = row_deltas(head, forward(head).out);
  double whole = 0, summed = 0;
  for (const double d : delta) whole += d;
  for (int rank = 0; rank < 4; ++rank)
    for (const Position p : Sharding{Layout::kZigzag, 16, 4}.positions(rank))
      summed += delta[static_cast<std::size_t>(p)];
  CHECK(std::fabs(summed - whole) <= 1e-13 * 16);
  CHECK(summed / 4 / whole == Approx(0.25));  // the average is N times too small
}

TEST_CASE("the mean of per-rank means is not the mean where ranks have unequal numbers of labels") {
  const Head head(16, 3, true, 17);
  const std::vector<double> delta = row_deltas(head, forward(head).out);
  const auto both = [&](Layout layout, Position first_label) {
    double mean_of_means = 0, sum = 0;
    for (int rank = 0; rank < 4; ++rank) {
      double local = 0;
      int labels = 0;
      for (const Position p : Sharding{layout, 16, 4}.positions(rank))
        if (p >= first_label) {
          local += delta[static_cast<std::size_t>(p)];
          ++labels;
        }
      sum += local;
      if (labels > 0) mean_of_means += local / labels / 4;
    }
    return std::pair(mean_of_means, sum / static_cast<double>(16 - first_label));
  };
  for (const Layout layout : kLayouts) {
    CAPTURE(name_of(layout));
    const auto [equal, mean] = both(layout, 0);
    CHECK(equal == Approx(mean));
    const auto [uneven, masked_mean] = both(layout, 5);  // labels from position 5 on
    CHECK(std::fabs(uneven - masked_mean) > 0.01 * std::fabs(masked_mean));
  }
}
