// Parses order codes such as "[bs]hd": turns a stored shape into extents and strides of [batch, heads,
// seqlen, width], and copies rows from the stored order to their positions.
#include "verify/claims/forms/axes.hpp"

#include <algorithm>
#include <cstring>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::verify {
namespace {

constexpr AxisOrder kWide[] = {
    {"bhsd", ""},
    {"bshd", ".transpose(1, 2)"},                            // flash-attn, JAX
    {"sbhd", ".permute(1, 2, 0, 3)"},                        // Megatron
    {"[bs]hd", ".unflatten(0, ({b}, -1)).transpose(1, 2)"},  // packed
    {"hsd", ".unsqueeze(0)"},
    {"bs[hd]", ".unflatten(2, ({h}, -1)).transpose(1, 2)"},
    {"sb[hd]", ".unflatten(2, ({h}, -1)).permute(1, 2, 0, 3)"},
    {"[bs][hd]", ".unflatten(1, ({h}, -1)).unflatten(0, ({b}, -1)).transpose(1, 2)"},
};

constexpr AxisOrder kLse[] = {
    {"bhs", ""},
    {"bsh", ".transpose(1, 2)"},
    {"sbh", ".permute(1, 2, 0)"},
    {"bhs1", ".squeeze(3)"},
    {"bh1s", ".squeeze(2)"},
    {"bsh1", ".squeeze(3).transpose(1, 2)"},
    {"h[bs]", ".unflatten(1, ({b}, -1)).transpose(0, 1)"},
    {"[bs]h", ".unflatten(0, ({b}, -1)).transpose(1, 2)"},
    {"[bs]h1", ".squeeze(2).unflatten(0, ({b}, -1)).transpose(1, 2)"},
};

// Splits a code into the letters of each dimension: "[bs]hd" gives {"bs", "h", "d"}.
std::vector<std::string_view> dimensions_of(std::string_view code) {
  std::vector<std::string_view> dimensions;
  while (!code.empty()) {
    const std::size_t close = code[0] == '[' ? code.find(']') : 0;
    dimensions.push_back(close == 0 ? code.substr(0, 1) : code.substr(1, close - 1));
    code.remove_prefix(close + 1);
  }
  return dimensions;
}

constexpr std::string_view kAxes = "bhsd";  // in the order of Extents

std::string_view word_of(char axis) {
  switch (axis) {
    case 'b':
      return "batch";
    case 'h':
      return "heads";
    case 's':
      return "seqlen";
    case 'd':
      return "head_dim";
    default:
      return "1";
  }
}

}  // namespace

std::span<const AxisOrder> wide_orders() { return kWide; }
std::span<const AxisOrder> lse_orders() { return kLse; }

const AxisOrder& wide_order(std::string_view code) {
  return *std::ranges::find(kWide, code, &AxisOrder::code);
}

std::string axes_text(std::string_view code, Index batch) {
  std::string text;
  for (const std::string_view dimension : dimensions_of(code)) {
    std::string words;
    for (const char axis : dimension)
      if (axis != 'b' || dimension.size() == 1 || batch > 1)
        words += (words.empty() ? "" : " * ") + std::string(word_of(axis));
    text += (text.empty() ? "[" : ", ") + words;
  }
  return text + "]";
}

std::string python_line(const AxisOrder& order, const std::string& tensor, Index batch, Index heads) {
  return replaced(replaced(tensor + std::string(order.python), "{b}", std::to_string(batch)), "{h}",
                  std::to_string(heads));
}

std::optional<Stored> read_as(std::string_view code, const std::vector<Index>& shape, const Extents& want) {
  const std::vector<std::string_view> dimensions = dimensions_of(code);
  const std::array<Index, 4> extents{want.batch, want.heads, 1, want.width};
  if (dimensions.size() != shape.size()) return {};
  for (const std::size_t axis : {0u, 1u, 3u})
    if (extents[axis] != 1 && code.find(kAxes[axis]) == code.npos) return {};
  Stored stored;
  Index stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    Index rest = shape[i];  // product of the extents of the later axes in the same dimension
    for (std::size_t letter = dimensions[i].size(); letter-- > 0;) {
      const std::size_t axis = kAxes.find(dimensions[i][letter]);
      if (axis == kAxes.npos) continue;
      Index extent = extents[axis];
      const Index others = dimensions[i].size() > 1 ? extents[0] : 1;
      if (axis == 2) {
        if (others < 1 || shape[i] % others != 0) return {};
        extent = stored.rows = shape[i] / others;
      }
      stored.strides[axis] = extent == 1 ? 0 : stride;
      if (extent == 0 ? rest != 0 : rest % extent != 0) return {};
      rest = extent == 0 ? others : rest / extent;
      stride *= extent;
    }
    if (rest != 1) return {};
  }
  return stored;
}

void place_rows(Buffer& whole, const Buffer& elements, const Stored& stored, Index width,
                std::span<const Position> positions) {
  const Extents& e = whole.extents();
  const std::size_t size = size_of(whole.dtype());
  const auto& [batch_stride, head_stride, row_stride, column_stride] = stored.strides;
  const bool together = column_stride == 1 || width == 1;
  const auto copy = [&](Index to, Index from, Index count) {
    std::memcpy(whole.bytes().data() + static_cast<std::size_t>(to) * size,
                elements.bytes().data() + static_cast<std::size_t>(from) * size,
                static_cast<std::size_t>(count) * size);
  };
  for (Index head = 0; head < e.batch * e.heads; ++head)
    for (std::size_t a = 0; a < positions.size(); ++a) {
      if (positions[a] < 0 || positions[a] >= e.rows) continue;
      const Index to = (head * e.rows + positions[a]) * e.width;
      const Index from =
          head / e.heads * batch_stride + head % e.heads * head_stride + static_cast<Index>(a) * row_stride;
      if (together) copy(to, from, width);
      for (Index column = 0; column < width && !together; ++column)
        copy(to + column, from + column * column_stride, 1);
    }
}

Buffer zeros(const Extents& extents, DType type) {
  Buffer buffer(extents, type);
  std::ranges::fill(buffer.bytes(), std::byte{0});
  return buffer;
}

}  // namespace ringcraft::verify
