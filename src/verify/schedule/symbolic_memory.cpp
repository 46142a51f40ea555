// Stores symbolic contents as non-overlapping spans of bytes: writing cuts older spans, and adjacent pieces
// of one content are joined.
#include "verify/schedule/symbolic_memory.hpp"

#include <algorithm>
#include <iterator>

namespace ringcraft::verify {

// Removes the span from the stored pieces.
void SymbolicMemory::forget(TracedBytes span) {
  auto at = pieces_.upper_bound(span.address);
  if (at != pieces_.begin()) --at;
  while (at != pieces_.end() && at->first < span.end()) {
    const auto [begin, stored] = *at;
    if (stored.end <= span.address) {
      ++at;
      continue;
    }
    at = pieces_.erase(at);
    if (begin < span.address) pieces_[begin] = {span.address, stored.content, stored.offset};
    if (span.end() < stored.end)
      pieces_[span.end()] = {stored.end, stored.content,
                             stored.offset + static_cast<Index>(span.end() - begin)};
  }
}

// Adds a piece to bytes that hold nothing, and joins it to the preceding and the following piece if the
// content continues.
void SymbolicMemory::insert(std::uintptr_t begin, Stored stored) {
  const auto goes_on = [](std::uintptr_t first, const Stored& a, std::uintptr_t second, const Stored& b) {
    return a.end == second && a.content == b.content &&
           a.offset + static_cast<Index>(second - first) == b.offset;
  };
  auto behind = pieces_.lower_bound(begin);
  if (behind != pieces_.end() && goes_on(begin, stored, behind->first, behind->second)) {
    stored.end = behind->second.end;
    behind = pieces_.erase(behind);
  }
  if (behind != pieces_.begin()) {
    const auto before = std::prev(behind);
    if (goes_on(before->first, before->second, begin, stored)) {
      before->second.end = stored.end;
      return;
    }
  }
  pieces_[begin] = stored;
}

void SymbolicMemory::paste(TracedBytes span, const std::vector<Piece>& pieces) {
  if (span.size == 0) return;
  forget(span);
  for (const Piece& piece : pieces) {
    const std::uintptr_t begin = span.address + static_cast<std::uintptr_t>(piece.place);
    insert(begin, {begin + static_cast<std::uintptr_t>(piece.size), piece.content, piece.offset});
  }
}

std::vector<Piece> SymbolicMemory::read(TracedBytes span) const {
  std::vector<Piece> found;
  auto at = pieces_.upper_bound(span.address);
  if (at != pieces_.begin()) --at;
  for (; at != pieces_.end() && at->first < span.end(); ++at) {
    const std::uintptr_t begin = std::max(at->first, span.address),
                         end = std::min(at->second.end, span.end());
    if (begin >= end) continue;
    found.push_back({static_cast<Index>(begin - span.address), static_cast<Index>(end - begin),
                     at->second.content, at->second.offset + static_cast<Index>(begin - at->first)});
  }
  return found;
}

std::vector<std::pair<TracedBytes, Piece>> SymbolicMemory::all() const {
  std::vector<std::pair<TracedBytes, Piece>> found;
  for (const auto& [begin, stored] : pieces_) {
    const auto size = static_cast<Index>(stored.end - begin);
    found.push_back({TracedBytes(begin, size), {0, size, stored.content, stored.offset}});
  }
  return found;
}

}  // namespace ringcraft::verify
