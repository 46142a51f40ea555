// Shares of sums, and names of contents.
#include "verify/schedule/rows/content.hpp"

#include <algorithm>

namespace ringcraft::verify {
namespace {

// "2", "4-7".
std::string from_to(Index first, Index count) {
  return std::to_string(first) + (count > 1 ? "-" + std::to_string(first + count - 1) : "");
}

}  // namespace

void Shares::add(const Share& share, int count) {
  const auto at = std::ranges::lower_bound(list_, share, {}, &std::pair<Share, int>::first);
  if (at != list_.end() && at->first == share)
    at->second += count;
  else
    list_.insert(at, {share, count});
}

int Shares::count(const Share& share) const {
  const auto at = std::ranges::lower_bound(list_, share, {}, &std::pair<Share, int>::first);
  return at != list_.end() && at->first == share ? at->second : 0;
}

std::string name_of(const Content& content) {
  if (content.kind == Content::kNothing) return "an empty sum";
  constexpr const char* kLetters[] = {"K", "V", "dK", "dV", "q", "dout", "out", "lse", "dq", "sum"};
  return kLetters[content.kind] + from_to(Index{content.block} * content.joined, content.joined) +
         (content.heads == Heads{} ? "" : " (" + heads_name(content.heads) + ")");
}

std::string block_name(int block) { return name_of({Content::kKeys, block, 0, {}}); }

std::string heads_name(const Heads& heads) {
  return (heads.count > 1 ? "heads " : "head ") + from_to(heads.first, heads.count);
}

std::string ranks_name(int block, int joined) {
  return (joined > 1 ? "ranks " : "rank ") + from_to(Index{block} * joined, joined);
}

}  // namespace ringcraft::verify
