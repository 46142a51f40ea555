// Any bytes as a safetensors file: an Error that can be shown, or tensors that lie in the file and come back
// the same when they are written and read again.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "fuzz/target.hpp"
#include "ringcraft/core/random.hpp"
#include "ringcraft/io/safetensors.hpp"

namespace ringcraft::fuzz {
namespace {

// Two files that this process uses again and again.
struct Files {
  Files() {
    const std::filesystem::path memory = "/dev/shm";  // where there is one: a disk makes this a test of disks
    const auto place = ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
    std::string name = (place / "ringcraft-fuzz-XXXXXX").string();
    folder = ::mkdtemp(name.data());
    input = folder / "in.safetensors";
    output = folder / "out.safetensors";
  }
  ~Files() { std::filesystem::remove_all(folder); }
  std::filesystem::path folder, input, output;
};

Files& files() {
  static Files all;
  return all;
}

void write_bytes(const std::filesystem::path& path, const char* data, std::size_t size) {
  std::ofstream(path, std::ios::binary).write(data, static_cast<std::streamsize>(size));
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool readable(const TensorInfo& tensor) {
  return (tensor.dtype == "F32" || tensor.dtype == "F64" || tensor.dtype == "BF16") &&
         (tensor.shape.size() == 3 || tensor.shape.size() == 4);
}

Dims dims_of(const TensorInfo& tensor) { return tensor.shape.size() == 3 ? Dims::kThree : Dims::kFour; }

// Every tensor that the library can read: its bytes are those of the file. Written again, it reads the same.
void check_file(TensorFile& file, Index file_bytes) {
  std::vector<Buffer> buffers;
  std::vector<NamedTensor> tensors;
  Index covered = 0;
  for (const auto& [name, tensor] : file.tensors()) {
    require(0 <= tensor.begin && tensor.begin <= tensor.end && tensor.end <= file_bytes,
            "a tensor outside of its file");
    covered += tensor.end - tensor.begin;
    if (!readable(tensor)) continue;
    buffers.push_back(file.read(name, dims_of(tensor)));
    require(static_cast<Index>(buffers.back().bytes().size()) == tensor.end - tensor.begin,
            "a tensor of another size");
    tensors.push_back({name, nullptr, dims_of(tensor)});
  }
  require(covered <= file_bytes, "tensors that are larger than their file");
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].tensor = &buffers[i];
  write_safetensors(files().output, tensors, file.metadata());
  TensorFile again(files().output);
  require(again.metadata() == file.metadata(), "other metadata after writing and reading");
  require(again.tensors().size() == tensors.size(), "other tensors after writing and reading");
  for (const NamedTensor& tensor : tensors) {
    const Buffer same = again.read(tensor.name, tensor.dims);
    require(same.extents() == tensor.tensor->extents() && same.dtype() == tensor.tensor->dtype() &&
                std::ranges::equal(same.bytes(), tensor.tensor->bytes()),
            "another tensor after writing and reading");
  }
}

}  // namespace

std::vector<std::string> seeds() {
  Random random(451);
  const Buffer q = random_normal({1, 2, 3, 4}, DType::kFloat32, random);
  const Buffer k = random_normal({2, 1, 3, 1}, DType::kBFloat16, random);
  const Buffer lse = random_normal({1, 2, 3, 1}, DType::kFloat64, random);
  const Buffer none({1, 1, 0, 4}, DType::kFloat32);
  std::vector<std::string> all;
  const auto add = [&](std::vector<NamedTensor> tensors, const std::map<std::string, std::string>& metadata) {
    write_safetensors(files().output, tensors, metadata);
    all.push_back(bytes_of(files().output));
  };
  add({{"q", &q}, {"k", &k}, {"lse", &lse, Dims::kThree}}, {{"format", "pt"}});
  add({{"q", &q}}, {});
  add({{"v", &none}, {"k", &k}}, {{"a", "b"}, {"c", ""}});
  add({}, {});
  return all;
}

std::vector<std::string> words() {
  return {R"("dtype")",
          R"("shape")",
          R"("data_offsets")",
          R"("__metadata__")",
          R"("F32")",
          R"("F64")",
          R"("BF16")",
          R"("I64")",
          R"("q")",
          "[",
          "]",
          "{",
          "}",
          "[0,96]",
          "[1,2,3,4]",
          "[]",
          "0",
          "-1",
          "9223372036854775807",
          "18446744073709551616",
          "1e400",
          "0.5",
          "null",
          "true",
          ",",
          ":",
          R"(\u0000)",
          R"(\ud800)",
          "\x80",
          "\xff\xff\xff\xff",
          std::string(8, '\0'),
          std::string("\x40\0\0\0\0\0\0\0", 8)};
}

}  // namespace ringcraft::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringcraft;
  fuzz::write_bytes(fuzz::files().input, reinterpret_cast<const char*>(data), size);
  try {
    TensorFile file(fuzz::files().input);
    fuzz::check_file(file, static_cast<Index>(size));
  } catch (const Error& error) {
    fuzz::require_sentence(error);
  }
  return 0;
}
