#pragma once
/// @file
/// One head of attention, tile by tile, with a wrong index (see tile_program.hpp); internal to the harness.

#include <optional>
#include <vector>

#include "ringcraft/attention/blockwise.hpp"
#include "verify/diagnose/tiles/tile_program.hpp"
#include "verify/diagnose/twisted/scan.hpp"
#include "verify/diagnose/twisted/twisted_ring_detail.hpp"

namespace ringcraft::verify {

/// Rows of a tensor.
using TileRows = std::vector<std::vector<double>>;

/// One tile of a head: rows [row0, row1), keys [key0, key1).
struct TileAt {
  Index row0, row1, key0, key1;  ///< half-open ranges
};

/// One head: its inputs, and the results under a slip. An index outside a tensor makes the slip impossible.
class TileHead {
 public:
  /// Takes one head, in tiles of this size.
  TileHead(const Evidence& e, Index batch, Index head, TileSize tile, const TileSlip& slip)
      : e_(e),
        b_(batch),
        h_(head),
        g_(head / e.problem.group()),
        rows_(static_cast<Index>(e.problem.queries.size())),
        keys_(static_cast<Index>(e.problem.keys.size())),
        width_(static_cast<std::size_t>(e.problem.head_dim)),
        tile_(tile),
        slip_(slip) {}

  /// out and lse; empty if the slip is impossible.
  std::optional<std::pair<TileRows, std::vector<double>>> forward();
  /// dq of the head, and its part of dk and dv.
  struct Gradients {
    TileRows dq, dk, dv;  ///< [rows or keys, head_dim]
  };
  std::optional<Gradients> backward();  ///< empty if the slip is impossible
  /// The keys of a row, a part for each tile, as a slip of what is read gives them; empty if it is impossible.
  std::optional<std::vector<std::vector<ScanKey>>> parts_of(Index row);

 private:
  // The index of row (or key) i of a tile: row0 + i for a right operand.
  Index at(TileOperand operand, const TileAt& t, Index i) {
    const bool of_key = operand >= TileOperand::kKey;
    const Index base = of_key ? t.key0 : t.row0, other = of_key ? t.row0 : t.key0;
    Index place = base + i;
    if (slip_.has(operand)) switch (slip_.index) {
        case TileIndex::kWithinTile:
          place = i;
          break;
        case TileIndex::kFirstOfTile:
          place = base;
          break;
        case TileIndex::kOtherBase:
          place = other + i;
          break;
        case TileIndex::kNext:
          place = base + i + 1;
          break;
        case TileIndex::kBefore:
          place = base + i - 1;
          break;
        case TileIndex::kTransposed:
        case TileIndex::kStored:
          break;
      }
    possible_ = possible_ && place >= 0 && place < (of_key ? keys_ : rows_);
    return possible_ ? place : 0;
  }

  bool sees(const TileAt& t, Index i, Index j) {
    return visible(e_.problem.mask,
                   e_.problem.queries[static_cast<std::size_t>(at(TileOperand::kMaskRow, t, i))],
                   e_.problem.keys[static_cast<std::size_t>(at(TileOperand::kMaskKey, t, j))]);
  }

  double score(const TileAt& t, Index i, Index j) {
    return e_.problem.softmax_scale * dot(row_of(e_.inputs.q, b_, h_, at(TileOperand::kQuery, t, i)),
                                          row_of(e_.inputs.k, b_, g_, at(TileOperand::kKey, t, j)));
  }

  template <class Body>
  void for_each_part(Body body) {
    for (Index row0 = 0; row0 < rows_ && possible_; row0 += tile_.rows)
      for (Index key0 = 0; key0 < keys_ && possible_; key0 += tile_.keys)
        body(TileAt{row0, std::min<Index>(row0 + tile_.rows, rows_), key0,
                    std::min<Index>(key0 + tile_.keys, keys_)});
  }

  struct Seen {
    Index key;
    double weight;  // initially its score
  };
  // The weights of a row in a tile; updates m, l and O.
  std::vector<Seen> weigh(const TileAt& t, Index i, TileRows& out, std::vector<double>& max,
                          std::vector<double>& sum);
  void add_values(const TileAt& t, Index i, const std::vector<Seen>& seen, TileRows& out);

  bool is_visited(const TileAt& t) {
    for (Index i = 0; i < t.row1 - t.row0; ++i)
      for (Index j = 0; j < t.key1 - t.key0; ++j)
        if (sees(t, i, j)) return true;
    return false;
  }
  void forget(const TileAt& t, Gradients& g) const;

  const Evidence& e_;
  Index b_, h_, g_, rows_, keys_;
  std::size_t width_;
  TileSize tile_;
  TileSlip slip_;
  bool possible_ = true;
};

}  // namespace ringcraft::verify
