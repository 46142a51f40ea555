// Reads inputs that are stored in other orders of axes: tests every order against all tensors' shapes,
// chooses one or reports both, and pads the narrower of the two widths with zeros.
#include "verify/claims/forms/input_forms.hpp"

#include <algorithm>
#include <numeric>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "verify/claims/forms/tensor_names.hpp"

namespace ringcraft::verify {
namespace {

using Shapes = std::vector<std::pair<std::string, std::vector<Index>>>;  // of q, k, v and maybe dout

Shapes shapes_of(const TensorFile& file, const std::filesystem::path& path) {
  Shapes shapes;
  for (const char* name : {"q", "k", "v", "dout"}) {
    refuse_other_name(path.string(), file.tensors(), name);
    const auto found = file.tensors().find(name);
    if (found != file.tensors().end()) shapes.emplace_back(name, found->second.shape);
  }
  return shapes;
}

// A shape whose dimensions are these letters.
Extents extents_in(std::string_view code, const std::vector<Index>& shape) {
  Extents e{1, 1, 1, 1};
  for (std::size_t i = 0; i < shape.size(); ++i)
    (code[i] == 'b' ? e.batch : code[i] == 'h' ? e.heads : code[i] == 's' ? e.rows : e.width) = shape[i];
  return e;
}

// The first tensor that does not fit this order of axes; empty if all fit.
struct Misfit {
  std::string tensor, expected;
};
std::optional<Misfit> misfit(std::string_view code, const Shapes& shapes) {
  const Extents q = extents_in(code, shapes[0].second), k = extents_in(code, shapes[1].second),
                v = extents_in(code, shapes[2].second);
  if (k != Extents{q.batch, k.heads, q.rows, q.width}) return Misfit{"k", "batch, seqlen and head_dim of q"};
  if (k.heads < 1 || q.heads % k.heads != 0)
    return Misfit{"k", "a number of heads that divides the " + counted(q.heads, "head") + " of q"};
  if (q.width < 1 || v.width < 1) return Misfit{"head_dim", "at least 1 column"};
  if (v != Extents{k.batch, k.heads, k.rows, v.width}) return Misfit{"v", "batch, heads and seqlen of k"};
  if (shapes.size() > 3 && extents_in(code, shapes[3].second) != Extents{q.batch, q.heads, q.rows, v.width})
    return Misfit{"dout", "batch, heads and seqlen of q, and head_dim of v"};
  return {};
}

constexpr std::string_view kPackedCode = "[bs]hd";  // with batch 1

const AxisOrder& order_of(std::string_view code) { return wide_order(code == "shd" ? kPackedCode : code); }

std::string python_of(std::string_view code) {
  if (code == "shd") return "q.transpose(0, 1).unsqueeze(0)";
  return python_line(order_of(code), "q", 1, 1);
}

[[noreturn]] void refuse_two(const std::vector<Index>& q, std::string_view a, std::string_view b) {
  throw Error("q", "a shape that says which axis is which", shape_text(q),
              "write " + python_of(a) + " if it is " + axes_text(a, 1) + ", " + python_of(b) + " if it is " +
                  axes_text(b, 1) + ", and k, v, dout likewise");
}

[[noreturn]] void refuse_all(const Shapes& shapes, std::string_view documented) {
  const Misfit found = *misfit(documented, shapes);
  std::string got;
  for (const auto& [name, shape] : shapes) got += (got.empty() ? "" : ", ") + name + " " + shape_text(shape);
  throw Error(
      found.tensor, found.expected, got,
      "tensors are " + axes_text(documented, 1) +
          "; only the heads of k and v, and the head_dim of v and dout, may differ from those of q; all "
          "rows of a sequence are queries");
}

// The chosen order of the axes, and another that the shapes allow.
struct Chosen {
  std::string_view code, other;
};

Chosen chosen(const Shapes& shapes, const std::vector<Position>& cu_seqlens, std::optional<Index> lse_heads) {
  const std::size_t dimensions = shapes[0].second.size();
  for (const auto& [name, shape] : shapes)
    if (shape.size() != dimensions || dimensions < 3 || dimensions > 4)
      throw Error(name, "4 dimensions [batch, heads, seqlen, head_dim], or 3 without batch, as q has",
                  shape_text(shape), "reshape it before saving it");
  const std::vector<std::string_view> codes = dimensions == 4 ? std::vector<std::string_view>{"bhsd", "bshd"}
                                              : cu_seqlens.empty()
                                                  ? std::vector<std::string_view>{"hsd", "shd"}
                                                  : std::vector<std::string_view>{"shd", "hsd"};
  std::vector<std::string_view> fitting;
  for (const std::string_view code : codes)
    if (!misfit(code, shapes)) fitting.push_back(code);
  if (fitting.empty()) refuse_all(shapes, codes[0]);
  const auto packs = [&](std::string_view code) {
    return cu_seqlens.empty() || extents_in(code, shapes[0].second).rows == cu_seqlens.back();
  };
  if (std::ranges::any_of(fitting, packs))
    std::erase_if(fitting, [&](std::string_view code) { return !packs(code); });
  const std::vector<Index>& q = shapes[0].second;
  if (fitting.size() == 1 && fitting[0] == "bshd" && q[0] > q[1]) refuse_two(q, "bshd", "sbhd");
  if (fitting.size() > 1 && dimensions == 3 && cu_seqlens.empty()) refuse_two(q, "hsd", "shd");
  if (fitting.size() > 1 && fitting[0] == "bhsd" && q[1] > q[2] && lse_heads == q[2])
    std::swap(fitting[0], fitting[1]);
  return {fitting[0], fitting.size() > 1 ? fitting[1] : ""};
}

Buffer formed(TensorFile& file, const std::string& name, std::string_view code, Index width) {
  const std::vector<Index>& shape = file.tensors().at(name).shape;
  const Buffer elements = file.read_elements(name);
  Extents e = extents_in(code, shape);
  const Stored stored = *read_as(order_of(code).code, shape, e);
  const Index own = std::exchange(e.width, width);
  Buffer tensor = zeros(e, elements.dtype());
  std::vector<Position> rows(static_cast<std::size_t>(e.rows));
  std::iota(rows.begin(), rows.end(), Position{0});
  place_rows(tensor, elements, stored, own, rows);
  return tensor;
}

}  // namespace

Index Widths::of(std::string_view tensor) const {
  return tensor == "lse" ? 1 : tensor == "out" || tensor == "dv" ? value : key;
}

void refuse_many_heads(const FormedInputs& inputs) {
  const Reading& q = inputs.readings[0];
  const Extents& e = inputs.stored.inputs.q.extents();
  throw Error(
      "q", "fewer heads than tokens, or an lse that says which axis is which",
      shape_text(q.shape) + ", right as " + counted(e.heads, "head") + " of " + counted(e.rows, "token"),
      "write lse, too; if " + q.other +
          " is meant, the code attended over heads: it needs q.transpose(1, 2)");
}

FormedInputs read_formed_inputs(const std::filesystem::path& path, const std::vector<Position>& cu_seqlens,
                                std::optional<Index> lse_heads, TakeOrder take) {
  TensorFile file(path);
  for (const char* name : {"q", "k", "v"}) {
    refuse_other_name(path.string(), file.tensors(), name);
    if (!file.contains(name)) file.read(name);  // the error lists the names in the file
  }
  const Shapes shapes = shapes_of(file, path);
  auto [code, other] = chosen(shapes, cu_seqlens, lse_heads);
  if (take == TakeOrder::kOther && !other.empty()) std::swap(code, other);
  FormedInputs result;
  result.order = order_of(code).code;
  result.widths = {shapes[0].second.back(), shapes[2].second.back()};
  const auto tensor = [&, code = code](const char* name) {
    return file.contains(name) ? formed(file, name, code, result.widths.padded()) : Buffer();
  };
  result.stored = stored_inputs({tensor("q"), tensor("k"), tensor("v"), tensor("dout")}, {});
  const Extents q = extents_in(code, shapes[0].second);
  result.doubtful = !other.empty() && (code != "bhsd" || 4 * q.heads > q.rows);
  result.many_heads = !other.empty() && q.heads > q.rows && lse_heads != q.heads;
  for (const auto& [name, shape] : shapes) {
    Reading reading{.tensor = name,
                    .shape = shape,
                    .order = axes_text(code, 1),
                    .documented = code == "bhsd",
                    .rows = q.rows};
    if (result.doubtful) {
      // More heads than tokens are rare; and if lse chose the order, there is no doubt.
      reading.likely = code == "bshd" || (code == "bhsd" && q.heads < q.rows);
      reading.other = axes_text(other, 1);
      reading.other_python = python_of(other == "bhsd" ? code : other) + ", and all others likewise";
    }
    result.readings.push_back(std::move(reading));
  }
  return result;
}

}  // namespace ringcraft::verify
