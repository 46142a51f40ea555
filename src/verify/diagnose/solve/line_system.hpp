#pragma once
/// @file
/// One line of a claim as a linear system. The result of a shard of rows (or a block of keys) is a sum over
/// the blocks (or shards) that it meets, and a wrong ring has wrong coefficients. The pairs of a shard and a
/// block are cut into cells that every named mask contains either completely or not at all; each cell is a
/// column.

#include <compare>
#include <functional>
#include <map>
#include <vector>

#include "verify/diagnose/solve/named_mask.hpp"

namespace ringcraft::verify {

/// A change to the right use of a block, as a law that may hold for many pairs of a shard and a block.
struct Law {
  /// The kind of change.
  enum class Deed : std::uint8_t {
    kMissing,        ///< it is not used
    kTwice,          ///< it is used twice
    kMask,           ///< another mask is applied
    kTakenFor,       ///< its keys are masked as those of another block
    kRowsTaken,      ///< the rows are masked as those of another shard
    kHolds,          ///< another block's keys and values are used instead
    kValuesOf,       ///< its values are another block's
    kKeysOf,         ///< its keys are another block's
    kShareOf,        ///< another block's part is added instead
    kShareToo,       ///< another block's part is added as well
    kKeysForValues,  ///< its keys are used as its values
    kOtherTensor,    ///< the part of the other tensor (dk, dv) is added instead
    kOtherToo,       ///< the part of the other tensor is added as well
  };
  /// The other block, as a function of block a and shard r.
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

/// One way to fill a slot.
struct SlotState {
  std::vector<Law> laws;        ///< possible wordings; empty: the right state
  std::vector<double> weights;  ///< of all columns
  bool own = true;              ///< its data are the block's own
};

/// Deviations of one line: by slot, the laws that describe the change.
using Deviations = std::map<int, std::vector<Law>>;

/// The system of one line, and its solution.
struct LineSystem {
  int line = 0;                               ///< the shard, or the block
  bool of_keys = false;                       ///< the line is a block's: slots are shards
  int group = 0;                              ///< if not 0, each group-th equation is judged apart
  std::vector<double> wanted;                 ///< the claim, in units of its tolerance
  std::vector<std::vector<double>> columns;   ///< of each cell
  std::vector<int> slot_of;                   ///< of each column
  std::vector<std::vector<SlotState>> slots;  ///< the right state first

  /// A cell: pairs that every named mask contains together or not at all.
  struct Cell {
    Index row, key;  ///< of its first pair, counted in shard and block
    Index pairs;     ///< number of its sampled pairs
    bool seen;       ///< whether the right mask has it
  };
  std::vector<Cell> cells;  ///< of the first columns

  bool possible = false;                        ///< some choice of coefficients explains it
  bool solved = false;                          ///< some choice of states does
  double floor = 0;                             ///< residual that no choice of coefficients removes
  std::vector<Deviations> solutions;            ///< possible descriptions, if solved
  std::vector<double> coefficients;             ///< whole numbers that explain it, if not solved; else empty
  std::map<std::pair<int, Law>, double> shows;  ///< change that a law would cause in a slot
};

/// Adds the contribution of a pair of row and key to a column. Row and key are counted in their shard and
/// block.
using AddPair = std::function<void(std::vector<double>& column, int shard, Index i, int block, Index n)>;

/// The pairs of a shard and a block, cut by all masks.
struct Cells {
  std::vector<std::vector<bool>> masks;  ///< of each cell: the masks that contain it
  std::vector<std::size_t> of_pair;      ///< the cell of each pair, [sampled rows, sampled keys]
};
/// Cells of several shards and blocks, kept for the next setting.
using KnownCells = std::map<std::pair<int, int>, Cells>;

/// Everything that a line may consist of.
struct Ingredients {
  const BlockProblem& problem;
  const Arrangement& place;
  std::vector<NamedMask> masks;
  std::vector<std::vector<Index>> rows, keys;  ///< the sampled ones of each shard and block
  AddPair add;
  KnownCells* known = nullptr;  ///< if set: cells of these masks, rows and keys
  /// If set: the same with the values (for gradients of queries: the keys) of another block; -1: with the
  /// block's keys used as its values.
  std::function<void(std::vector<double>& column, int shard, Index i, int block, Index n, int values)>
      add_mixed = {};
  /// If set: the part of (shard, block) as it is added to block `to`.
  std::function<void(std::vector<double>& column, int shard, int block, int to)> add_share = {};
  /// If set: the part of (shard, block) of the other tensor.
  std::function<void(std::vector<double>& column, int shard, int block)> add_other = {};
};

/// The system of a line. `wanted` and `group` as in LineSystem.
LineSystem line_system(const Ingredients& from, int line, bool of_keys, std::vector<double> wanted,
                       int group);

/// The residual if each slot is filled this way.
double residual_with(const LineSystem& system, const std::vector<std::size_t>& states);

/// Solves it: finds the fewest and smallest changes whose residual is at most `threshold`.
void solve(LineSystem& system, double threshold);

/// Least squares: the coefficients of all columns, and the root mean square of the residual.
std::pair<std::vector<double>, double> least_squares(const std::vector<std::vector<double>>& columns,
                                                     const std::vector<double>& wanted);

/// The worse of the two means where every group-th equation is judged apart.
double residual_of(const std::vector<double>& left, int group);

}  // namespace ringcraft::verify
