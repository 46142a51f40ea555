// The writer of safetensors files (see safetensors.hpp), by a PendingFile.
#include <algorithm>

#include "ringcraft/core/error.hpp"
#include "ringcraft/io/pending_file.hpp"
#include "ringcraft/io/safetensors_header.hpp"

namespace ringcraft {
namespace {

using safetensors::place;

std::string word_of(DType type) {
  return std::string(std::find_if(safetensors::kDTypes.begin(), safetensors::kDTypes.end(), [&](auto& t) {
                       return t.second == type;
                     })->first);
}

// The shape in the file, if the tensor can be written so.
std::vector<Index> shape_of(const std::string& where, const NamedTensor& named) {
  const Extents& e = named.tensor->extents();
  if (named.tensor->space() != Space::kHost)
    throw Error(where, "a tensor in host memory", "one in device memory", "copy it to the host first");
  if (named.dims == Dims::kFour) return {e.batch, e.heads, e.rows, e.width};
  if (e.width != 1)
    throw Error(where, "width 1, to be written with 3 dimensions", "width " + std::to_string(e.width),
                "write it with 4 dimensions");
  return {e.batch, e.heads, e.rows};
}

// Gives each tensor its byte range, in this order.
safetensors::Header layout_of(std::span<const NamedTensor> tensors, const std::string& file) {
  safetensors::Header header;
  Index end = 0;
  for (const NamedTensor& named : tensors) {
    const std::string where = place(file, named.name);
    const Index begin = std::exchange(end, end + static_cast<Index>(named.tensor->bytes().size()));
    TensorInfo info{word_of(named.tensor->dtype()), shape_of(where, named), begin, end};
    if (named.name == "__metadata__" || !header.tensors.emplace(named.name, std::move(info)).second)
      throw Error(where, "each name once, and none of them __metadata__", "this name", "rename the tensor");
  }
  return header;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  // Larger elements first: then every tensor starts at a multiple of its element size.
  std::vector<NamedTensor> order(tensors.begin(), tensors.end());
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor& a, const NamedTensor& b) {
    return size_of(a.tensor->dtype()) > size_of(b.tensor->dtype());
  });
  safetensors::Header header = layout_of(order, path.string());
  header.metadata = metadata;
  const std::string text = header_text(header, path.string());
  const std::uint64_t length = text.size();

  PendingFile file(path);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(std::as_bytes(std::span(text)));
  for (const NamedTensor& named : order) file.write(named.tensor->bytes());
  file.commit();
}

}  // namespace ringcraft
