#pragma once
/// @file
/// The lines of one gradient by one recipe: everything that is linear in the cells of all pairs of a shard
/// and a block. Internal to the harness.

#include <functional>
#include <utility>
#include <vector>

#include "ringcraft/core/matrix.hpp"
#include "verify/diagnose/solve/gradient/gradient_recipe.hpp"
#include "verify/diagnose/solve/line_system.hpp"
#include "verify/diagnose/solve/solve_detail.hpp"

namespace ringcraft::verify {

/// With P and dS by a recipe,
///   dq = sum of c_x (sum over x of dS k),  dk = sum of c_x (sum over x of dS q),  dv likewise of P dout
/// over the cells x of all pairs.
class GradientLines {
 public:
  using Numbers = std::vector<double>;  ///< of a line
  /// The pairs of a shard and a block that count.
  using Which = std::function<bool(int shard, int block)>;

  GradientLines(const Evidence& evidence, GradientName name, const Recipe& recipe);

  /// Whether a line is a block's: of dk and dv.
  bool of_keys() const { return name_ != GradientName::kDq; }
  /// Number of lines.
  int count() const { return static_cast<int>(of_keys() ? keys_.size() : rows_.size()); }
  /// The result of this recipe and the claimed values, for one line.
  std::pair<Numbers, Numbers> direct(int line, const Which& counts = {});
  /// Solves for its cells, and for any other contributions that may have been added.
  LineSystem solved(int line, MaskSet masks, bool with_others, KnownCells& cells);

 private:
  std::size_t index() const { return 2 + static_cast<std::size_t>(name_); }
  std::size_t most_lines() const;
  Numbers tolerances() const;
  std::size_t element(Index b, Index h, Index row) const;
  Index row_of_line(int line, Index i) const;
  void prepare(int line);
  double share(Index head, Index kv_head) const;
  void add(Numbers& column, int shard, Index i, int block, Index n, int values, GradientName what,
           int to) const;
  void put(Numbers& column, Index b, Index h, Index target, Index row, double weight,
           std::span<const double> with) const;
  void add_whole(Numbers& column, int shard, int block, GradientName what, int to) const;

  const Evidence& e_;
  GradientName name_;
  Recipe recipe_;
  Weights weights_;
  const Buffer& claim_;
  Numbers tolerances_;
  std::vector<std::vector<Index>> rows_, keys_;
  Numbers wanted_;
  std::vector<Index> first_;  // index of each row of the line among the sampled rows; -1: not sampled
};

}  // namespace ringcraft::verify
