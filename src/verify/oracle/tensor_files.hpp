#pragma once
/// @file
/// Inputs and answers in safetensors files: which names, which number types, rounded when.

#include <filesystem>
#include <optional>
#include <string>

#include "verify/oracle/tensors.hpp"

namespace ringcraft::verify {

/// The tensors q, k, v and, where it is there, dout of a file.
struct StoredInputs {
  Inputs inputs;  ///< in the computing type: float32 for the half types
  DType storage;  ///< what the inputs were rounded to, and what outputs are written in
};

/// Reads a file's inputs. `storage` (default: the type of q) is what they are rounded to first.
StoredInputs read_inputs(const std::filesystem::path& path, std::optional<DType> storage);

/// Inputs of one number type, rounded to `storage` and widened to the computing type. Without `storage` they
/// must have one type. Throws Error otherwise.
StoredInputs stored_inputs(Inputs inputs, std::optional<DType> storage);

/// Writes the tensors of an answer that are not empty, rounded once to the storage type; lse is at least
/// float32.
void write_answer(const std::filesystem::path& path, const Answer& answer, DType storage);

}  // namespace ringcraft::verify
