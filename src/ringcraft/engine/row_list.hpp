#pragma once
/// @file
/// RowList: rows of a tensor by number, listed only when an engine moves them. How many there are is known
/// without the list, so engines that move nothing never make it.

#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "ringcraft/core/types.hpp"

namespace ringcraft {

/// Numbers of rows, in any order. Used by one thread.
class RowList {
 public:
  /// The rows 0 to count - 1.
  explicit RowList(Index count)
      : count_(count), list_([count] {
          std::vector<Index> rows(static_cast<std::size_t>(count));
          std::iota(rows.begin(), rows.end(), Index{0});
          return rows;
        }) {}
  /// `count` rows, which list() returns.
  RowList(Index count, std::function<std::vector<Index>()> list) : count_(count), list_(std::move(list)) {}

  /// Number of rows.
  Index size() const { return count_; }
  /// The rows, made by the first call.
  const std::vector<Index>& rows() const {
    if (!made_) rows_ = list_();
    made_ = true;
    return rows_;
  }

 private:
  Index count_;
  std::function<std::vector<Index>()> list_;
  mutable bool made_ = false;
  mutable std::vector<Index> rows_;
};

}  // namespace ringcraft
