// Compares pieces of memory with the rows of a tensor, run by run.
#include "verify/schedule/rows/tensor_rows.hpp"

#include <algorithm>

#include "ringcraft/parallel/hybrid/rank_grid.hpp"

namespace ringcraft::verify {

TensorRows::TensorRows(const Problem& problem, int degree)
    : problem_(problem), degree_(degree), units_(degree == 1 ? problem : column_problem(problem, degree)) {}

const std::vector<Position>& TensorRows::positions(int block, int joined) {
  const auto [found, is_new] = positions_.try_emplace({joined, block});
  if (is_new) found->second = (joined == 1 ? problem_ : units_).sharding().positions(block);
  return found->second;
}

Index TensorRows::all_heads(Content::Kind kind) const {
  return Content{kind, 0, 0, {}}.is_of_keys() ? problem_.shape.kv_heads : problem_.shape.heads;
}

Heads TensorRows::heads_of(const Content& content) const {
  return content.heads == Heads{} ? Heads{0, all_heads(content.kind)} : content.heads;
}

Heads TensorRows::heads(Content::Kind kind, Index first, Index count) const {
  return count == all_heads(kind) ? Heads{} : Heads{first, count};
}

Heads TensorRows::query_heads(Index kv_head) const {
  return {kv_head * problem_.shape.group(), problem_.shape.group()};
}

Index TensorRows::row_bytes(const Content& content) {
  const Index count = problem_.shape.batch * heads_of(content).count * rows(content);
  return count == 0 || content.bytes % count != 0 ? 0 : content.bytes / count;
}

TensorRows::Spot TensorRows::spot(const Content& content, Index byte) {
  const Index width = row_bytes(content), row = byte / width, head = row / rows(content);
  const Heads heads = heads_of(content);
  return {head / heads.count, heads.first + head % heads.count, row % rows(content), byte % width};
}

std::optional<TensorRows::Wrong> TensorRows::differs(const std::vector<Piece>& pieces, const Content& want,
                                                     const std::deque<Content>& contents, UsedHeads* used) {
  const Index width = row_bytes(want);
  const std::vector<Position>& wanted = positions(want.block, want.joined);
  Index at = 0;
  const auto wrong = [&](const std::string& found) {
    if (width == 0) return Wrong{0, 0, found};
    const Spot here = spot(want, at);
    return Wrong{here.head, wanted[static_cast<std::size_t>(here.row)], found};
  };
  for (const Piece& piece : pieces) {
    if (piece.place != at) return wrong("memory that nothing was put into");
    const Content& c = contents[piece.content];
    if (c.kind != want.kind || width == 0 || row_bytes(c) != width) return wrong(name_of(c));
    const std::vector<Position>& found = positions(c.block, c.joined);
    for (Index done = 0; done < piece.size;) {
      const Spot to = spot(want, at), from = spot(c, piece.offset + done);
      const Position there = found[static_cast<std::size_t>(from.row)];
      if (to.batch != from.batch || to.head != from.head || to.byte != from.byte ||
          wanted[static_cast<std::size_t>(to.row)] != there)
        return wrong("head " + std::to_string(from.head) + ", token " + std::to_string(there) + " of " +
                     name_of(c));
      if (used != nullptr) used->insert({piece.content, from.head});
      const bool same_rows = c.block == want.block && c.joined == want.joined;  // then up to the next head
      const Index next = same_rows ? (std::ssize(wanted) - to.row) * width - to.byte : width - to.byte;
      const Index step = std::min(next, piece.size - done);
      done += step;
      at += step;
    }
  }
  if (at < want.bytes) return wrong("memory that nothing was put into");
  return {};
}

std::optional<Content> TensorRows::made_of(const std::vector<Piece>& pieces, Index bytes, Content::Kind kind,
                                           const std::deque<Content>& contents) {
  if (pieces.empty() || pieces[0].place != 0) return {};
  const Content& first = contents[pieces[0].content];
  const Index width = row_bytes(first);
  if (first.kind != kind || width == 0) return {};
  const Spot begin = spot(first, pieces[0].offset);
  Content made{kind, first.block, bytes, {}, degree_, {}};
  if (first.joined != degree_) made.block = first.block / degree_;
  const Index head_bytes = problem_.shape.batch * rows(made) * width;
  if (head_bytes == 0 || bytes % head_bytes != 0) return {};
  const Index count = bytes / head_bytes;
  if (count > all_heads(kind) - begin.head) return {};
  made.heads = heads(kind, begin.head, count);
  if (differs(pieces, made, contents)) return {};
  return made;
}

}  // namespace ringcraft::verify
