#pragma once
// A text as an attention problem: bytes through fixed embeddings and fixed projections. The text alone
// determines the numbers, so every machine climbs the ladder on the same input.

#include <filesystem>
#include <string>

#include "ringcraft/core/buffer.hpp"
#include "ringcraft/problem/problem.hpp"
#include "verify/oracle/tensors.hpp"

namespace ringcraft::tool {

// The bytes of a file; with a folder, those of all README.md files below it, in the order of their paths.
// Throws Error if there is nothing to read.
std::string read_text(const std::filesystem::path& path);

// q, k, v and dout, float32, of the first shape.seqlen bytes of the text (a shorter text is repeated): x =
// embedding of the byte + position wave, [seqlen, heads * head_dim]; q, k, v = x times fixed random matrices,
// per head; dout is random.
verify::Inputs text_inputs(const std::string& text, const Shape& shape);

}  // namespace ringcraft::tool
