// Tests single functions whose mistakes are laws over all their answers: states of ranks, merges, products,
// exchanges.
#include <algorithm>
#include <cmath>

#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/core/random.hpp"
#include "support/catch.hpp"
#include "verify/diagnose/diagnose.hpp"

namespace ringcraft::verify {
namespace {

std::string first_law(const std::vector<Cause>& causes) { return causes.empty() ? "" : causes[0].id; }

// Three rows on three ranks, high, low and ordinary; `shift` says which maximum a row subtracts.
template <class Shift>
SharedScanExhibit shared_with(Shift shift, bool in_float = false) {
  constexpr Index kRows = 3, kCols = 2;
  constexpr double kCentres[] = {-2000, 1, 2000};
  Random random(6);
  SharedScanExhibit x;
  for (int rank = 0; rank < 3; ++rank) {
    SharedScanExhibit::Part& part =
        x.ranks.emplace_back(SharedScanExhibit::Part{kRows, kCols, {}, {}, {}, {}});
    for (Index i = 0; i < kRows * kCols; ++i) part.scores.push_back(kCentres[i / kCols] + random.normal());
  }
  for (std::size_t row = 0; row < 3; ++row) {
    std::vector<double> all;
    for (const auto& part : x.ranks)
      all.insert(all.end(), part.scores.begin() + 2 * row, part.scores.begin() + 2 * row + 2);
    const double m = shift(all);
    double l = 0;
    for (const double s : all) l += std::exp(s - m);
    if (in_float) l = static_cast<double>(static_cast<float>(l));
    for (auto& part : x.ranks) {
      part.max.push_back(in_float ? static_cast<double>(static_cast<float>(m)) : m), part.sum.push_back(l);
      for (std::size_t j = 0; j < 2; ++j)
        part.weights.push_back(std::exp(part.scores[2 * row + j] - part.max.back()) / (l == 0 ? 1 : l));
    }
  }
  return x;
}

TEST_CASE("the maximum that ranks subtract is found from the rows that overflow or vanish") {
  const auto largest = [](const std::vector<double>& s) { return std::ranges::max(s); };
  CHECK(causes_of(shared_with(largest)).empty());
  CHECK(first_law(causes_of(shared_with([&](const auto& s) { return std::max(0.0, largest(s)); }))) ==
        "shared-max-zero");
  const auto from_smallest = [&](const auto& s) {
    return std::max(std::numeric_limits<double>::min(), largest(s));
  };
  CHECK(first_law(causes_of(shared_with(from_smallest))) == "shared-max-zero");
  CHECK(first_law(causes_of(shared_with([](const auto&) { return 0.0; }))) == "shared-max-none");
  SharedScanExhibit changed = shared_with(largest);
  changed.changed = true;
  CHECK(first_law(causes_of(changed)) == "shared-writes-scores");
}

TEST_CASE("a rank that is alone and writes its in is told") {
  ExchangeExhibit x{
      {{{.send_rank = 0, .recv_rank = 0, .out = 9, .in = 9, .ended = true, .unwritten = true}}}};
  CHECK(causes_of(x).empty());
  x.rounds[0][0].unwritten = false;
  CHECK(first_law(causes_of(x)) == "solved-exchange-one");
}

// Two parts of a few rows, merged with weights that `from` takes from another row.
template <class From>
MergeExhibit merged_with(From from) {
  constexpr Index kRows = 5, kCols = 4;
  Random random(8);
  MergeExhibit x{kRows, kCols, {}, {}, {}};
  for (PartialNumbers* part : {&x.acc, &x.block})
    for (Index i = 0; i < kRows; ++i) {
      part->max.push_back(2 * random.normal()), part->sum.push_back(1 + std::fabs(random.normal()));
      for (Index j = 0; j < kCols; ++j) part->out.push_back(random.normal());
    }
  const auto weight = [&](const PartialNumbers& part, std::size_t row) {
    return std::exp(part.max[row] - std::max(x.acc.max[row], x.block.max[row]));
  };
  for (std::size_t i = 0; i < kRows; ++i) {
    x.result.max.push_back(std::max(x.acc.max[i], x.block.max[i]));
    x.result.sum.push_back(weight(x.acc, i) * x.acc.sum[i] + weight(x.block, i) * x.block.sum[i]);
    for (std::size_t j = 0; j < kCols; ++j) {
      const std::size_t row = from(i, j), at = i * kCols + j;
      x.result.out.push_back(weight(x.acc, row) * x.acc.out[at] + weight(x.block, row) * x.block.out[at]);
    }
  }
  return x;
}

TEST_CASE("elements that are merged with another row's weights are told by that row") {
  CHECK(causes_of(merged_with([](std::size_t i, std::size_t) { return i; })).empty());
  for (const auto& from : {+[](std::size_t, std::size_t) { return std::size_t{0}; },
                           +[](std::size_t, std::size_t j) { return j; },
                           +[](std::size_t i, std::size_t j) { return (4 * i + j) % 5; }})
    CHECK(first_law(causes_of(merged_with(from))) == "solved-merge-rows");
}

TEST_CASE("a merge that is rounded to float, or writes its block, is told") {
  MergeExhibit x = merged_with([](std::size_t i, std::size_t) { return i; });
  x.changed = true;
  CHECK(first_law(causes_of(x)) == "solved-merge-writes");
  for (double& out : x.result.out) out = static_cast<double>(static_cast<float>(out));
  const std::vector<Cause> causes = causes_of(x);
  REQUIRE(first_law(causes) == "solved-merge-float");
  CHECK(causes[0].sentence == "O is rounded to float at every merge");
}

TEST_CASE("a small number that is added to a merge is no float, and a small write into the block is told") {
  MergeExhibit x = merged_with([](std::size_t i, std::size_t) { return i; });
  for (std::size_t i = 0; i < x.result.out.size(); ++i) x.result.out[i] += 1e-9 * x.block.out[i];
  for (const Cause& cause : causes_of(x)) CHECK(cause.id != "solved-merge-float");
  x.changed = true;
  CHECK(first_law(causes_of(x)) == "solved-merge-writes");
}

TEST_CASE("a product in float is told by its digits, and rows one step ahead by their numbers") {
  Random random(3);
  ProductExhibit::Call call{7, 3, 8, 6, 8, 4, false, {}, {}, std::vector<double>(24, 0.0), {}};
  for (int i = 0; i < 7 * 8; ++i) call.panel.push_back(random.normal());
  for (int i = 0; i < 7 * 3; ++i) call.b.push_back(random.normal());
  const auto product = [&](int ahead) {
    std::vector<double> c(24, 0.0);
    for (std::size_t at = 0; at < c.size(); ++at)
      for (std::size_t k = 0; k < 7; ++k)
        c[at] += call.panel[std::min<std::size_t>(k + static_cast<std::size_t>(ahead), 6) * 8 + at % 8] *
                 call.b[k * 3 + at / 8];
    return c;
  };
  call.after = product(0);
  CHECK(causes_of(ProductExhibit{{call}}).empty());
  call.after = product(1);
  CHECK(first_law(causes_of(ProductExhibit{{call}})) == "solved-product-panel");
  call.after = product(0);
  for (double& number : call.after) number = static_cast<double>(static_cast<float>(number));
  CHECK(first_law(causes_of(ProductExhibit{{call}})) == "solved-product-float");
}

TEST_CASE("a depth that is cut into pieces is told by the piece that counts") {
  Random random(3);
  ProductExhibit::Call call{510, 1, 4, 6, 8, 4, false, {}, {}, std::vector<double>(4, 0.0), {}};
  for (int i = 0; i < 510 * 4; ++i) call.panel.push_back(random.normal());
  for (int i = 0; i < 510; ++i) call.b.push_back(random.normal());
  const auto words = [&](std::size_t first, std::size_t last) {
    call.after.assign(4, 0.0);
    for (std::size_t k = first; k < last; ++k)
      for (std::size_t w = 0; w < 4; ++w) call.after[w] += call.panel[k * 4 + w] * call.b[k];
    const std::vector<Cause> causes = causes_of(ProductExhibit{{call}});
    REQUIRE(causes.size() == 1);
    return causes.front().sentence;
  };
  CHECK(words(448, 510) ==
        "each piece of 64 steps begins its sums anew: only the last piece of the depth counts");
  CHECK(words(0, 64) == "steps after the first 64 are left out");
}

}  // namespace
}  // namespace ringcraft::verify
