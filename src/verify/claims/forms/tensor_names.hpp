#pragma once
/// @file
/// Recognises the names that other libraries give to the tensors of attention.

#include <map>
#include <string>

#include "ringcraft/io/safetensors.hpp"

namespace ringcraft::verify {

/// Throws Error if the file has no tensor `name` but one under another common name for it ("output" for
/// "out"); the Error contains the line of Python that renames it. No tensor is taken under another name
/// silently.
void refuse_other_name(const std::string& place, const std::map<std::string, TensorInfo>& tensors,
                       const std::string& name);

}  // namespace ringcraft::verify
