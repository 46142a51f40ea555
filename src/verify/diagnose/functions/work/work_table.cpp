// Explains a wrong table of work. An entry counts pairs of some rank's queries and some rank's keys under a
// mask, and the count is then transformed: tries each combination, the right ones first.
#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "verify/diagnose/functions/formula.hpp"
#include "verify/diagnose/functions/work/work_ledger.hpp"

namespace ringcraft::verify {
namespace {

// The owner of the queries, or of the keys: for rank r at step t.
struct ShardWord {
  const char* words;
  int (*rank)(int t, int r, int n);
};
constexpr ShardWord kQueryShards[] = {
    {"of rank r", [](int, int r, int) { return r; }},
    {"of rank r - t", [](int t, int r, int n) { return ((r - t) % n + n) % n; }},
    {"of rank r + t", [](int t, int r, int n) { return (r + t) % n; }},
    {"of rank t", [](int t, int, int n) { return t % n; }},
    {"of rank N - 1 - r", [](int, int r, int n) { return n - 1 - r; }}};
constexpr ShardWord kKeyShards[] = {
    {"of rank r - t", [](int t, int r, int n) { return ((r - t) % n + n) % n; }},
    {"of rank r + t", [](int t, int r, int n) { return (r + t) % n; }},
    {"of rank r itself", [](int, int r, int) { return r; }},
    {"of rank t", [](int t, int, int n) { return t % n; }},
    {"of rank (r - t) % N, which is negative in C++ if t > r,",
     [](int t, int r, int n) { return (r - t) % n; }},
    {"of rank |r - t|", [](int t, int r, int) { return r > t ? r - t : t - r; }},
    {"of rank r - t, or 0 if that is negative,", [](int t, int r, int) { return std::max(0, r - t); }},
    {"of rank r + t, beyond the last one none,", [](int t, int r, int) { return r + t; }},
    {"of rank t - r", [](int t, int r, int n) { return ((t - r) % n + n) % n; }},
    {"of rank r - t - 1", [](int t, int r, int n) { return ((r - t - 1) % n + n) % n; }},
    {"of rank r - t + 1", [](int t, int r, int n) { return ((r - t + 1) % n + n) % n; }},
    {"of rank r + t + 1", [](int t, int r, int n) { return (r + t + 1) % n; }},
    {"of rank r + 1", [](int, int r, int n) { return (r + 1) % n; }},
    {"of rank r - 1", [](int, int r, int n) { return (r + n - 1) % n; }},
    {"of rank N - 1 - t", [](int t, int, int n) { return ((n - 1 - t) % n + n) % n; }},
    {"of rank N - 1 - r + t", [](int t, int r, int n) { return (n - 1 - r + t) % n; }},
    {"of rank r - 2t", [](int t, int r, int n) { return ((r - 2 * t) % n + n) % n; }}};

// The problem whose pairs are counted.
struct ProblemWord {
  const char* words;  // nullptr: the given one
  void (*change)(Problem&);
};
constexpr ProblemWord kProblems[] = {
    {nullptr, [](Problem&) {}},
    {"as if all layouts were contiguous", [](Problem& p) { p.layout = Layout::kContiguous; }},
    {"without the borders of packed sequences", [](Problem& p) { p.mask.cu_seqlens.clear(); }},
    {"under a window one key narrower",
     [](Problem& p) { p.mask.left -= p.mask.left != kNoLimit && p.mask.left > 0 ? 1 : 0; }},
    {"under a window one key wider", [](Problem& p) { p.mask.left += p.mask.left != kNoLimit ? 1 : 0; }},
    {"without the limit of a window", [](Problem& p) { p.mask.left = kNoLimit; }},
    {"under a causal mask, whatever the mask is", [](Problem& p) { p.mask.right = 0; }},
    {"under a plain causal mask, whatever the mask is", [](Problem& p) { p.mask = causal_mask(); }},
    {"without the limit to the right", [](Problem& p) { p.mask.right = kNoLimit; }},
    {"without a limit to the right, unless it is 0",
     [](Problem& p) { p.mask.right = p.mask.right > 0 ? kNoLimit : 0; }},
    {"without a mask", [](Problem& p) { p.mask = full_mask(); }},
    {"as if every layout were striped", [](Problem& p) { p.layout = Layout::kStriped; }},
    {"without the token itself", [](Problem& p) { p.mask.right = p.mask.right == 0 ? -1 : p.mask.right; }}};

// An entry under construction.
struct EntryPlace {
  const Problem* problem;
  int step, rank, queries, keys;  // queries and keys: the ranks that own them

  Index rows(int of) const { return of < 0 || of >= problem->world_size ? 0 : problem->sharding().rows(of); }
  Index block() const { return rows(queries) * rows(keys); }
};

// A transformation of a count.
struct EntryWord {
  const char* words;  // nullptr: none
  Index (*value)(const EntryPlace&, Index pairs);
};
constexpr EntryWord kEntries[] = {
    {nullptr, [](const EntryPlace&, Index pairs) { return pairs; }},
    {"the pairs are those of all heads and batch entries",
     [](const EntryPlace& e, Index pairs) {
       return pairs * e.problem->shape.batch * e.problem->shape.heads;
     }},
    {"the pairs are those of all heads",
     [](const EntryPlace& e, Index pairs) { return pairs * e.problem->shape.heads; }},
    {"the pairs are those of all batch entries",
     [](const EntryPlace& e, Index pairs) { return pairs * e.problem->shape.batch; }},
    {"a block of a later rank counts 0",
     [](const EntryPlace& e, Index pairs) { return e.keys > e.rank ? 0 : pairs; }},
    {"a block of an earlier rank counts 0",
     [](const EntryPlace& e, Index pairs) { return e.keys < e.rank ? 0 : pairs; }},
    {"a block that is not empty counts whole, rows times keys",
     [](const EntryPlace& e, Index pairs) { return pairs == 0 ? 0 : e.block(); }},
    {"every block counts whole, rows times keys", [](const EntryPlace& e, Index) { return e.block(); }},
    {"the own block counts whole, and later ranks' blocks 0",
     [](const EntryPlace& e, Index) { return e.keys > e.rank ? 0 : e.block(); }},
    {"at step 0 each row counts one key too few: without the diagonal",
     [](const EntryPlace& e, Index pairs) { return pairs - (e.step == 0 ? e.rows(e.rank) : 0); }},
    {"a block counts 1 if it is not empty", [](const EntryPlace&, Index pairs) { return Index{pairs > 0}; }},
    {"entries count by the closed form of contiguous causal shards of S / N rows",
     [](const EntryPlace& e, Index) {
       const Index c = e.problem->shape.seqlen / e.problem->world_size;
       return e.step == 0 ? c * (c + 1) / 2 : e.keys < e.rank ? c * c : 0;
     }},
    {"entries count by the closed form of contiguous causal shards",
     [](const EntryPlace& e, Index) {
       const Index c = e.rows(e.rank);
       return e.step == 0 ? c * (c + 1) / 2 : e.keys < e.rank ? e.block() : 0;
     }},
    {"entries count by a closed form with c * c / 2 pairs on the diagonal",
     [](const EntryPlace& e, Index) {
       return e.step == 0 ? e.block() / 2 : e.keys < e.rank ? e.block() : 0;
     }},
    {"the pairs are counted in 32 bits", [](const EntryPlace&, Index pairs) { return in_int(pairs); }},
    {"the pairs are counted in 32 bits, without a sign",
     [](const EntryPlace&, Index pairs) { return in_unsigned(pairs); }},
    {"rows of queries are counted", [](const EntryPlace& e, Index) { return e.rows(e.rank); }},
    {"only half of the pairs count", [](const EntryPlace&, Index pairs) { return pairs / 2; }}};

struct TableLaw {
  const ShardWord *queries, *keys;
  const ProblemWord* problem;
  const EntryWord* entry;
  bool transposed;

  int wrong() const {
    return (queries != kQueryShards) + (keys != kKeyShards) + (problem != kProblems) + (entry != kEntries) +
           (transposed ? 1 : 0);
  }
};

// All laws with at most two wrong words, those with fewer first.
const std::vector<TableLaw>& table_laws() {
  static const std::vector<TableLaw> laws = [] {
    std::vector<TableLaw> all;
    for (const bool transposed : {false, true})
      for (const EntryWord& entry : kEntries)
        for (const ProblemWord& problem : kProblems)
          for (const ShardWord& keys : kKeyShards)
            for (const ShardWord& queries : kQueryShards) {
              const TableLaw law{&queries, &keys, &problem, &entry, transposed};
              if (law.wrong() <= 2) all.push_back(law);
            }
    std::ranges::stable_sort(all, {}, &TableLaw::wrong);
    return all;
  }();
  return laws;
}

// Counts of pairs, each computed once.
class PairCounts {
 public:
  Index at(const Problem& problem, const ProblemWord& word, int queries, int keys) {
    const auto exists = [&](int rank) { return rank >= 0 && rank < problem.world_size; };
    if (!exists(queries) || !exists(keys)) return -1;  // refused by key_ranges: a count that no answer has
    const auto [place, is_new] = counts_.try_emplace({&problem, &word, queries, keys});
    if (is_new) {
      Problem changed = problem;
      word.change(changed);
      place->second = key_ranges(changed, queries, keys).pairs();
    }
    return place->second;
  }

 private:
  std::map<std::tuple<const Problem*, const ProblemWord*, int, int>, Index> counts_;
};

bool gives(const TableLaw& law, const LedgerView& ledger, PairCounts& counts) {
  const WorkTable& got = ledger.work->pairs;
  const int n = ledger.ranks();
  for (std::size_t i = 0; i < got.size(); ++i)
    for (std::size_t j = 0; j < got[i].size(); ++j) {
      const auto first = static_cast<int>(i), second = static_cast<int>(j);
      const int t = law.transposed ? second : first, r = law.transposed ? first : second;
      if (r >= n || t > n) return false;
      const EntryPlace place{ledger.problem, t, r, law.queries->rank(t, r, n), law.keys->rank(t, r, n)};
      const Index pairs = counts.at(*ledger.problem, *law.problem, place.queries, place.keys);
      if (law.entry->value(place, pairs) != got[i][j]) return false;
    }
  return true;
}

// The number of steps of the table, as a function of the problem and the right number of hops.
struct StepsWord {
  const char* words;
  int (*steps)(const Problem&, int hops);
};
int reached(const Problem& p, Index rounding, int hops) {
  const Index rows = std::max<Index>(1, p.sharding().largest_rows());
  if (p.mask.left == kNoLimit) return hops + 1;
  return 1 + std::min(p.world_size - 1, static_cast<int>((p.mask.left + rounding * (rows - 1)) / rows));
}
constexpr StepsWord kSteps[] = {
    {"hops(problem) + 1", [](const Problem&, int hops) { return hops + 1; }},
    {"hops(problem), so that the last one is missing", [](const Problem&, int hops) { return hops; }},
    {"N, whatever the mask needs", [](const Problem& p, int) { return p.world_size; }},
    {"N - 1", [](const Problem& p, int) { return p.world_size - 1; }},
    {"hops(problem) + 2", [](const Problem&, int hops) { return hops + 2; }},
    {"N + 1", [](const Problem& p, int) { return p.world_size + 1; }},
    {"hops(problem), and at least one", [](const Problem&, int hops) { return std::max(1, hops); }},
    {"1 + W / M rounded down (M: rows of a shard)",
     [](const Problem& p, int hops) { return reached(p, 0, hops); }},
    {"1 + W / M rounded up (M: rows of a shard)",
     [](const Problem& p, int hops) { return reached(p, 1, hops); }},
    {"1 + W / M rounded down (M: rows of a shard) for contiguous shards",
     [](const Problem& p, int hops) {
       return p.layout == Layout::kContiguous ? reached(p, 0, hops) : hops + 1;
     }},
    {"1", [](const Problem&, int) { return 1; }},
    {"0", [](const Problem&, int) { return 0; }}};

std::string told(const TableLaw& law) {
  std::string text;
  const auto add = [&](const std::string& words) { text += (text.empty() ? "" : ", and ") + words; };
  const bool exchanged = law.queries == kQueryShards + 1 && law.keys == kKeyShards + 2;
  if (law.queries != kQueryShards || law.keys != kKeyShards)
    add((exchanged ? std::string("queries and keys are exchanged: ") : std::string()) +
        "entry [t][r] counts what the queries " + law.queries->words + " see of the keys " + law.keys->words +
        " instead of the queries of rank r and the keys of rank r - t");
  if (law.problem->words != nullptr) add(std::string("pairs are counted ") + law.problem->words);
  if (law.entry->words != nullptr) add(law.entry->words);
  if (law.transposed) add("the table is [ranks][steps] instead of [steps][ranks]");
  return text;
}

const TableLaw* law_of(const std::vector<LedgerView>& ledgers) {
  PairCounts counts;
  for (const TableLaw& law : table_laws())
    if (std::ranges::all_of(ledgers, [&](const LedgerView& one) { return gives(law, one, counts); }))
      return &law;
  return nullptr;
}

std::optional<Cause> cause_of_steps(const std::vector<LedgerView>& ledgers) {
  const auto steps = [](const LedgerView& one) { return static_cast<int>(one.work->pairs.size()); };
  for (const StepsWord& word : kSteps) {
    if (!std::ranges::all_of(ledgers, [&](const LedgerView& one) {
          return steps(one) == word.steps(*one.problem, static_cast<int>(one.right.size()) - 1);
        }))
      continue;
    if (&word == kSteps) return {};
    return Cause{"solved-work-steps",
                 std::string("the number of steps is ") + word.words + ", instead of hops(problem) + 1",
                 "How many blocks does a rank hold in turn, and when does nobody need the next one?"};
  }
  return {};
}

}  // namespace

std::vector<Cause> causes_of_table(const std::vector<LedgerView>& ledgers) {
  std::vector<Cause> causes;
  const TableLaw* const law = law_of(ledgers);
  if (law != nullptr && law->wrong() > 0)
    causes.push_back({"solved-work-pairs", told(*law),
                      "Whose keys are in the hands of rank r at step t, and which of them do its rows see?"});
  if (law == nullptr || !law->transposed)  // a transposed table has no steps to count
    if (const auto steps = cause_of_steps(ledgers)) causes.push_back(*steps);
  return causes;
}

}  // namespace ringcraft::verify
