// Reads inputs from safetensors files, rounds them to their storage type and widens them to the computing
// type; writes answers rounded once.
#include "verify/oracle/tensor_files.hpp"

#include <string>
#include <vector>

#include "ringcraft/core/error.hpp"
#include "ringcraft/io/safetensors.hpp"

namespace ringcraft::verify {

StoredInputs stored_inputs(Inputs inputs, std::optional<DType> storage) {
  const DType first = inputs.q.dtype();
  StoredInputs stored{std::move(inputs), storage.value_or(first)};
  const DType computing = is_half(stored.storage) ? DType::kFloat32 : stored.storage;
  for (const auto& [name, tensor] : named(stored.inputs)) {
    if (tensor.extents() == Extents{}) continue;
    if (!storage && tensor.dtype() != first)
      throw Error(std::string(name), "the type of q, " + std::string(name_of(first)),
                  std::string(name_of(tensor.dtype())), "write them alike");
    tensor = converted(converted(tensor, stored.storage), computing);
  }
  return stored;
}

StoredInputs read_inputs(const std::filesystem::path& path, std::optional<DType> storage) {
  TensorFile file(path);
  return stored_inputs(
      {file.read("q"), file.read("k"), file.read("v"), file.contains("dout") ? file.read("dout") : Buffer()},
      storage);
}

void write_answer(const std::filesystem::path& path, const Answer& answer, DType storage) {
  std::vector<Buffer> rounded;
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : named(answer)) {
    if (tensor.empty()) continue;
    const bool lse = name == "lse";
    rounded.push_back(converted(tensor, lse ? tensor.dtype() : storage));
    tensors.push_back({std::string(name), nullptr, lse ? Dims::kThree : Dims::kFour});
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].tensor = &rounded[i];
  write_safetensors(path, tensors);
}

}  // namespace ringcraft::verify
