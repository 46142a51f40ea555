// A scan that reads its state wrongly, returns it wrongly, or does not read all scores.
#include "verify/diagnose/functions/scan/scan_ends.hpp"

#include <algorithm>
#include <cmath>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/random.hpp"
#include "support/catch.hpp"
#include "verify/diagnose/diagnose.hpp"
#include "verify/diagnose/functions/softmax/softmax_law.hpp"

namespace ringcraft::verify {
namespace {

// Rows of many lengths, with states before them and without; `scan` gives the result of one.
template <class Scan>
ScanExhibit scans_of(Scan scan) {
  Random random(4);
  ScanExhibit x;
  for (const std::size_t length : {0u, 1u, 2u, 3u, 5u, 9u, 17u, 40u, 70u, 131u})
    for (const double before : {-HUGE_VAL, -4.0, 0.5, 6.0})
      for (const double centre : {0.0, -900.0, 900.0}) {
        ScoreScan row{.scores = {}, .max_before = before, .sum_before = before == -HUGE_VAL ? 0 : 1.75};
        for (std::size_t j = 0; j < length; ++j) row.scores.push_back(centre + 2 * random.normal());
        row.state = scan(row);
        x.rows.push_back(std::move(row));
      }
  return x;
}

ScanState right_scan(const std::vector<double>& scores, const ScanState& before) {
  const auto [m, l] = online_scan<double>(scores, {before.max, before.sum});
  return {{}, m, l};
}

TEST_CASE("a scan that reads its state wrongly is named as such") {
  const ScanExhibit right = scans_of([](const ScoreScan& row) {
    const ScanState s = right_scan(row.scores, {{}, row.max_before, row.sum_before});
    return std::pair{s.max, s.sum};
  });
  CHECK(causes_of(right).empty());
  for (const ScanBegin& begin : scan_begins({}))
    if (!begin.words.empty()) {
      const std::vector<Cause> causes = causes_of(scans_of([&](const ScoreScan& row) {
        const ScanState s = right_scan(row.scores, begin.of(row));
        return std::pair{s.max, s.sum};
      }));
      INFO(begin.words);
      CHECK(std::ranges::find(causes, begin.id, &Cause::id) != causes.end());
    }
}

TEST_CASE("a maximum that begins at a fixed number is solved for") {
  const std::vector<Cause> causes = causes_of(scans_of([](const ScoreScan& row) {
    const double m = std::max(row.max_before, -124.0);
    const ScanState s = right_scan(row.scores, {{}, m, row.sum_before});
    return std::pair{s.max, s.sum};
  }));
  REQUIRE(!causes.empty());
  CHECK(causes[0].id == "scan-max-start");
  CHECK(causes[0].sentence.find("-124") != std::string::npos);
}

TEST_CASE("a scan that returns other numbers than m and l is named as such") {
  for (const ScanEnd& end : scan_ends().subspan(1)) {
    const std::vector<Cause> causes = causes_of(scans_of([&](const ScoreScan& row) {
      return end.of(row, right_scan(row.scores, {{}, row.max_before, row.sum_before}));
    }));
    INFO(end.words);
    CHECK(!causes.empty());
    if (!causes.empty() && causes[0].id.starts_with("scan-end"))
      CHECK(std::ranges::find(causes, std::string(end.words), &Cause::sentence) != causes.end());
  }
}

TEST_CASE("scores that a scan does not read are named") {
  for (const SoftmaxCount& range : softmax_counts()) {
    if (!range.is_range) continue;
    const auto scan = [&](const ScoreScan& row) {
      const std::vector<double> times = range.of(row.scores);
      std::vector<double> some;
      for (std::size_t j = 0; j < times.size(); ++j)
        if (times[j] > 0) some.push_back(row.scores[j]);
      const ScanState s = right_scan(some, {{}, row.max_before, row.sum_before});
      return std::pair{s.max, s.sum};
    };
    const ScanExhibit x = scans_of(scan);
    const bool shows = std::ranges::any_of(x.rows, [](const ScoreScan& row) {
      return row.state->second != right_scan(row.scores, {{}, row.max_before, row.sum_before}).sum;
    });
    INFO(range.words);
    CHECK(causes_of(x).empty() != shows);
  }
}

TEST_CASE("a factor that is left out of small steps is told with the threshold") {
  for (const double slack : {1.0, 8.0}) {
    const std::vector<Cause> causes = causes_of(scans_of([&](const ScoreScan& row) {
      double m = row.max_before, l = row.sum_before;
      for (const double s : row.scores) {
        if (s - m > slack) l *= std::exp(m - s);
        m = std::max(m, s), l += std::exp(s - m);
      }
      return std::pair{m, l};
    }));
    REQUIRE(!causes.empty());
    CHECK(causes.front().id == "scan-slack-sum");
  }
}

TEST_CASE("a scan is cut into the tiles that it was told to use") {
  for (const std::size_t tile : {3u, 5u}) {
    ScanExhibit x = scans_of([&](const ScoreScan& row) {
      double m = row.max_before, l = row.sum_before;
      for (std::size_t j = 0;
           j < row.scores.size();) {  // the first tile has begun before the row's first key
        const auto begin = row.scores.begin() + static_cast<std::ptrdiff_t>(j);
        const std::size_t keys = std::min(j == 0 ? tile - 1 : tile, row.scores.size() - j);
        const double own = *std::max_element(begin, begin + static_cast<std::ptrdiff_t>(keys));
        if (m != -HUGE_VAL) l *= std::exp(m - own);
        m = own;
        for (std::size_t i = 0; i < keys; ++i) l += std::exp(row.scores[j++] - m);
      }
      return std::pair{m, l};
    });
    CHECK(causes_of(x).empty());  // 3 and 5 are the size of no group
    for (ScoreScan& row : x.rows) row.tile = tile, row.first_key = 1;
    const std::vector<Cause> causes = causes_of(x);
    REQUIRE(!causes.empty());
    CHECK(causes.front().id == "scan-max-part");
    CHECK(causes.front().sentence.find("of each tile alone") != std::string::npos);
  }
}

TEST_CASE("a sum in float is told by its digits") {
  const std::vector<Cause> causes = causes_of(scans_of([](const ScoreScan& row) {
    const ScanState s = right_scan(row.scores, {{}, row.max_before, row.sum_before});
    return std::pair{s.max, static_cast<double>(static_cast<float>(s.sum))};
  }));
  REQUIRE(!causes.empty());
  CHECK(causes[0].id == "scan-float");
}

}  // namespace
}  // namespace ringcraft::verify
