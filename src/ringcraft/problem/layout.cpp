// Which rank owns which token (see layout.hpp).
#include "ringcraft/problem/layout.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

// numpy.array_split of `seqlen` tokens into `chunks` chunks: chunk g starts here.
Position chunk_begin(Position seqlen, Index chunks, Index g) {
  return g * (seqlen / chunks) + std::min(g, seqlen % chunks);
}

Position chunk_rows(Position seqlen, Index chunks, Index g) {
  return seqlen / chunks + (g < seqlen % chunks ? 1 : 0);
}

// The chunk that holds a position.
Index chunk_of(Position seqlen, Index chunks, Position p) {
  const Position rows = seqlen / chunks, longer = seqlen % chunks;
  const Position border = longer * (rows + 1);  // chunks before this position are one longer
  return p < border ? p / (rows + 1) : longer + (p - border) / rows;
}

}  // namespace

std::string_view name_of(Layout layout) {
  switch (layout) {
    case Layout::kContiguous:
      return "contiguous";
    case Layout::kStriped:
      return "striped";
    case Layout::kZigzag:
      return "zigzag";
    case Layout::kZigzagToken:
      return "zigzag-token";
  }
  return "?";
}

Index Sharding::rows(int rank) const {
  const Index n = world_size, r = rank;
  switch (layout) {
    case Layout::kContiguous:
      return chunk_rows(seqlen, n, r);
    case Layout::kZigzag:
      return chunk_rows(seqlen, 2 * n, r) + chunk_rows(seqlen, 2 * n, 2 * n - 1 - r);
    case Layout::kStriped:
      return seqlen / n + (r < seqlen % n ? 1 : 0);
    case Layout::kZigzagToken: {
      const Position folds = seqlen / n, rest = seqlen % n;  // the last, incomplete fold runs either way
      return folds + ((folds % 2 == 0 ? r : n - 1 - r) < rest ? 1 : 0);
    }
  }
  return 0;
}

Index Sharding::largest_rows() const { return (seqlen + world_size - 1) / world_size; }

int Sharding::owner_of(Position p) const {
  const Index n = world_size;
  switch (layout) {
    case Layout::kContiguous:
      return static_cast<int>(chunk_of(seqlen, n, p));
    case Layout::kStriped:
      return static_cast<int>(p % n);
    case Layout::kZigzag: {
      const Index chunk = chunk_of(seqlen, 2 * n, p);
      return static_cast<int>(std::min(chunk, 2 * n - 1 - chunk));
    }
    case Layout::kZigzagToken:
      return static_cast<int>((p / n) % 2 == 0 ? p % n : n - 1 - p % n);
  }
  return 0;
}

Position Sharding::global_from_local(int rank, Index row) const {
  const Index n = world_size, r = rank;
  switch (layout) {
    case Layout::kContiguous:
      return chunk_begin(seqlen, n, r) + row;
    case Layout::kStriped:
      return row * n + r;
    case Layout::kZigzag: {
      const Index first = chunk_rows(seqlen, 2 * n, r);  // rows of the early chunk
      return row < first ? chunk_begin(seqlen, 2 * n, r) + row
                         : chunk_begin(seqlen, 2 * n, 2 * n - 1 - r) + row - first;
    }
    case Layout::kZigzagToken:
      return row * n + (row % 2 == 0 ? r : n - 1 - r);
  }
  return 0;
}

Index Sharding::local_from_global(Position p) const {
  const Index n = world_size;
  switch (layout) {
    case Layout::kContiguous:
      return p - chunk_begin(seqlen, n, chunk_of(seqlen, n, p));
    case Layout::kStriped:
    case Layout::kZigzagToken:
      return p / n;
    case Layout::kZigzag: {
      const Index chunk = chunk_of(seqlen, 2 * n, p);
      const Index before = chunk < n ? 0 : chunk_rows(seqlen, 2 * n, 2 * n - 1 - chunk);
      return before + p - chunk_begin(seqlen, 2 * n, chunk);
    }
  }
  return 0;
}

std::vector<Position> Sharding::positions(int rank) const {
  std::vector<Position> all(static_cast<std::size_t>(rows(rank)));
  for (std::size_t a = 0; a < all.size(); ++a) all[a] = global_from_local(rank, static_cast<Index>(a));
  return all;
}

namespace {

enum class Direction { kScatter, kGather };

// Copies a rank's rows between the whole tensor and its shard. WholeBytes and ShardBytes differ in constness
// only.
template <Direction direction, class WholeBytes, class ShardBytes>
void copy_rows(WholeBytes whole, ShardBytes shard, const Extents& e, DType type, const Sharding& sharding,
               int rank) {
  const auto positions = sharding.positions(rank);
  const std::size_t row_bytes = static_cast<std::size_t>(e.width) * size_of(type);
  for (Index head = 0; head < e.batch * e.heads; ++head)
    for (std::size_t a = 0; a < positions.size(); ++a) {
      auto* global =
          whole.data() + static_cast<std::size_t>(head * sharding.seqlen + positions[a]) * row_bytes;
      auto* local = shard.data() + (static_cast<std::size_t>(head) * positions.size() + a) * row_bytes;
      if constexpr (direction == Direction::kScatter) {
        std::memcpy(local, global, row_bytes);
      } else {
        std::memcpy(global, local, row_bytes);
      }
    }
}

void require_rows(const Buffer& buffer, Index rows, const char* what) {
  if (buffer.extents().rows != rows)
    throw Error(what, std::to_string(rows) + " rows", std::to_string(buffer.extents().rows),
                "check seqlen, layout and number of ranks");
}

}  // namespace

Buffer scatter(const Buffer& whole, const Sharding& sharding, int rank) {
  require_rows(whole, sharding.seqlen, "scatter");
  Extents e = whole.extents();
  e.rows = sharding.rows(rank);
  Buffer shard(e, whole.dtype());
  if (!shard.empty())
    copy_rows<Direction::kScatter>(whole.bytes(), shard.bytes(), e, whole.dtype(), sharding, rank);
  return shard;
}

void gather(Buffer& whole, const Buffer& shard, const Sharding& sharding, int rank) {
  require_rows(whole, sharding.seqlen, "gather");
  require_rows(shard, sharding.rows(rank), "gather");
  if (!shard.empty())
    copy_rows<Direction::kGather>(whole.bytes(), shard.bytes(), whole.extents(), whole.dtype(), sharding,
                                  rank);
}

}  // namespace ringcraft
