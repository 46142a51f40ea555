#pragma once
/// @file
/// Reads and writes inputs and answers as safetensors files, and defines their names, number types and
/// rounding.

#include <filesystem>
#include <optional>
#include <string>

#include "verify/oracle/tensors.hpp"

namespace ringcraft::verify {

/// The tensors q, k, v and, if it exists, dout of a file.
struct StoredInputs {
  Inputs inputs;  ///< in the computing type: float32 for the half types
  DType storage;  ///< the type that the inputs were rounded to, and that outputs are written in
};

/// Reads a file's inputs. They are first rounded to `storage` (default: the type of q).
StoredInputs read_inputs(const std::filesystem::path& path, std::optional<DType> storage);

/// Inputs of one number type, rounded to `storage` and widened to the computing type. Without `storage` they
/// must have one type. Throws Error otherwise.
StoredInputs stored_inputs(Inputs inputs, std::optional<DType> storage);

/// Writes the non-empty tensors of an answer, rounded once to the storage type; lse is at least float32.
void write_answer(const std::filesystem::path& path, const Answer& answer, DType storage);

}  // namespace ringcraft::verify
