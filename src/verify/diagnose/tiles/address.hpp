#pragma once
/// @file
/// Addresses from which a program reads a number of a tensor: an index is a formula over row, column, head
/// and extents. Each word is one common wrong formula.

#include <functional>
#include <string>
#include <vector>

#include "ringcraft/core/types.hpp"

namespace ringcraft::verify {

/// One number of a tensor [batch, heads, rows, width] to be read or written.
struct Spot {
  Index batch, head, row, column;  ///< its right place
  Index heads, rows, width;        ///< extents of the tensor; the rows are those of one head
  Index first = 0;                 ///< the first row that this call has: k and v come part by part
  Index count = 0;                 ///< number of rows that it has
  Index query_head = 0;            ///< for k and v: the head of the query
  Index query_heads = 1;           ///< number of query heads
  Index other = -1;                ///< for k and v the query's row, for q the key's within its part; -1: none
  Index others = 0;                ///< number of such rows in this call
  Index begin = 0;                 ///< the first key that the query sees, within its part

  /// The address of a row and a column of this head; right for `row` and `column`.
  Index at(Index of_row, Index of_column) const {
    return ((batch * heads + head) * rows + of_row) * width + of_column;
  }
  /// Row relative to the call.
  Index local() const { return row - first; }
};

/// The tensors with addresses.
enum class TensorRole : std::uint8_t { kQuery, kKey, kValue, kOut, kScores, kWeights };

/// One wrong address.
struct AddressWord {
  std::string words;                     ///< "k is read as [head_dim, keys]"
  std::function<Index(const Spot&)> of;  ///< the address
  bool usual = false;                    ///< common enough to be combined with another mistake
};

/// All words for a tensor; usual ones first.
std::vector<AddressWord> address_words(TensorRole role);

/// The columns that a dot product sums.
struct ColumnWord {
  std::string words;                      ///< "the products run over the first 64 columns alone"
  std::function<Index(Index, Index)> of;  ///< multiplicity of a column, given the width
};
/// All of them.
std::vector<ColumnWord> column_words();

/// A key that a loop over one row's keys may visit; numbers relative to the part in this call.
struct KeySpot {
  Index row, key, begin, end;    ///< the row sees [begin, end)
  Index rows, keys, width;       ///< extents of the call
  Index first_begin, first_end;  ///< range of row 0
};

/// The keys that a loop visits.
struct KeyWord {
  std::string words;                       ///< "every second key is passed over"
  std::function<bool(const KeySpot&)> of;  ///< whether the loop visits the key
};
/// All of them.
std::vector<KeyWord> key_words();

}  // namespace ringcraft::verify
