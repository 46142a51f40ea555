#pragma once
/// @file
/// Where a program looks for a number of a tensor: a tensor is memory, and an index is a formula over row,
/// column, head and extents. Each word is one wrong formula that people write.

#include <functional>
#include <string>
#include <vector>

#include "ringcraft/core/types.hpp"

namespace ringcraft::verify {

/// One number of a tensor [batch, heads, rows, width] that is about to be read or written.
struct Spot {
  Index batch, head, row, column;  ///< where it is
  Index heads, rows, width;        ///< extents of the tensor; the rows are those of one head
  Index first = 0;                 ///< the first row that this call has got: k and v come part by part
  Index count = 0;                 ///< how many rows it has got
  Index query_head = 0;            ///< of k and v: the head that asks
  Index query_heads = 1;           ///< how many there are
  Index other = -1;                ///< of k and v the query's row, of q the key's within its part; -1: none
  Index others = 0;                ///< how many rows of that kind this call has got
  Index begin = 0;                 ///< the first key that the query sees, within its part

  /// The place in memory of a row and a column of this head; right for `row` and `column`.
  Index at(Index of_row, Index of_column) const {
    return ((batch * heads + head) * rows + of_row) * width + of_column;
  }
  /// Row within the call.
  Index local() const { return row - first; }
};

/// The tensors that are looked at.
enum class TensorRole : std::uint8_t { kQuery, kKey, kValue, kOut, kScores, kWeights };

/// One way of looking in the wrong place.
struct AddressWord {
  std::string words;                     ///< "k is read as [head_dim, keys]"
  std::function<Index(const Spot&)> of;  ///< the place in memory
  bool usual = false;                    ///< often enough to be tried together with another mistake
};

/// All words for a tensor; usual ones first.
std::vector<AddressWord> address_words(TensorRole role);

/// Which columns a dot product runs over.
struct ColumnWord {
  std::string words;                      ///< "the products run over the first 64 columns alone"
  std::function<Index(Index, Index)> of;  ///< how often this column of so many counts
};
/// All of them.
std::vector<ColumnWord> column_words();

/// A key that a loop over one row's keys may visit; numbers within the part that the call has got.
struct KeySpot {
  Index row, key, begin, end;    ///< the row sees [begin, end)
  Index rows, keys, width;       ///< extents of the call
  Index first_begin, first_end;  ///< what row 0 sees
};

/// Which keys a loop visits.
struct KeyWord {
  std::string words;                       ///< "every second key is passed over"
  std::function<bool(const KeySpot&)> of;  ///< whether the loop visits the key
};
/// All of them.
std::vector<KeyWord> key_words();

}  // namespace ringcraft::verify
