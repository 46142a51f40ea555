// Safe and online softmax: against long double, on hot, negative, masked and empty rows; (m, l) as a monoid.
#include "ringcraft/attention/softmax.hpp"

#include <cmath>
#include <vector>

#include "ringcraft/core/random.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/none.hpp"

using namespace ringcraft;
using testing::kNone;
using namespace ringcraft::testing;

namespace {

std::vector<double> exact(const std::vector<double>& scores) {
  long double largest = kNone<double>, sum = 0;
  for (const double s : scores) largest = std::max<long double>(largest, s);
  std::vector<double> weights;
  for (const double s : scores) sum += s == kNone<double> ? 0 : std::exp(s - largest);
  for (const double s : scores)
    weights.push_back(s == kNone<double> ? 0 : static_cast<double>(std::exp(s - largest) / sum));
  return weights;
}

template <class T, class Softmax>
std::vector<T> run(Softmax softmax, const std::vector<T>& scores) {
  std::vector<T> weights(scores.size(), T(-1));
  softmax(std::span<const T>(scores), std::span<T>(weights));
  return weights;
}

const auto kSafe = [](auto scores, auto weights) { safe_softmax(scores, weights); };
const auto kOnline = [](auto scores, auto weights) { online_softmax(scores, weights); };

// Rows of every kind; the first entries are the awkward ones.
std::vector<std::vector<double>> rows() {
  std::vector<std::vector<double>> rows{{0},
                                        {-5e4},
                                        {1e4, 1e4},
                                        {2e4, -2e4, 1.9999e4},
                                        {-1e4, -1.00001e4, -1e4},
                                        {kNone<double>, 1, 2},
                                        {1, kNone<double>, kNone<double>},
                                        {kNone<double>, kNone<double>, 3, kNone<double>, 3},
                                        {800, -800, 0},
                                        {1, 2, 3, 4, 5},
                                        {5, 4, 3, 2, 1}};
  Random random(71);
  for (int i = 0; i < 200; ++i) {
    std::vector<double> row(static_cast<std::size_t>(random.integer(1, 60)));
    const double spread = std::pow(10.0, static_cast<double>(random.integer(-2, 4)));
    for (double& s : row) s = random.integer(0, 5) == 0 ? kNone<double> : spread * random.normal();
    row.back() = spread * random.normal();
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

TEST_CASE("softmax in double, both ways") {
  for (const auto& row : rows()) {
    const auto expected = exact(row), safe = run(kSafe, row), online = run(kOnline, row);
    // weights are at most 1; the difference of two scores carries no rounding that long double would not have
    CHECK(difference<double>(safe, expected) <= 1e-14);
    CHECK(difference<double>(online, expected) <= 1e-14);
    CHECK(difference<double>(online, safe) <= 1e-15 * static_cast<double>(row.size()));
    for (std::size_t j = 0; j < row.size(); ++j)
      if (row[j] == kNone<double>) CHECK((safe[j] == 0.0 && online[j] == 0.0));
  }
}

TEST_CASE("softmax in float, both ways") {
  for (const auto& row : rows()) {
    const std::vector<float> scores(row.begin(), row.end());
    const auto expected = exact({scores.begin(), scores.end()});
    for (const auto& got : {run(kSafe, scores), run(kOnline, scores)}) {
      const std::vector<double> widened(got.begin(), got.end());
      CHECK(difference<double>(widened, expected) <= 4e-6);
    }
  }
}

TEST_CASE("a row of nothing but minus infinity has weights of zero") {
  for (const std::size_t length : {1, 2, 7}) {
    const std::vector<double> row(length, kNone<double>), zero(length, 0.0);
    CHECK(run(kSafe, row) == zero);
    CHECK(run(kOnline, row) == zero);
    const auto state = online_scan<double>(row);
    CHECK(state.max == kNone<double>);
    CHECK(state.sum == 0.0);
  }
  run(kSafe, std::vector<double>{});
  run(kOnline, std::vector<double>{});
}

TEST_CASE("one score has weight one, whatever its value") {
  for (const double s : {0.0, 1e300, -1e300, 700.0, -745.0}) {
    CHECK(run(kSafe, std::vector{s}) == std::vector{1.0});
    CHECK(run(kOnline, std::vector{s}) == std::vector{1.0});
  }
}

TEST_CASE("softmax in place") {
  for (const auto& row : rows()) {
    auto safe = row, online = row;
    safe_softmax<double>(safe, safe);
    online_softmax<double>(online, online);
    CHECK(safe == run(kSafe, row));
    CHECK(online == run(kOnline, row));
  }
}

TEST_CASE("shifting all scores changes nothing") {
  const std::vector<double> row{1, -2, 0.5, 3}, shifted{1025, 1022, 1024.5, 1027};
  CHECK(run(kOnline, row) == run(kOnline, shifted));
  CHECK(run(kSafe, row) == run(kSafe, shifted));
}

TEST_CASE("an online scan continues, and rescales whenever the maximum grows") {
  for (const auto& row : rows())
    for (std::size_t cut = 0; cut <= row.size(); ++cut) {
      const std::span<const double> all(row);
      const auto whole = online_scan(all);
      const auto continued = online_scan(all.subspan(cut), online_scan(all.first(cut)));
      CHECK(continued.max == whole.max);
      CHECK(continued.sum == whole.sum);  // the very same operations
      const auto joined = merged(online_scan(all.first(cut)), online_scan(all.subspan(cut)));
      CHECK(joined.max == whole.max);
      CHECK(std::fabs(joined.sum - whole.sum) <= 1e-14 * whole.sum);
      CHECK(whole.sum >= 1.0 - 1e-15);  // the largest score contributes exp(0)
    }
}

TEST_CASE("(m, l) is a commutative monoid") {
  using State = SoftmaxState<double>;
  const std::vector<State> states{{}, {0, 1}, {1000, 2.5}, {-1000, 1}, {3, 7}, {-1e308, 1}, {2e4, 1.5}};
  for (const State a : states) {
    for (const State b : states) {
      const State ab = merged(a, b), ba = merged(b, a);
      CHECK(ab.max == ba.max);
      CHECK(ab.sum == ba.sum);
      CHECK_FALSE(std::isnan(ab.sum));
      for (const State c : states) {
        const State left = merged(ab, c), right = merged(a, merged(b, c));
        CHECK(left.max == right.max);
        CHECK(std::fabs(left.sum - right.sum) <= 1e-15 * left.sum);
      }
    }
    for (const State same : {merged(a, State{}), merged(State{}, a)}) {
      CHECK(same.max == a.max);
      CHECK(same.sum == a.sum);
    }
  }
  CHECK(merged(State{5, 2}, State{5, 2}).sum == 4.0);  // not idempotent
}

TEST_CASE("NaN among the scores is never hidden") {
  for (const std::size_t at : {0, 1, 3}) {
    std::vector<double> row{1, 2, 3, 4};
    row[at] = std::nan("");
    for (const double w : run(kSafe, row)) CHECK(std::isnan(w));
    for (const double w : run(kOnline, row)) CHECK(std::isnan(w));
    CHECK(std::isnan(online_scan<double>(row).sum));
  }
  CHECK(std::isnan(merged<double>({1, std::nan("")}, {}).sum));
}
