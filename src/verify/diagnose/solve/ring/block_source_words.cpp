// Describes whose keys and values a block has: a condition on the rank and the step, and a map of entries. If
// no such law gives all, the first block is described.
#include <algorithm>
#include <functional>
#include <string>

#include "verify/diagnose/diagnose_detail.hpp"
#include "verify/diagnose/solve/ring/block_sources.hpp"
#include "verify/diagnose/solve/ring/meetings.hpp"

namespace ringcraft::verify {
namespace {

// The entry that is read: "batch entry b reads entry 0".
struct EntryMap {
  std::string words;
  std::function<std::pair<Index, Index>(Index batch, Index head, int step)> source;
  bool of_query_heads = false;  // the head is one of q instead of k
};

void add_batch_maps(Index batches, std::vector<EntryMap>& all) {
  const std::string circle = " (modulo " + std::to_string(batches) + ")";
  for (Index one = 0; one < batches; ++one)
    all.push_back({"every batch entry reads those of entry " + std::to_string(one), [=](Index, Index h, int) {
                     return std::pair{one, h};
                   }});
  for (const Index by : {Index{1}, batches - 1}) {
    const std::string sign = by == 1 ? " + " : " - ";
    all.push_back({"batch entry b reads those of entry b" + sign + "1" + circle, [=](Index b, Index h, int) {
                     return std::pair{(b + by) % batches, h};
                   }});
    all.push_back(
        {"at step t batch entry b reads those of entry b" + sign + "t" + circle + ": one further at each hop",
         [=](Index b, Index h, int step) {
           return std::pair{(b + by * step) % batches, h};
         }});
  }
  all.push_back({"batch entries are read in the opposite order", [=](Index b, Index h, int) {
                   return std::pair{batches - 1 - b, h};
                 }});
}

void add_head_maps(Index heads, std::vector<EntryMap>& all) {
  const std::string circle = " (modulo " + std::to_string(heads) + ")";
  for (Index one = 0; one < heads; ++one)
    all.push_back({"every key head reads those of key head " + std::to_string(one), [=](Index b, Index, int) {
                     return std::pair{b, one};
                   }});
  for (const Index by : {Index{1}, heads - 1}) {
    const std::string sign = by == 1 ? " + " : " - ";
    all.push_back({"key head h reads those of key head h" + sign + "1" + circle, [=](Index b, Index h, int) {
                     return std::pair{b, (h + by) % heads};
                   }});
    all.push_back(
        {"at step t key head h reads those of key head h" + sign + "t" + circle + ": one further at each hop",
         [=](Index b, Index h, int step) {
           return std::pair{b, (h + by * step) % heads};
         }});
  }
  all.push_back({"key heads are read in the opposite order", [=](Index b, Index h, int) {
                   return std::pair{b, heads - 1 - h};
                 }});
  if (heads % 2 == 0)
    all.push_back({"the two halves of the key heads have changed places", [=](Index b, Index h, int) {
                     return std::pair{b, (h + heads / 2) % heads};
                   }});
}

void add_query_maps(Index queries, Index heads, std::vector<EntryMap>& all) {
  const auto add = [&](const char* words, auto head_of) {
    all.push_back({words, [=](Index b, Index q, int) { return std::pair{b, head_of(q)}; }, true});
  };
  add("query head h reads key head h % kv_heads", [=](Index q) { return q % heads; });
  add("query head h reads key head min(h, kv_heads - 1)", [=](Index q) { return std::min(q, heads - 1); });
  add("query head h reads key head (h + 1) / group",
      [=](Index q) { return (q + 1) / (queries / heads) % heads; });
}

std::vector<EntryMap> entry_maps(Index batches, Index heads, Index queries) {
  std::vector<EntryMap> all;
  if (batches > 1) add_batch_maps(batches, all);
  if (heads > 1) add_head_maps(heads, all);
  if (heads > 1 && queries > heads) add_query_maps(queries, heads, all);
  if (batches == 1 || heads == 1) return all;
  const auto flat = [&](std::string words, auto entry) {
    all.push_back({std::move(words), [=](Index b, Index h, int) {
                     const Index at = entry(b, h) % (batches * heads);
                     return std::pair{at / heads, at % heads};
                   }});
  };
  flat(batches == heads
           ? "batch entry b, key head h reads those of entry h, head b: the two axes are exchanged"
           : "the axes of batch entries and key heads are exchanged without moving the data",
       [=](Index b, Index h) { return h * batches + b; });
  flat("every entry reads those of batch entry 0, key head 0", [](Index, Index) { return Index{0}; });
  flat("with batch and heads in one dimension, entry e reads entry e + 1",
       [=](Index b, Index h) { return b * heads + h + 1; });
  flat("with batch and heads in one dimension, entry e reads entry e - 1",
       [=](Index b, Index h) { return b * heads + h + batches * heads - 1; });
  return all;
}

Meeting meeting(const BlockSource& s, const Arrangement& place) {
  return {s.shard, s.slot, place.wrapped(s.shard - s.slot)};
}

std::string tensors_of(Borrowed borrowed) {
  return borrowed == Borrowed::kBoth     ? "k and v are"
         : borrowed == Borrowed::kValues ? "v alone is"
                                         : "k alone is";
}

std::optional<std::string> law_of_entries(const BlockSources& sources, const Evidence& e) {
  for (const EntryMap& map : entry_maps(e.problem.batch, e.problem.kv_heads, e.problem.heads))
    for (const MeetingLaw& which : meeting_laws(e.place.count())) {
      const bool fits = std::ranges::all_of(sources.all, [&](const BlockSource& s) {
        const Meeting at = meeting(s, e.place);
        const auto [from, head] =
            which.holds(at) ? map.source(s.batch, map.of_query_heads ? s.query_head : s.head, at.step)
                            : std::pair{s.batch, s.head};
        return s.block == s.slot && s.from == from && s.source == head;
      });
      if (fits)
        return "in " + which.words + ", " + tensors_of(sources.borrowed) +
               " read from a wrong entry: " + map.words;
    }
  return {};
}

// Recognises a ring whose messages go to the neighbours in the all-to-all group: same rows, other heads.
std::optional<std::string> law_of_groups(const BlockSources& sources, const Evidence& e) {
  const int n = e.place.count();
  for (int group = 2; group < n; ++group) {
    const Index slice = e.problem.kv_heads / group;
    if (n % group != 0 || slice == 0 || e.problem.kv_heads % group != 0) continue;
    const bool fits = std::ranges::all_of(sources.all, [&](const BlockSource& s) {
      const int mine = s.shard / group;
      if (s.from != s.batch) return false;
      if (s.slot / group == mine) return s.right();
      return s.block == mine * group + s.slot % group && s.source / slice != s.head / slice &&
             s.source % slice == s.head % slice;
    });
    if (fits)
      return "with heads dealt inside groups of " + std::to_string(group) +
             " ranks and a ring between the groups, the ring exchanges " +
             std::string(sources.borrowed == Borrowed::kBoth     ? "k and v"
                         : sources.borrowed == Borrowed::kValues ? "v"
                                                                 : "k") +
             " with a rank of the same group (the same rows, other heads) instead of with the rank of "
             "another group that has the same heads";
  }
  return {};
}

std::string first_words(const BlockSources& sources, const Evidence& e) {
  const auto first = std::ranges::find_if(sources.all, [](const BlockSource& s) { return !s.right(); });
  const auto entry = [&](Index batch, Index head) {
    std::vector<std::string> words;
    if (e.problem.batch > 1) words.push_back("batch entry " + std::to_string(batch));
    if (e.problem.kv_heads > 1) words.push_back("key head " + std::to_string(head));
    return list_of(words);
  };
  std::string words = tensors_of(sources.borrowed) + " read from a wrong entry: rank " +
                      std::to_string(first->shard) + ", " + entry(first->batch, first->head) +
                      " meets in the block of rank " + std::to_string(first->slot) + " those of " +
                      entry(first->from, first->source);
  if (first->block != first->slot) words += " of rank " + std::to_string(first->block);
  return words;
}

}  // namespace

std::vector<Cause> told(const BlockSources& sources, const Evidence& e) {
  auto words = law_of_entries(sources, e);
  if (!words) words = law_of_groups(sources, e);
  std::vector<Cause> causes{
      {"solved-entries", words ? *words : first_words(sources, e),
       "By which batch entry, head and rank is a message filed, and by which is it read?"}};
  if (sources.base_2.empty()) return causes;
  std::vector<std::string> ranks;
  for (const int rank : sources.base_2) ranks.push_back(std::to_string(rank));
  const bool all = static_cast<int>(ranks.size()) == e.place.count();
  causes.push_back(
      {"LSE-base2",
       "lse is to the base 2" +
           (all ? "" : " on " + std::string(ranks.size() == 1 ? "rank " : "ranks ") + list_of(ranks)),
       "To which base is lse?"});
  return causes;
}

}  // namespace ringcraft::verify
