#pragma once
/// @file
/// Orders of axes of stored tensors. The harness uses [batch, heads, seqlen, width] everywhere; files come in
/// the order that other libraries write. An order is a short code, one letter for each dimension:
///     b batch, h heads, s tokens, d head_dim, 1 an extent of 1, [bs] both in one dimension, tokens within
///     batch entries.
/// A missing letter stands for an extent of 1.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ringcraft/core/buffer.hpp"
#include "ringcraft/problem/mask.hpp"

namespace ringcraft::verify {

/// An order, and the Python that converts it to the documented one.
struct AxisOrder {
  std::string_view code;    ///< "bshd"
  std::string_view python;  ///< ".transpose(1, 2)"; {b} and {h} stand for batch and heads
};

/// The orders of q, k, v, dout, out, dq, dk, dv; the documented one first.
std::span<const AxisOrder> wide_orders();
/// The orders of lse; the documented one first.
std::span<const AxisOrder> lse_orders();
/// The order in wide_orders() with this code; the code must be one of theirs.
const AxisOrder& wide_order(std::string_view code);

/// "[batch, seqlen, heads, head_dim]".
std::string axes_text(std::string_view code, Index batch);

/// "out.transpose(1, 2)".
std::string python_line(const AxisOrder& order, const std::string& tensor, Index batch, Index heads);

/// Locations of the elements of a stored tensor.
struct Stored {
  Index rows = 0;  ///< rows in the file
  /// Distance, in elements, between neighbours along each axis [batch, heads, rows, width]; 0 for an axis of
  /// extent 1.
  std::array<Index, 4> strides{};

  /// Whether the elements have the same locations.
  friend bool operator==(const Stored&, const Stored&) = default;
};

/// Reads a shape in this order; empty if it does not have the batch, heads and width of `want`. Any number of
/// rows is accepted.
std::optional<Stored> read_as(std::string_view code, const std::vector<Index>& shape, const Extents& want);

/// Copies row a of every head of `stored` to row positions[a] of `whole`, which may be wider; skips rows
/// whose position lies outside `whole`.
void place_rows(Buffer& whole, const Buffer& elements, const Stored& stored, Index width,
                std::span<const Position> positions);

/// A tensor of zeros.
Buffer zeros(const Extents& extents, DType type);

}  // namespace ringcraft::verify
