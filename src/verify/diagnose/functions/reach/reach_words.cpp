// Parts of wrong reaches: the ranks that are asked, the distance that is picked, and the numbers that are
// returned.
#include "verify/diagnose/functions/reach/reach_words.hpp"

#include <algorithm>
#include <cstdlib>

namespace ringcraft::verify {
namespace {

int on_the_ring(int rank, int n) { return (rank % n + n) % n; }

constexpr PeerWord kReachPeers[] = {
    {nullptr, [](int s, int t, int n) { return on_the_ring(s + t, n); }, [](int s, int, int) { return s; }},
    {"rank s - t is asked instead of rank s + t: blocks move to the next rank",
     [](int s, int t, int n) { return on_the_ring(s - t, n); }, [](int s, int, int) { return s; }},
    {"rank s + t is asked without mod N: the ring ends with the last rank",
     [](int s, int t, int) { return s + t; }, [](int s, int, int) { return s; }},
    {"rank s - t is asked without mod N", [](int s, int t, int) { return s - t; },
     [](int s, int, int) { return s; }},
    {"queries and keys are exchanged: the question is whether rank s sees keys of rank s + t",
     [](int s, int, int) { return s; }, [](int s, int t, int n) { return on_the_ring(s + t, n); }},
    {"the number of rank s says how far it looks back, the blocks of rank s - t that it sees, instead of how "
     "far its block is needed",
     [](int s, int, int) { return s; }, [](int s, int t, int n) { return on_the_ring(s - t, n); }},
    {"the block is compared with its owner at every distance", [](int s, int, int) { return s; },
     [](int s, int, int) { return s; }},
    {"rank t is asked instead of rank s + t", [](int, int t, int n) { return on_the_ring(t, n); },
     [](int s, int, int) { return s; }},
    {"rank s + t - 1 is asked instead of rank s + t",
     [](int s, int t, int n) { return on_the_ring(s + t - 1, n); }, [](int s, int, int) { return s; }},
    {"rank s + t + 1 is asked instead of rank s + t",
     [](int s, int t, int n) { return on_the_ring(s + t + 1, n); }, [](int s, int, int) { return s; }},
    {"the last rank stands for all ranks after it",
     [](int s, int t, int n) { return std::min(s + t, n - 1); }, [](int s, int, int) { return s; }},
    {"rank s + t mod (N - 1) is asked instead of rank s + t mod N",
     [](int s, int t, int n) { return n > 1 ? (s + t) % (n - 1) : 0; }, [](int s, int, int) { return s; }}};

constexpr PickWord kPicks[] = {
    {nullptr,
     [](int n, const std::vector<bool>& seen) {
       int t = n - 1;
       while (t > 0 && !seen[t]) --t;
       return t;
     }},
    {"the first rank that sees nothing ends the search, although later ones may see something",
     [](int n, const std::vector<bool>& seen) {
       int t = 0;
       while (t + 1 < n && seen[t + 1]) ++t;
       return t;
     }},
    {"the nearest rank that sees something counts, instead of the farthest",
     [](int n, const std::vector<bool>& seen) {
       for (int t = 1; t < n; ++t)
         if (seen[t]) return t;
       return 0;
     }},
    {"the ranks that see something are counted, and those on the way are not",
     [](int n, const std::vector<bool>& seen) {
       return static_cast<int>(std::count(seen.begin() + 1, seen.begin() + n, true));
     }},
    {"the count includes the owner",
     [](int n, const std::vector<bool>& seen) {
       return static_cast<int>(std::count(seen.begin(), seen.begin() + n, true));
     }},
    {"the first distance that is not needed is returned, instead of the last that is",
     [](int n, const std::vector<bool>& seen) {
       for (int t = 1; t < n; ++t)
         if (!seen[t]) return t;
       return n;
     }},
    {"the distance N - 1 is left out",
     [](int n, const std::vector<bool>& seen) {
       int t = std::max(0, n - 2);
       while (t > 0 && !seen[t]) --t;
       return t;
     }},
    {"the distance N, which is the owner again, is one more to ask",
     [](int n, const std::vector<bool>& seen) {
       int t = n;
       while (t > 0 && !seen[t]) --t;
       return t;
     }},
    {"the distance is at least 1",
     [](int n, const std::vector<bool>& seen) {
       int t = n - 1;
       while (t > 1 && !seen[t]) --t;
       return t;
     }},
    {"any rank that sees something takes the block all around: N - 1",
     [](int n, const std::vector<bool>& seen) {
       return std::count(seen.begin() + 1, seen.begin() + n, true) > 0 ? n - 1 : 0;
     }}};

template <class Change>
std::vector<int> each_changed(std::vector<int> picked, Change change) {
  for (std::size_t s = 0; s < picked.size(); ++s) picked[s] = change(static_cast<int>(s), picked[s]);
  return picked;
}

constexpr ReturnWord kReturns[] = {
    {nullptr, [](const Problem&, std::vector<int> picked) { return picked; }},
    {"one is added: steps, where hops are asked for",
     [](const Problem&, std::vector<int> picked) {
       return each_changed(picked, [](int, int t) { return t + 1; });
     }},
    {"one is subtracted",
     [](const Problem&, std::vector<int> picked) {
       return each_changed(picked, [](int, int t) { return t - 1; });
     }},
    {"one is subtracted, down to 0",
     [](const Problem&, std::vector<int> picked) {
       return each_changed(picked, [](int, int t) { return std::max(0, t - 1); });
     }},
    {"every block gets the largest number of all: the hops of the ring",
     [](const Problem&, std::vector<int> picked) {
       return std::vector<int>(picked.size(), *std::ranges::max_element(picked));
     }},
    {"one number is returned, the hops of the ring, and there are N blocks",
     [](const Problem&, std::vector<int> picked) { return std::vector{*std::ranges::max_element(picked)}; }},
    {"every number is N - 1, whatever the mask needs",
     [](const Problem& p, std::vector<int> picked) {
       return std::vector<int>(picked.size(), p.world_size - 1);
     }},
    {"no number is more than 1: a block goes to the next rank, or nowhere",
     [](const Problem&, std::vector<int> picked) {
       return each_changed(picked, [](int, int t) { return std::min(t, 1); });
     }},
    {"every number is 0",
     [](const Problem&, std::vector<int> picked) { return std::vector<int>(picked.size(), 0); }},
    {"the distance is measured the other way round the ring, N - t",
     [](const Problem& p, std::vector<int> picked) {
       return each_changed(picked, [n = p.world_size](int, int t) { return (n - t) % n; });
     }},
    {"N - t is returned instead of t",
     [](const Problem& p, std::vector<int> picked) {
       return each_changed(picked, [n = p.world_size](int, int t) { return n - t; });
     }},
    {"the rank is returned instead of the distance to it",
     [](const Problem& p, std::vector<int> picked) {
       return each_changed(picked, [n = p.world_size](int s, int t) { return (s + t) % n; });
     }},
    {"the difference of two ranks is returned, which is negative where the ring wraps around",
     [](const Problem& p, std::vector<int> picked) {
       return each_changed(picked, [n = p.world_size](int s, int t) { return (s + t) % n - s; });
     }},
    {"the difference of two ranks without its sign is returned, which is no distance where the ring wraps "
     "around",
     [](const Problem& p, std::vector<int> picked) {
       return each_changed(picked, [n = p.world_size](int s, int t) { return std::abs((s + t) % n - s); });
     }},
    {"the distance is cut at the last rank, N - 1 - s",
     [](const Problem& p, std::vector<int> picked) {
       return each_changed(picked, [n = p.world_size](int s, int t) { return std::min(t, n - 1 - s); });
     }},
    {"a block that is needed anywhere goes to the last rank, N - 1 - s",
     [](const Problem& p, std::vector<int> picked) {
       return each_changed(picked, [n = p.world_size](int s, int t) { return t > 0 ? n - 1 - s : 0; });
     }},
    {"the list runs from the last block to the first", [](const Problem&, std::vector<int> picked) {
       std::ranges::reverse(picked);
       return picked;
     }}};

}  // namespace

std::span<const PeerWord> peer_words() { return kReachPeers; }
std::span<const PickWord> pick_words() { return kPicks; }
std::span<const ReturnWord> return_words() { return kReturns; }

}  // namespace ringcraft::verify
