#pragma once
/// @file
/// Explains the kernels of a step one by one, each from the memory that it reads and writes.

#include <functional>
#include <string>
#include <vector>

#include "verify/diagnose/exhibit.hpp"
#include "verify/diagnose/tiles/address.hpp"
#include "verify/report/report.hpp"

namespace ringcraft::verify {

/// Why the kernel of the scores is wrong; empty if it is right, or nothing explains it.
std::vector<Cause> causes_of_scores(const StepExhibit& exhibit);
/// The same for the kernel of the softmax.
std::vector<Cause> causes_of_softmax(const StepExhibit& exhibit);
/// The same for the kernel of the values.
std::vector<Cause> causes_of_values(const StepExhibit& exhibit);

/// The address of a number in a matrix with these extents.
inline Spot spot_of(Index row, Index column, Index rows, Index width, Index others) {
  return {.batch = 0,
          .head = 0,
          .row = row,
          .column = column,
          .heads = 1,
          .rows = rows,
          .width = width,
          .count = rows,
          .others = others};
}
/// A number of a tensor; tiles are padded with zeros beyond its borders.
inline double number_or_zero(const std::vector<double>& numbers, Index place) {
  return place < 0 || place >= static_cast<Index>(numbers.size()) ? 0
                                                                  : numbers[static_cast<std::size_t>(place)];
}
/// A row's key, as a loop visits it.
inline KeySpot key_of(const StepExhibit& x, Index row, Index key) {
  const auto i = static_cast<std::size_t>(row);
  return {row, key, x.begin[i], x.end[i], x.rows, x.keys, x.width, x.begin[0], x.end[0]};
}
/// Whether the row sees the key.
inline bool is_seen(const StepExhibit& x, Index row, Index key) {
  return x.begin[static_cast<std::size_t>(row)] <= key && key < x.end[static_cast<std::size_t>(row)];
}

/// The words for keys that a loop visits, for this loop.
std::vector<std::string> words_of_loop(const std::vector<KeyWord>& words, const std::string& loop,
                                       const std::string& where = "");

/// The numbers (row, column) of a matrix that a kernel computes at all.
struct NumberWord {
  std::string words;  ///< % stands for the matrix's name
  std::function<bool(Index, Index, Index, Index, Index)>
      of;  ///< row, column, rows, columns, the other extent
};
/// All of them, for a matrix of this name.
std::vector<NumberWord> number_words(const std::string& matrix);

}  // namespace ringcraft::verify
