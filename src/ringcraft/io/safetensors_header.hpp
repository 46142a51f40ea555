#pragma once
/// @file
/// The JSON header of a safetensors file, for its reader and its writer; no other file includes this one. The
/// JSON library stays inside safetensors_header.cpp.

#include <array>
#include <bit>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "ringcraft/io/safetensors.hpp"

namespace ringcraft::safetensors {

static_assert(std::endian::native == std::endian::little,
              "safetensors files are little-endian, and copied as they are");

/// The limit of the format for the header, in bytes.
inline constexpr Index kMaxHeaderBytes = 100'000'000;

/// The number types that files and buffers share, by the format's words.
inline constexpr std::array<std::pair<std::string_view, DType>, 4> kDTypes{{{"F32", DType::kFloat32},
                                                                            {"F64", DType::kFloat64},
                                                                            {"BF16", DType::kBFloat16},
                                                                            {"F16", DType::kFloat16}}};

/// The contents of a header.
struct Header {
  std::map<std::string, TensorInfo> tensors;    ///< By name.
  std::map<std::string, std::string> metadata;  ///< The free text, by key.
};

/// Reads the text of a header and checks that its tensors cover `data_bytes` bytes exactly. `file` names the
/// file in errors. Memory stays in proportion to the text. Throws Error for everything that the format does
/// not allow.
Header parse_header(std::string_view text, Index data_bytes, const std::string& file);

/// The text of a header, padded with spaces so that the data after it starts at a multiple of 8 bytes. Throws
/// Error if a name or text is not UTF-8 or the header is longer than the format allows.
std::string header_text(const Header& header, const std::string& file);

/// A name out of a file for an error: in quotes, cut to 60 bytes, and harmless on a terminal.
std::string name_in_quotes(std::string_view name);

/// FILE: tensor "NAME", the place of an error.
std::string place(const std::string& file, std::string_view name);

/// "[2, 8, 5]".
std::string described(const std::vector<Index>& shape);

}  // namespace ringcraft::safetensors
