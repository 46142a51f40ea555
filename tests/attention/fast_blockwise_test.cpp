// The fast kernels against dense attention: sizes around every tile and panel, all masks, rows without a key;
// the same bits wherever the tensors lie.
#include "ringcraft/attention/fast/fast_blockwise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/none.hpp"
#include "support/one_head.hpp"

using namespace ringcraft;
using testing::kNone;
using namespace ringcraft::testing;

namespace {

template <class T>
constexpr double kTolerance = std::is_same_v<T, double> ? 1e-13 : 1e-4;

template <class T>
void check_close(const Result<T>& a, const Result<T>& b, double tolerance) {
  CHECK(difference<T>(a.out, b.out) <= tolerance);
  CHECK(difference<T>(a.lse, b.lse) <= tolerance);
  CHECK(difference<T>(a.dq, b.dq) <= tolerance);
  CHECK(difference<T>(a.dk, b.dk) <= tolerance);
  CHECK(difference<T>(a.dv, b.dv) <= tolerance);
}

template <class T>
bool identical(const Result<T>& a, const Result<T>& b) {
  return a.out == b.out && a.lse == b.lse && a.dq == b.dq && a.dk == b.dk && a.dv == b.dv;
}

// A head of these extents; rows and keys are drawn from a sequence that is long enough for both.
template <class T>
Head<T> head_of_size(Random& random, Index rows, Index keys, Index dim, const Mask& mask) {
  Head<T> head{rows, keys, dim, {}, {}, {}, {}, {}, static_cast<T>(1 / std::sqrt(static_cast<double>(dim)))};
  head.q = normal<T>(random, rows * dim), head.k = normal<T>(random, keys * dim);
  head.v = normal<T>(random, keys * dim), head.dout = normal<T>(random, rows * dim);
  const Position seqlen = std::max(rows, keys);
  const auto positions = [&](Index count) {  // evenly spread, increasing
    std::vector<Position> list;
    for (Index i = 0; i < count; ++i) list.push_back(i * seqlen / count);
    return list;
  };
  head.ranges = ranges_of(mask, seqlen, positions(rows), positions(keys));
  return head;
}

// Copies of the head's tensors at an offset into memory full of NaN, and room for the results inside of
// memory that must stay as it is.
template <class T>
Result<T> fast_at(const Head<T>& head, std::size_t offset, bool& untouched) {
  constexpr std::size_t kRoom = 64;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const auto inside = [&](const std::vector<T>& from) {
    std::vector<T> memory(from.size() + kRoom, nan);
    std::ranges::copy(from, memory.begin() + static_cast<std::ptrdiff_t>(offset));
    return memory;
  };
  const auto view = [&](auto& memory, Index rows, Index cols) {
    using Element = std::remove_reference_t<decltype(memory[0])>;
    return Matrix<Element>{std::span(memory).subspan(offset, static_cast<std::size_t>(rows * cols)), rows,
                           cols};
  };
  const std::vector<T> q = inside(head.q), k = inside(head.k), v = inside(head.v), dout = inside(head.dout);
  const std::vector<T> row(static_cast<std::size_t>(head.rows));
  std::vector<T> out = inside(head.q), max = inside(row), sum = inside(row),
                 dq = inside(std::vector<T>(head.q.size())), dk = inside(std::vector<T>(head.k.size())),
                 dv = inside(std::vector<T>(head.k.size()));
  const Partial<T> acc{view(out, head.rows, head.dim), view(max, head.rows, 1).data,
                       view(sum, head.rows, 1).data};
  set_identity(acc);
  fast_forward<T>(view(q, head.rows, head.dim), view(k, head.keys, head.dim), view(v, head.keys, head.dim),
                  head.ranges, head.scale, acc);
  finish(acc);
  std::vector<T> delta(row.size());
  row_delta<T>(acc.out, view(dout, head.rows, head.dim), delta);
  fast_backward<T>(view(q, head.rows, head.dim), view(k, head.keys, head.dim), view(v, head.keys, head.dim),
                   view(dout, head.rows, head.dim), acc.max, delta, head.ranges, head.scale,
                   view(dq, head.rows, head.dim), view(dk, head.keys, head.dim),
                   view(dv, head.keys, head.dim));
  const auto taken = [&](const std::vector<T>& memory, std::size_t count) {
    const auto begin = memory.begin() + static_cast<std::ptrdiff_t>(offset),
               end = begin + static_cast<std::ptrdiff_t>(count);
    const auto is_nan = [](T x) { return std::isnan(x); };
    untouched =
        untouched && std::all_of(memory.begin(), begin, is_nan) && std::all_of(end, memory.end(), is_nan);
    return std::vector<T>(begin, end);
  };
  return {taken(out, head.q.size()), taken(max, row.size()), taken(dq, head.q.size()),
          taken(dk, head.k.size()), taken(dv, head.k.size())};
}

const std::vector<Mask> kMasks{full_mask(), causal_mask(), window_mask(37), {.left = 5, .right = 60}};

}  // namespace

TEMPLATE_TEST_CASE("fast equals dense on random heads", "", float, double) {
  Random random(191);
  int blind_rows = 0;
  for (int trial = 0; trial < 300; ++trial) {
    CAPTURE(trial);
    const Head<TestType> head = random_head<TestType>(random);
    const auto got = fast(head);
    check_close(got, dense(head), kTolerance<TestType>);
    for (Index i = 0; i < head.rows; ++i) {
      const auto a = static_cast<std::size_t>(i);
      if (head.ranges.begin[a] < head.ranges.end[a]) continue;
      ++blind_rows;
      CHECK(got.lse[a] == kNone<TestType>);
      for (Index c = 0; c < head.dim; ++c) {
        CHECK(got.out[static_cast<std::size_t>(i * head.dim + c)] == 0);
        CHECK(got.dq[static_cast<std::size_t>(i * head.dim + c)] == 0);
      }
    }
  }
  CHECK(blind_rows > 50);
}

TEMPLATE_TEST_CASE("fast equals dense at sizes around tiles and panels", "", float, double) {
  struct Size {
    Index rows, keys, dim;
  };
  const Size sizes[] = {{1, 1, 1},      {1, 700, 3},    {700, 1, 3},   {95, 511, 16},
                        {96, 512, 15},  {97, 513, 17},  {192, 256, 8}, {193, 257, 31},
                        {191, 255, 33}, {300, 130, 64}, {40, 600, 80}, {97, 129, 127},
                        {98, 66, 128},  {101, 65, 130}, {33, 63, 200}, {288, 1030, 5}};
  Random random(192);
  for (const Size& s : sizes)
    for (const Mask& mask : kMasks) {
      CAPTURE(s.rows, s.keys, s.dim, described(mask));
      const Head<TestType> head = head_of_size<TestType>(random, s.rows, s.keys, s.dim, mask);
      check_close(fast(head), dense(head), 10 * kTolerance<TestType>);
    }
}

TEMPLATE_TEST_CASE("the maximum of a row is found wherever it stands", "", float, double) {
  Random random(194);
  constexpr Index kKeys = 200, kDim = 8;
  for (Index hot = 0; hot < kKeys; ++hot) {
    CAPTURE(hot);
    Head<TestType> head = head_of_size<TestType>(random, 1, kKeys, kDim, full_mask());
    // A score whose exp is infinite, unless it is subtracted first.
    const double score = std::is_same_v<TestType, double> ? 1000 : 200;
    double square = 0;
    for (const TestType x : head.q) square += static_cast<double>(x * x);
    for (std::size_t d = 0; d < static_cast<std::size_t>(kDim); ++d)
      head.k[static_cast<std::size_t>(hot * kDim) + d] =
          static_cast<TestType>(head.q[d] * score / (square * static_cast<double>(head.scale)));
    check_close(fast(head), dense(head), 100 * kTolerance<TestType>);
  }
}

TEST_CASE("hot scores stay finite and close to dense") {
  Random random(193);
  for (int trial = 0; trial < 60; ++trial) {
    const Head<double> head =
        random_head<double>(random, trial % 2 == 0 ? 10 : 100);  // scores up to about 3e4
    check_close(fast(head), dense(head), trial % 2 == 0 ? 1e-11 : 1e-8);
  }
}

TEST_CASE("the sum is rescaled when the maximum grows, and is left alone when it does not") {
  // Scores rise, fall or rise to the middle along 1300 keys: tile after tile has a new maximum, or none has.
  Random random(194);
  for (const int shape : {0, 1, 2}) {
    Head<double> head = head_of_size<double>(random, 5, 1300, 4, full_mask());
    for (Index i = 0; i < head.rows; ++i)
      head.q[static_cast<std::size_t>(4 * i)] = 1 + static_cast<double>(i);
    for (Index j = 0; j < head.keys; ++j) {
      const double at = static_cast<double>(j) / static_cast<double>(head.keys);
      head.k[static_cast<std::size_t>(4 * j)] = 400 * (shape == 0   ? at
                                                       : shape == 1 ? 1 - at
                                                                    : -std::fabs(at - 0.5));
    }
    check_close(fast(head), dense(head), 1e-11);
  }
}

TEST_CASE("a fast forward pass continues from any state") {
  Random random(195);
  for (const Index cut : {1, 16, 100, 260, 299}) {
    const Head<double> head = head_of_size<double>(random, 120, 300, 20, causal_mask());
    std::vector<double> out(head.q.size()), max(static_cast<std::size_t>(head.rows)), sum(max.size());
    const Partial<double> acc{{out, head.rows, head.dim}, max, sum};
    set_identity(acc);
    for (const auto& [first, count] : {std::pair{Index{0}, cut}, std::pair{cut, head.keys - cut}}) {
      KeyRanges ranges = head.ranges;
      for (auto* list : {&ranges.begin, &ranges.end})
        for (int& key : *list) key = std::clamp(key - static_cast<int>(first), 0, static_cast<int>(count));
      fast_forward<double>(head.queries(), head.key_matrix().slice(first, count),
                           head.values().slice(first, count), ranges, head.scale, acc);
    }
    finish(acc);
    const auto expected = dense(head);
    CHECK(difference<double>(out, expected.out) <= 1e-13);
    CHECK(difference<double>(max, expected.lse) <= 1e-13);
  }
}

TEST_CASE("a fast backward pass adds to the gradients that it gets") {
  Random random(196);
  const Head<double> head = head_of_size<double>(random, 130, 290, 12, window_mask(50));
  const auto once = fast(head);
  const auto delta = delta_of(head, once.out);
  auto twice = once;
  fast_backward<double>(head.queries(), head.key_matrix(), head.values(), head.upstream(), once.lse, delta,
                        head.ranges, head.scale, {twice.dq, head.rows, head.dim},
                        {twice.dk, head.keys, head.dim}, {twice.dv, head.keys, head.dim});
  auto doubled = once;
  for (auto* numbers : {&doubled.dq, &doubled.dk, &doubled.dv})
    for (double& x : *numbers) x *= 2;
  check_close(twice, doubled, 1e-13);
}

TEST_CASE("keys that no row sees leave the state bitwise alone and have gradients of zero") {
  Random random(197);
  Head<double> head = head_of_size<double>(random, 100, 70, 6, full_mask());
  head.ranges.begin.assign(head.ranges.begin.size(), 12);
  head.ranges.end.assign(head.ranges.end.size(), 12);
  std::vector<double> out = normal<double>(random, head.rows * head.dim), max(100, 1.5), sum(100, 2.5);
  const auto before = out;
  fast_forward<double>(head.queries(), head.key_matrix(), head.values(), head.ranges, head.scale,
                       {{out, head.rows, head.dim}, max, sum});
  CHECK(out == before);
  CHECK(max == std::vector<double>(100, 1.5));
  CHECK(sum == std::vector<double>(100, 2.5));

  head.ranges.end.assign(head.ranges.end.size(), 50);  // all see 12 to 49
  const auto result = fast(head);
  for (Index j = 0; j < head.keys; ++j)
    for (Index c = 0; c < head.dim; ++c) {
      const auto at = static_cast<std::size_t>(j * head.dim + c);
      CHECK((result.dk[at] == 0) == (j < 12 || j >= 50));
      CHECK((result.dv[at] == 0) == (j < 12 || j >= 50));
    }
}

TEST_CASE("masked keys change no bit of a row") {
  Random random(198);
  const Head<double> head = head_of_size<double>(random, 200, 200, 10, causal_mask());
  const auto before = fast(head);
  for (const Index key : {0, 15, 16, 100, 199}) {
    Head<double> other = head;
    for (Index c = 0; c < head.dim; ++c) {
      other.k[static_cast<std::size_t>(key * head.dim + c)] += 3;
      other.v[static_cast<std::size_t>(key * head.dim + c)] -= 5;
    }
    const auto after = fast(other);
    for (Index i = 0; i < head.rows; ++i) {
      const auto from = static_cast<std::size_t>(i * head.dim);
      const auto count = static_cast<std::size_t>(head.dim);
      const bool same = std::ranges::equal(std::span(before.out).subspan(from, count),
                                           std::span(after.out).subspan(from, count)) &&
                        before.lse[static_cast<std::size_t>(i)] == after.lse[static_cast<std::size_t>(i)];
      CHECK(same == (i < key));
    }
  }
}

TEST_CASE("NaN in one query poisons its own row and no other, on the fast kernels") {
  Random random(199);
  Head<double> head = head_of_size<double>(random, 9, 40, 3, full_mask());
  head.q[3 * 4] = std::nan("");
  const auto result = fast(head);
  for (std::size_t row = 0; row < 9; ++row) {
    CAPTURE(row);
    CHECK(std::isnan(result.lse[row]) == (row == 4));
    CHECK(std::isnan(result.out[3 * row]) == (row == 4));
    CHECK(std::isnan(result.dq[3 * row + 2]) == (row == 4));
  }
}

TEMPLATE_TEST_CASE(
    "the fast kernels give the same bits wherever the tensors lie, and touch nothing around them", "", float,
    double) {
  Random random(200);
  for (const Mask& mask : kMasks) {
    const Head<TestType> head = head_of_size<TestType>(random, 101, 299, 37, mask);
    const auto expected = fast(head);
    for (std::size_t offset = 0; offset < 16; ++offset) {
      CAPTURE(described(mask), offset);
      bool untouched = true;
      CHECK(identical(fast_at(head, offset, untouched), expected));
      CHECK(untouched);
    }
  }
}
