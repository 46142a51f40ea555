#pragma once
// Dumps as people write them: any order of axes, rows of one rank, rows of padding, any shape in the file.

#include <map>
#include <string>
#include <vector>

#include "tool/tool_process.hpp"

namespace ringcraft::tests {

// A tensor of float64 of any shape, as it goes into a file.
struct Dumped {
  std::vector<Index> shape;
  std::vector<double> numbers;
};

// Rows `rows` of a tensor [batch, heads, seqlen, width], its axes in the order of `code` ("bshd", "[bs]hd",
// "bhs1"; see src/verify/claims/forms/axes.hpp) and its first `width` columns. Row -1 is padding: it holds 777.
Dumped dumped(const Buffer& tensor, const std::string& code, const std::vector<Position>& rows, Index width);

void write_dump(const std::string& path, const std::map<std::string, Dumped>& tensors);

// 0, 1, ..., count - 1.
std::vector<Position> all_rows(Position count);

}  // namespace ringcraft::tests
