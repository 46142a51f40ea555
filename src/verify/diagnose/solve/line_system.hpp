#pragma once
/// @file
/// One line of a claim as a linear system. What a shard of rows (or a block of keys) gets is a sum over the
/// blocks (or shards) that it meets, and a wrong ring has wrong coefficients. The pairs of a shard and a
/// block are cut into cells which every named mask either has whole or not at all; each cell is a column.

#include <compare>
#include <functional>
#include <map>
#include <vector>

#include "verify/diagnose/solve/named_mask.hpp"

namespace ringcraft::verify {

/// What is done with a block where its own use belongs, as a law that may hold for many pairs of a shard and
/// a block.
struct Law {
  /// What is done.
  enum class Deed : std::uint8_t {
    kMissing,        ///< it is not used
    kTwice,          ///< it is used twice
    kMask,           ///< it is seen through another mask
    kTakenFor,       ///< its keys are taken for those of another block
    kRowsTaken,      ///< the rows are taken for those of another shard
    kHolds,          ///< another block's keys and values stand in its place
    kValuesOf,       ///< its values are another block's
    kKeysOf,         ///< its keys are another block's
    kShareOf,        ///< the sum gets another block's part in its place
    kShareToo,       ///< the sum gets another block's part besides
    kKeysForValues,  ///< its keys stand in the place of its values
    kOtherTensor,    ///< the part of the other tensor (dk, dv) stands in its place
    kOtherToo,       ///< the part of the other tensor is added besides
  };
  /// Which other block it is, of block a at shard r.
  enum class Which : std::uint8_t {
    kNone,       ///< there is no other
    kOwn,        ///< r
    kMirror,     ///< 2 r - a: that of rank + t where rank - t is right
    kOffset,     ///< a + offset
    kFixed,      ///< the same for all: offset
    kReflected,  ///< 2 r - a - offset: steps are counted in the opposite direction
  };
  Deed deed;
  NamedMask mask = {};
  Which which = Which::kNone;
  int offset = 0;

  friend auto operator<=>(const Law&, const Law&) = default;
};

/// One way in which a slot may be filled.
struct SlotState {
  std::vector<Law> laws;        ///< how it may be said; empty: as it should be
  std::vector<double> weights;  ///< of all columns
  bool own = true;              ///< its data are the block's own
};

/// Deviations of one line: by slot, the laws that say what was done.
using Deviations = std::map<int, std::vector<Law>>;

/// See above.
struct LineSystem {
  int line = 0;                               ///< the shard, or the block
  bool of_keys = false;                       ///< the line is a block's: slots are shards
  int group = 0;                              ///< if not 0, each group-th equation is judged apart
  std::vector<double> wanted;                 ///< what was claimed, in units of what it may be off
  std::vector<std::vector<double>> columns;   ///< of each cell
  std::vector<int> slot_of;                   ///< of each column
  std::vector<std::vector<SlotState>> slots;  ///< the right state first

  /// A cell: pairs that every named mask either has or has not.
  struct Cell {
    Index row, key;  ///< of its first pair, counted in shard and block
    Index pairs;     ///< how many it has, of those looked at
    bool seen;       ///< whether the right mask has it
  };
  std::vector<Cell> cells;  ///< of the first columns

  bool possible = false;                        ///< some choice of coefficients explains it
  bool solved = false;                          ///< some choice of states does
  double floor = 0;                             ///< what no choice of coefficients explains
  std::vector<Deviations> solutions;            ///< ways to say it, if solved
  std::vector<double> coefficients;             ///< whole numbers that explain it, if it is not; else empty
  std::map<std::pair<int, Law>, double> shows;  ///< how much a law would change in a slot
};

/// Where a line gets its numbers: adds the contribution of a pair of row and key to a column. Row and key are
/// counted in their shard and block.
using AddPair = std::function<void(std::vector<double>& column, int shard, Index i, int block, Index n)>;

/// The pairs of a shard and a block, cut by all masks.
struct Cells {
  std::vector<std::vector<bool>> masks;  ///< of each cell: which masks have it
  std::vector<std::size_t> of_pair;      ///< the cell of each pair, [rows looked at, keys looked at]
};
/// Those of several shards and blocks, kept for the next setting.
using KnownCells = std::map<std::pair<int, int>, Cells>;

/// What a line may have been made of.
struct Ingredients {
  const BlockProblem& problem;
  const Arrangement& place;
  std::vector<NamedMask> masks;
  std::vector<std::vector<Index>> rows, keys;  ///< of each shard and block those that are looked at
  AddPair add;
  KnownCells* known = nullptr;  ///< if set: of these masks, rows and keys
  /// If set: the same with the values (for gradients of queries: the keys) of another block; -1: with the
  /// block's keys for its values.
  std::function<void(std::vector<double>& column, int shard, Index i, int block, Index n, int values)>
      add_mixed = {};
  /// If set: the part of (shard, block) as it lands on block `to`.
  std::function<void(std::vector<double>& column, int shard, int block, int to)> add_share = {};
  /// If set: the part of (shard, block) of the other tensor.
  std::function<void(std::vector<double>& column, int shard, int block)> add_other = {};
};

/// The system of a line. `wanted` and `group` as in LineSystem.
LineSystem line_system(const Ingredients& from, int line, bool of_keys, std::vector<double> wanted,
                       int group);

/// What is left if each slot is filled so.
double residual_with(const LineSystem& system, const std::vector<std::size_t>& states);

/// Solves it: the fewest and smallest changes whose residual is at most `threshold`.
void solve(LineSystem& system, double threshold);

/// Least squares: the coefficients of all columns, and the root mean square of what is left.
std::pair<std::vector<double>, double> least_squares(const std::vector<std::vector<double>>& columns,
                                                     const std::vector<double>& wanted);

/// The worse of the two means where every group-th equation is judged apart.
double residual_of(const std::vector<double>& left, int group);

}  // namespace ringcraft::verify
