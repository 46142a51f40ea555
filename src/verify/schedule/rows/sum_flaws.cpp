// Counts the shares of sums.
#include "verify/schedule/rows/sum_flaws.hpp"

#include <numeric>

namespace ringcraft::verify {
namespace {

void append(std::string& flaw, const std::string& what) { flaw += (flaw.empty() ? "" : ", ") + what; }

}  // namespace

bool SumFlaws::sees(int queries, int keys) {
  const auto [known, is_new] = sees_.try_emplace({queries, keys}, false);
  if (is_new) known->second = key_ranges(rows_.units(), queries, keys).any();
  return known->second;
}

std::string SumFlaws::of(const Content& sum, const std::vector<Index>& heads) {
  if (!sum.is_gradient()) return of_queries(sum);
  for (const Index head : heads)
    if (const std::string flaw = of_keys(sum, head); !flaw.empty()) return flaw;
  return "";
}

std::string SumFlaws::of(const Content& sum) {
  const Heads all = rows_.heads_of(sum);
  std::vector<Index> heads(static_cast<std::size_t>(all.count));
  std::iota(heads.begin(), heads.end(), all.first);
  return of(sum, heads);
}

// dk or dv: each query head that shares the KV head has a share, of all queries that see one of the keys.
std::string SumFlaws::of_keys(const Content& sum, Index head) {
  const Heads group = rows_.query_heads(head);
  const bool some = rows_.degree() > 1;
  std::string flaw;
  for (int block = 0; block < rows_.units().world_size; ++block) {
    const bool visible = sees(block, sum.block);
    const std::string share = "the share of " + ranks_name(block, rows_.degree());
    for (Index query = group.first; query < group.first + group.count; ++query) {
      int count = 0;
      for (const auto& [whose, times] : sum.shares)
        if (whose.block == block && whose.heads.has(query)) count += times;
      const std::string in = some ? " in " + heads_name({query, 1}) : "";
      if (visible && count == 0) append(flaw, "lacks " + share + in);
      if (count > 1) append(flaw, "has " + share + in + " " + std::to_string(count) + " times");
      if (!some && !flaw.empty()) break;
    }
  }
  return flaw;
}

// out, lse or dq: a share of all keys that one of the queries sees.
std::string SumFlaws::of_queries(const Content& sum) {
  std::string flaw;
  for (int block = 0; block < rows_.units().world_size; ++block) {
    const int count = sum.shares.count({block, {}});
    const std::string keys = name_of({Content::kKeys, block, 0, {}, rows_.degree(), {}});
    if (sees(sum.block, block) && count == 0) append(flaw, "lacks " + keys);
    if (count > 1) append(flaw, "has " + keys + " " + std::to_string(count) + " times");
  }
  return flaw;
}

}  // namespace ringcraft::verify
