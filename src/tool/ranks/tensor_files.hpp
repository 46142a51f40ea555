#pragma once
// Inputs and answers in safetensors files: which names, which number types, rounded when.

#include <filesystem>
#include <optional>
#include <string>

#include "verify/oracle/tensors.hpp"

namespace ringcraft::tool {

// The tensors q, k, v and, where it is there, dout of a file.
struct StoredInputs {
  verify::Inputs inputs;  // in the computing type: float32 for the half types
  DType storage;          // what the inputs were rounded to, and what outputs are written in
};

// Reads a file's inputs. `storage` (default: the type of q) is what they are rounded to first.
StoredInputs read_inputs(const std::filesystem::path& path, std::optional<DType> storage);

// Inputs of one number type, rounded to `storage` and widened to the computing type. Without `storage` they
// must have one type. Throws Error otherwise.
StoredInputs stored_inputs(verify::Inputs inputs, std::optional<DType> storage);

// Writes the tensors of an answer that are not empty, rounded once to the storage type; lse is at least
// float32.
void write_answer(const std::filesystem::path& path, const verify::Answer& answer, DType storage);

// Throws Error if `written`, the value of `flag`, is the file that the call reads: nothing of the user's is
// overwritten.
void require_other_file(const std::string& flag, const std::filesystem::path& written,
                        const std::filesystem::path& read);

}  // namespace ringcraft::tool
