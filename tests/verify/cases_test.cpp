// The table of cases keeps its promises: its coverage, and the properties of its numbers.
#include "verify/oracle/cases.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <map>
#include <set>

#include "ringcraft/core/error.hpp"
#include "support.hpp"
#include "support/catch.hpp"

namespace ringcraft::verify {
namespace {

TEST_CASE("both tables have every value of every axis") {
  for (const CaseSet set : {CaseSet::kBrief, CaseSet::kFull}) {
    const std::vector<Case> cases = case_table(set);
    std::cout << "case table, " << name_of(set) << ": " << cases.size() << " cases\n";
    std::set<int> world_sizes;
    std::set<Layout> layouts;
    std::set<std::pair<int, Layout>> pairs;
    std::set<Data> data;
    std::set<std::pair<Index, Index>> heads;
    std::set<Index> head_dims, batches;
    std::set<std::string> masks;
    int ragged = 0, empty_shards = 0, packed = 0, wide_windows = 0, odd_windows = 0;
    for (const Case& c : cases) {
      const Problem& p = c.problem;
      world_sizes.insert(p.world_size);
      layouts.insert(p.layout);
      pairs.insert({p.world_size, p.layout});
      data.insert(c.data);
      heads.insert({p.shape.heads, p.shape.kv_heads});
      head_dims.insert(p.shape.head_dim);
      batches.insert(p.shape.batch);
      const bool bounded = p.mask.left != kNoLimit;
      masks.insert(std::string(p.mask.right == 0 ? "causal " : "open ") + (bounded ? "bounded " : "") +
                   (p.mask.cu_seqlens.empty() ? "" : "packed"));
      ragged += p.shape.seqlen % p.world_size != 0;
      empty_shards += p.shape.seqlen < p.world_size;
      packed += p.mask.cu_seqlens.size() >= 5;
      wide_windows += bounded && p.mask.left >= p.shape.seqlen;
      const Index shard = p.sharding().largest_rows();
      odd_windows += bounded && p.mask.left % 2 == 1 && p.mask.left % shard != 0;
    }
    INFO(name_of(set));
    CHECK(world_sizes == std::set<int>{1, 2, 3, 4, 5, 7, 8});
    CHECK(layouts.size() == 4);
    CHECK(pairs.size() == 28);
    CHECK(data.size() == std::size(kAllData));
    for (const auto& [h, kv] : {std::pair<Index, Index>{8, 2}, {6, 3}, {4, 1}, {1, 1}})
      CHECK(heads.count({h, kv}) == 1);
    for (const Index d : {1, 4, 8, 16, 64}) CHECK(head_dims.count(d) == 1);
    CHECK(batches == std::set<Index>{1, 2});
    CHECK(masks.size() >= 6);
    for (const int count : {ragged, empty_shards, packed, wide_windows, odd_windows}) CHECK(count > 0);
  }
  CHECK(case_table(CaseSet::kFull).size() > 1500);
}

// Names, with their numbers, are the same on every machine and in every run.
TEST_CASE("seeds determine the table and its numbers") {
  const std::vector<Case> a = case_table(CaseSet::kFull), b = case_table(CaseSet::kFull);
  REQUIRE(a.size() == b.size());
  std::set<std::uint64_t> seeds;
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].name == b[i].name);
    seeds.insert(a[i].seed);
  }
  CHECK(seeds.size() == a.size());
  const Inputs x = make_inputs(a[10], DType::kFloat64), y = make_inputs(b[10], DType::kFloat64),
               other = make_inputs(a[11], DType::kFloat64);
  CHECK(std::memcmp(x.k.bytes().data(), y.k.bytes().data(), x.k.bytes().size()) == 0);
  CHECK(x.k.values<double>()[0] != other.k.values<double>()[0]);
  CHECK(a[0].name ==
        "n=1 contiguous full s=" + std::to_string(a[0].problem.shape.seqlen) + " h=" +
            std::to_string(a[0].problem.shape.heads) + "/" + std::to_string(a[0].problem.shape.kv_heads) +
            " d=" + std::to_string(a[0].problem.shape.head_dim) +
            (a[0].problem.shape.batch == 2 ? " b=2" : "") + " " + std::string(name_of(a[0].data)));
}

TEST_CASE("rounded inputs are the rounding of the same numbers") {
  const Case c = small_case({1, 2, 1, 9, 4}, full_mask());
  const Inputs exact = make_inputs(c, DType::kFloat64), rounded = make_inputs(c, DType::kFloat32);
  for (std::size_t i = 0; i < exact.dout.values<double>().size(); ++i)
    CHECK(rounded.dout.values<float>()[i] == static_cast<float>(exact.dout.values<double>()[i]));
}

// All scores of one query head, [rows][keys], masked or not.
std::vector<std::vector<double>> scores(const Problem& p, const Inputs& in, Index batch, Index head) {
  const auto q = head_of<double>(in.q, batch, head), k = head_of<double>(in.k, batch, head / p.shape.group());
  std::vector<std::vector<double>> all(static_cast<std::size_t>(q.rows));
  for (Index i = 0; i < q.rows; ++i)
    for (Index j = 0; j < k.rows; ++j) {
      double sum = 0;
      for (Index x = 0; x < q.cols; ++x) sum += q(i, x) * k(j, x);
      all[static_cast<std::size_t>(i)].push_back(p.softmax_scale * sum);
    }
  return all;
}

double largest(const std::vector<double>& row) { return *std::max_element(row.begin(), row.end()); }

// Whether the scores of a head are as the kind of data promises. seqlen is at least 20.
bool keeps_promise(const Case& c, const std::vector<std::vector<double>>& rows) {
  double beyond_88 = 0, below_88 = 0, near_20000 = 0, count = 0, least = 1e300, most = -1e300;
  for (const auto& row : rows) {
    for (const double s : row) {
      ++count;
      beyond_88 += std::fabs(s) > 88;
      below_88 += s < -88;
      near_20000 += std::fabs(std::fabs(s) - 2e4) < 2e3;
    }
    least = std::min(least, largest(row));
    most = std::max(most, largest(row));
  }
  switch (c.data) {
    case Data::kNormal:
      return beyond_88 < 0.01 * count;
    case Data::kHot:
      return beyond_88 > 0.8 * count && most - least > 88;
    case Data::kNegative:
      return below_88 == count;
    case Data::kHuge:
      return near_20000 > 0.9 * count;
    case Data::kPeaked:
      return std::all_of(rows.begin(), rows.end(), [](auto row) {
        std::sort(row.begin(), row.end());
        return row.back() - row[row.size() / 2] > 8;
      });
    case Data::kGap: {
      const Sharding parts = c.problem.world_size > 1
                                 ? c.problem.sharding()
                                 : Sharding{Layout::kContiguous, c.problem.shape.seqlen, 3};
      return std::all_of(rows.begin(), rows.end(), [&](const auto& row) {
        std::vector<double> highest(static_cast<std::size_t>(parts.world_size), -1e300);
        for (std::size_t j = 0; j < row.size(); ++j) {
          double& h = highest[static_cast<std::size_t>(parts.owner_of(static_cast<Position>(j)))];
          h = std::max(h, row[j]);
        }
        std::sort(highest.begin(), highest.end());
        return highest.back() - highest[highest.size() - 2] >
               88 + 5;  // lse exceeds the maximum by log(keys) < 5
      });
    }
  }
  return false;
}

TEST_CASE("the scores of each kind of data are as the kind promises") {
  std::map<Data, int> judged;
  for (const Case& c : testing::fewer_under_sanitizer(case_table(CaseSet::kFull), 7)) {
    const Shape& shape = c.problem.shape;
    if (shape.seqlen < 20 || shape.seqlen < 2 * c.problem.world_size || shape.head_dim < 4) continue;
    const Inputs in = make_inputs(c, DType::kFloat64);
    INFO(c.name);
    for (Index b = 0; b < shape.batch; ++b)
      for (Index h = 0; h < shape.heads; ++h) CHECK(keeps_promise(c, scores(c.problem, in, b, h)));
    ++judged[c.data];
  }
  for (const Data data : kAllData) CHECK(judged[data] >= (testing::tries_fewer() ? 2 : 20));
}

TEST_CASE("heads, batch entries and tensors differ from each other") {
  const Inputs in = make_inputs(small_case({2, 4, 2, 8, 4}, full_mask()), DType::kFloat64);
  std::set<double> firsts;
  for (const auto& [name, tensor] : named(in))
    for (Index b = 0; b < 2; ++b)
      for (Index h = 0; h < tensor.extents().heads; ++h) firsts.insert(head_of<double>(tensor, b, h)(0, 0));
  CHECK(firsts.size() == 2 * (4 + 2 + 2 + 4));
}

TEST_CASE("shaped scores need a positive softmax_scale") {
  const Problem p = make_problem({1, 1, 1, 4, 2}, full_mask(), Layout::kContiguous, 1, 0.0);
  CHECK_THROWS_AS(make_inputs(make_case(p, Data::kHot, 1), DType::kFloat64), Error);
}

TEST_CASE("block cases have rows with and without keys") {
  int some = 0, none = 0;
  for (const BlockCase& c : block_case_table(CaseSet::kBrief))
    for (std::size_t a = 0; a < c.ranges.begin.size(); ++a)
      ++(c.ranges.begin[a] < c.ranges.end[a] ? some : none);
  CHECK(some > 100);
  CHECK(none > 100);
}

}  // namespace
}  // namespace ringcraft::verify
