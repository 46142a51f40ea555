// Writes the errors for shapes that cannot be read, or can be read in two ways, each with the Python that
// fixes it: a sum over groups of heads, a permutation, a cut.
#include <algorithm>
#include <numeric>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "verify/claims/forms/claim_forms.hpp"

namespace ringcraft::verify {
namespace {

std::vector<Index> documented_shape(const StoredTensor& tensor, Index rows) {
  const Extents& e = tensor.want;
  if (tensor.name == "lse") return {e.batch, e.heads, rows};
  return {e.batch, e.heads, rows, e.width};
}

std::string documented_order(const StoredTensor& tensor) {
  return axes_text(tensor.name == "lse" ? "bhs" : "bhsd", 1);
}

// "dk has a head for each query head: dk.unflatten(1, (2, -1)).sum(2)"; empty if that does not apply.
std::string sum_of_groups(const StoredTensor& tensor, const ClaimShape& about) {
  if ((tensor.name != "dk" && tensor.name != "dv") || about.shape.group() == 1) return "";
  StoredTensor all = tensor;
  all.want.heads = about.shape.heads;
  for (const AxisOrder& axes : wide_orders()) {
    const auto dimension = axes.code.find('h');
    if (axes.code.find('[') != axes.code.npos && axes.code != "[bs]hd") continue;
    if (!read_as(axes.code, tensor.shapes[0], all.want)) continue;
    const std::string at = std::to_string(axes.code == "[bs]hd" ? 1 : dimension),
                      next = std::to_string(axes.code == "[bs]hd" ? 2 : dimension + 1);
    return tensor.name + " has a head for each query head; sum over each group: " + tensor.name +
           ".unflatten(" + at + ", (" + std::to_string(about.shape.kv_heads) + ", -1)).sum(" + next + ")";
  }
  return "";
}

// lse as older flash-attn returns it for packed sequences, [sequences, heads, longest]; empty if it is not
// that.
std::string lse_of_sequences(const StoredTensor& tensor, const ClaimShape& about) {
  const std::vector<Index>& shape = tensor.shapes[0];
  if (tensor.name != "lse" || about.cu_seqlens.empty() || shape.size() != 3) return "";
  Position longest = 0;
  for (std::size_t i = 1; i < about.cu_seqlens.size(); ++i)
    longest = std::max(longest, about.cu_seqlens[i] - about.cu_seqlens[i - 1]);
  if (shape[0] + 1 != static_cast<Index>(about.cu_seqlens.size()) || shape[1] != about.shape.heads ||
      shape[2] < longest)
    return "";
  return "it is [sequences, heads, longest]: put the sequences one after the other, torch.cat([one[:, :n] "
         "for one, n in zip(lse, cu_seqlens.diff())], 1)";
}

// "out.permute(0, 1, 3, 2)", if some order of the axes fits; empty if none does.
std::string permutation(const StoredTensor& tensor, Index rows) {
  const std::vector<Index>& got = tensor.shapes[0];
  const std::vector<Index> want = documented_shape(tensor, rows);
  if (got.size() != want.size()) return "";
  std::vector<std::size_t> axes(got.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  do {
    bool fits = true;
    for (std::size_t i = 0; i < axes.size(); ++i) fits = fits && got[axes[i]] == want[i];
    if (fits) return "write " + tensor.name + ".permute(" + listed(axes) + ")";
  } while (std::ranges::next_permutation(axes).found);
  return "";
}

// The rows of each file, if everything else fits in some order.
struct RowsInFiles {
  std::vector<Index> counts;
  std::string_view code;
};
std::optional<RowsInFiles> rows_in_files(const StoredTensor& tensor) {
  for (const AxisOrder& axes : tensor.name == "lse" ? lse_orders() : wide_orders()) {
    RowsInFiles rows{{}, axes.code};
    for (const auto& shape : tensor.shapes)
      if (const auto stored = read_as(axes.code, shape, tensor.want)) rows.counts.push_back(stored->rows);
    if (rows.counts.size() == tensor.shapes.size()) return rows;
  }
  return {};
}

// "out = out[:, :, :25]", if one file has too many rows.
std::string cut(const StoredTensor& tensor, const RowsInFiles& rows) {
  const std::size_t axis = rows.code.find('s');
  if (tensor.shapes.size() > 1 || rows.counts[0] <= tensor.want.rows || rows.code[0] == '[') return "";
  std::string slice;
  for (std::size_t i = 0; i < axis; ++i) slice += ":, ";
  return "if the last rows are padding, write " + tensor.name + "[" + slice + ":" +
         std::to_string(tensor.want.rows) + "]";
}

std::string shapes_text(const StoredTensor& tensor) {
  const bool alike = std::ranges::all_of(tensor.shapes, [&](const auto& s) { return s == tensor.shapes[0]; });
  return shape_text(tensor.shapes[0]) + (alike ? "" : " on rank 0");
}

}  // namespace

void refuse_form(const StoredTensor& tensor, const std::string& place, const RowOrder& order,
                 const ClaimShape& about) {
  const std::string where = place + ": " + tensor.name;
  const auto known = order.counts();
  const Index rows = known ? known->front() : tensor.want.rows;
  const std::string expected = shape_text(documented_shape(tensor, rows)) + ", " + documented_order(tensor);
  for (const std::string& line : {sum_of_groups(tensor, about), lse_of_sequences(tensor, about)})
    if (!line.empty()) throw Error(where, expected, shapes_text(tensor), line);
  if (const auto found = rows_in_files(tensor)) {
    std::string advice = order.advice(found->counts);
    if (advice.empty()) advice = cut(tensor, *found);
    if (advice.empty()) advice = "dump all rows of the sequence, or each rank's rows into a file of its own";
    throw Error(where, order.expected(), listed(found->counts) + " (" + shapes_text(tensor) + ")", advice);
  }
  std::string advice = permutation(tensor, rows);
  if (advice.empty())
    advice =
        "print(tensors[\"" + tensor.name + "\"].shape) where it is saved, and bring its axes into this order";
  throw Error(where, expected, shapes_text(tensor), advice);
}

void refuse_forms(const StoredTensor& tensor, const std::string& place, const Form& a, const Form& b) {
  const Extents& e = tensor.want;
  if (a.order.code == b.order.code)
    throw Error(place + ": " + tensor.name, "rows that can be padded in one way only", shapes_text(tensor),
                "cut them to the rows that this rank has: " + tensor.name + "[..., :out.shape[2]]");
  const auto line = [&](const Form& form) {
    return "write " + python_line(form.order, tensor.name, e.batch, e.heads) + " if it is " +
           axes_text(form.order.code, e.batch);
  };
  throw Error(place + ": " + tensor.name, "a shape that says which axis is which", shapes_text(tensor),
              line(a) + ", or " + line(b));
}

}  // namespace ringcraft::verify
