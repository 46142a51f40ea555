// The writer of safetensors files (see safetensors.hpp): a temporary file in the folder of the target, which
// takes the target's name when all of it is written. On any failure the temporary file goes and the target
// stays.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "ringcraft/core/error.hpp"
#include "ringcraft/io/safetensors_header.hpp"

namespace ringcraft {
namespace {

using safetensors::place;

constexpr int kMostAttempts = 100;

// A link stays, and its target is replaced.
std::filesystem::path followed(const std::filesystem::path& target) {
  std::error_code none;
  const auto file = std::filesystem::canonical(target, none);
  return none ? target : file;
}

// The name under which a process writes to the target.
std::filesystem::path temporary_of(std::filesystem::path target, int process, int attempt) {
  return target.replace_filename(".ringcraft-" + std::to_string(process) + "-" + std::to_string(attempt) +
                                 ".tmp");
}

// A file that exists under a temporary name until commit() gives it the name of its target.
class PendingFile {
 public:
  explicit PendingFile(const std::filesystem::path& target) : target_(followed(target)) {
    std::error_code ignored;
    const auto status = std::filesystem::status(target, ignored);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
      throw Error(target.string(), "a regular file or a new name", "a folder, a pipe or a device",
                  "choose another path");
    for (int attempt = 0; file_ == nullptr && attempt < kMostAttempts; ++attempt) {
      temporary_ = temporary_of(target_, ::getpid(), attempt);
      file_ = std::fopen(temporary_.c_str(), "wbx");  // x: never over an existing file
      if (file_ == nullptr && errno != EEXIST) break;
    }
    if (file_ == nullptr)
      throw Error(target.string(), "a folder that can be written to", std::generic_category().message(errno),
                  "make the folder or choose another one");
  }

  ~PendingFile() {
    if (file_ != nullptr) std::fclose(file_);
    std::error_code ignored;
    if (!committed_) std::filesystem::remove(temporary_, ignored);
  }

  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  void write(std::span<const std::byte> bytes) {
    if (!bytes.empty() && std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail();
  }

  void commit() {
    // On the disk before it has the name: after a power cut the name means all of the old file or all of the
    // new one.
    if (std::fflush(file_) != 0 || ::fsync(::fileno(file_)) != 0) fail();
    if (std::fclose(std::exchange(file_, nullptr)) != 0) fail();
    std::error_code failure;
    std::filesystem::rename(temporary_, target_, failure);
    if (failure)
      throw Error(target_.string(), "a name that can be given to the new file", failure.message(),
                  "choose another path");
    committed_ = true;
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(target_.string(), "room for all of the file", std::generic_category().message(errno),
                "free some disk space or choose another disk", Code::kMissing);
  }

  std::filesystem::path target_, temporary_;
  std::FILE* file_ = nullptr;
  bool committed_ = false;
};

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

void remove_unfinished(const std::filesystem::path& path, int process) {
  std::error_code ignored;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt)
    std::filesystem::remove(temporary_of(followed(path), process, attempt), ignored);
}

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
