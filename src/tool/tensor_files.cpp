// Inputs and answers in safetensors files (see tensor_files.hpp).
#include "tool/tensor_files.hpp"

#include <string>
#include <vector>

#include "ringcraft/core/error.hpp"
#include "ringcraft/io/safetensors.hpp"

namespace ringcraft::tool {

StoredInputs read_inputs(const std::filesystem::path& path, std::optional<DType> storage) {
  TensorFile file(path);
  Buffer q = file.read("q");
  StoredInputs stored{{}, storage.value_or(q.dtype())};
  const DType computing = is_half(stored.storage) ? DType::kFloat32 : stored.storage;
  const auto rounded = [&](const char* name, const Buffer& tensor) {
    if (!storage && tensor.dtype() != q.dtype())
      throw Error(name, "the type of q, " + std::string(name_of(q.dtype())),
                  std::string(name_of(tensor.dtype())), "write them alike");
    return converted(converted(tensor, stored.storage), computing);
  };
  stored.inputs = {rounded("q", q), rounded("k", file.read("k")), rounded("v", file.read("v")),
                   file.contains("dout") ? rounded("dout", file.read("dout")) : Buffer()};
  return stored;
}

verify::Answer read_answer(const std::filesystem::path& path, bool gradients) {
  TensorFile file(path);
  verify::Answer answer;
  answer.out = file.read("out");
  for (const auto& [name, tensor] : verify::named(answer)) {
    const std::string key(name);
    if (key == "out" || !file.contains(key) || (key != "lse" && !gradients)) continue;
    tensor = file.read(key, key == "lse" ? Dims::kThree : Dims::kFour);
  }
  return answer;
}

void write_answer(const std::filesystem::path& path, const verify::Answer& answer, DType storage) {
  std::vector<Buffer> rounded;
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : verify::named(answer)) {
    if (tensor.empty()) continue;
    const bool lse = name == "lse";
    rounded.push_back(converted(tensor, lse ? tensor.dtype() : storage));
    tensors.push_back({std::string(name), nullptr, lse ? Dims::kThree : Dims::kFour});
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].tensor = &rounded[i];
  write_safetensors(path, tensors);
}

void require_other_file(const std::string& flag, const std::filesystem::path& written,
                        const std::filesystem::path& read) {
  std::error_code unknown;  // a file that is not there is no other file's
  if (std::filesystem::equivalent(written, read, unknown))
    throw Error(flag, "another file than the input", written.string(),
                "choose a new name; the input is kept");
}

}  // namespace ringcraft::tool
