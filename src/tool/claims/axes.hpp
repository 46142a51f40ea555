#pragma once
// In which order a stored tensor has its axes. Everything inside of the tool is [batch, heads, seqlen,
// width]; files come as other libraries write them. An order is a short code, one letter for each dimension:
//     b batch, h heads, s tokens, d head_dim, 1 an extent of 1, [bs] both in one dimension, tokens within
//     batch entries.
// A letter that is missing stands for an extent of 1.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ringcraft/core/buffer.hpp"
#include "ringcraft/problem/mask.hpp"

namespace ringcraft::tool {

// An order, and the Python that turns it into the documented one: {b} and {h} stand for batch and heads.
struct AxisOrder {
  std::string_view code, python;
};

// The orders of q, k, v, dout, out, dq, dk, dv, and those of lse; the documented one first.
std::span<const AxisOrder> wide_orders();
std::span<const AxisOrder> lse_orders();
const AxisOrder& wide_order(std::string_view code);

// "[batch, seqlen, heads, head_dim]".
std::string described(std::string_view code, Index batch);

// "out.transpose(1, 2)".
std::string python_line(const AxisOrder& order, const std::string& tensor, Index batch, Index heads);

// Where the elements of a stored tensor are: the rows that it has, and how far apart (in elements) two
// neighbours of each axis [batch, heads, rows, width] lie; 0 for an axis of extent 1.
struct Stored {
  Index rows = 0;
  std::array<Index, 4> strides{};

  friend bool operator==(const Stored&, const Stored&) = default;
};

// A shape read in this order; nothing if it does not have the batch, heads and width of `want`. Any number of
// rows will do.
std::optional<Stored> read_as(std::string_view code, const std::vector<Index>& shape, const Extents& want);

// Copies row a of every head of `stored` to the row positions[a] of `whole`, which may be wider; rows whose
// position is outside of `whole` are left out.
void place_rows(Buffer& whole, const Buffer& elements, const Stored& stored, Index width,
                std::span<const Position> positions);

// A tensor of zeros.
Buffer zeros(const Extents& extents, DType type);

}  // namespace ringcraft::tool
