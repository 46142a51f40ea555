// The reader of safetensors files (see safetensors.hpp). No size that the file claims is believed before it
// is compared with the size of the file, and nothing is allocated before that.
#include <algorithm>
#include <cerrno>
#include <system_error>

#include "ringcraft/core/error.hpp"
#include "ringcraft/io/safetensors_header.hpp"

namespace ringcraft {
namespace {

using safetensors::described;
using safetensors::place;

// Opens a regular file at its end, so that its position is its size; a pipe would block, a folder opens and
// then fails.
std::ifstream opened(const std::filesystem::path& path) {
  std::error_code failure;
  const auto status = std::filesystem::status(path, failure);
  if (!std::filesystem::exists(status))
    throw Error(path.string(), "a safetensors file", failure ? failure.message() : "nothing there",
                "check the path");
  if (!std::filesystem::is_regular_file(status))
    throw Error(path.string(), "a regular file", "a folder, a pipe or a device",
                "give the path of a safetensors file");
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  if (!stream)
    throw Error(path.string(), "a readable file", std::generic_category().message(errno),
                "check its permissions");
  return stream;
}

void read_bytes(std::ifstream& stream, const std::string& path, Index position, std::span<std::byte> into) {
  stream.clear();
  stream.seekg(position);
  if (!stream.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(into.size())))
    throw Error(path, std::to_string(into.size()) + " bytes from byte " + std::to_string(position) + " on",
                "fewer", "the file has shrunk or its disk fails, read it again");
}

// The length of the header, which must lie within the file.
Index header_bytes(std::ifstream& stream, const std::string& path, Index file_bytes) {
  if (file_bytes < 8)
    throw Error(path, "at least 8 bytes, the length of the header", std::to_string(file_bytes) + " bytes",
                "the file is cut off or no safetensors file");
  std::uint64_t length = 0;
  read_bytes(stream, path, 0, std::as_writable_bytes(std::span(&length, 1)));
  const Index limit = std::min(file_bytes - 8, safetensors::kMaxHeaderBytes);
  if (length > static_cast<std::uint64_t>(limit))
    throw Error(path, "a header of at most " + std::to_string(limit) + " bytes",
                std::to_string(length) + " bytes", "the file is cut off or no safetensors file");
  return static_cast<Index>(length);
}

// The names of a file, the first few of them.
std::string names_of(const std::map<std::string, TensorInfo>& tensors) {
  if (tensors.empty()) return "a file without tensors";
  std::string text = "a file with ";
  int count = 0;
  for (const auto& [name, tensor] : tensors) {
    if (++count > 12) return text + ", ...";
    text += (count > 1 ? ", " : "") + safetensors::name_in_quotes(name);
  }
  return text;
}

DType dtype_from(const std::string& where, const std::string& word) {
  for (const auto& [known, type] : safetensors::kDTypes)
    if (word == known) return type;
  throw Error(where, "dtype F32, F64, BF16 or F16", safetensors::name_in_quotes(word),
              "convert it to float32 before saving it");
}

Extents extents_from(const std::string& where, const std::vector<Index>& shape, Dims dims) {
  const bool four = dims == Dims::kFour;
  if (shape.size() != (four ? 4 : 3))
    throw Error(
        where, four ? "4 dimensions [batch, heads, seqlen, head_dim]" : "3 dimensions [batch, heads, seqlen]",
        described(shape), "reshape it before saving it");
  return {shape[0], shape[1], shape[2], four ? shape[3] : 1};
}

}  // namespace

TensorFile::TensorFile(const std::filesystem::path& path) : path_(path.string()), stream_(opened(path)) {
  const Index file_bytes = stream_.tellg();
  std::string text(static_cast<std::size_t>(header_bytes(stream_, path_, file_bytes)), ' ');
  read_bytes(stream_, path_, 8, std::as_writable_bytes(std::span(text)));
  data_ = 8 + static_cast<Index>(text.size());
  auto header = safetensors::parse_header(text, file_bytes - data_, path_);
  tensors_ = std::move(header.tensors);
  metadata_ = std::move(header.metadata);
}

const TensorInfo& TensorFile::named(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end())
    throw Error(place(path_, name), "a tensor of this name", names_of(tensors_),
                "check the names in the file");
  return found->second;
}

Buffer TensorFile::read(const std::string& name, const TensorInfo& tensor, const Extents& extents) {
  Buffer buffer(extents, dtype_from(place(path_, name), tensor.dtype));
  read_bytes(stream_, path_, data_ + tensor.begin, buffer.bytes());
  return buffer;
}

Buffer TensorFile::read(const std::string& name, Dims dims) {
  const TensorInfo& tensor = named(name);
  (void)dtype_from(place(path_, name), tensor.dtype);  // the first error to fix
  return read(name, tensor, extents_from(place(path_, name), tensor.shape, dims));
}

Buffer TensorFile::read_elements(const std::string& name) {
  const TensorInfo& tensor = named(name);
  const auto bytes = static_cast<std::size_t>(tensor.end - tensor.begin);
  return read(name, tensor,
              {1, 1, 1, static_cast<Index>(bytes / size_of(dtype_from(place(path_, name), tensor.dtype)))});
}

}  // namespace ringcraft
