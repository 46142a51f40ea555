#pragma once
/// @file
/// Files of tensors in the safetensors format: 8 bytes of header length, a JSON header with the name, type,
/// shape and byte range of each tensor, then the bytes of all tensors. A file's header is checked whole when
/// the file is opened; tensors are read one by one, straight into their buffers, so a large dump costs only
/// what is asked for, and a tensor of a foreign type or shape (token numbers, say) does no harm until it is
/// asked for. Format: https://huggingface.co/docs/safetensors

#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ringcraft/core/buffer.hpp"

namespace ringcraft {

/// How many dimensions a tensor has in a file. The caller says it, because a file cannot: [seqlen, heads,
/// head_dim] taken for [batch, heads, seqlen] would give numbers, but wrong ones.
enum class Dims : std::uint8_t {
  kFour,   ///< [batch, heads, seqlen, head_dim]: q, k, v, out and all gradients.
  kThree,  ///< [batch, heads, seqlen], a buffer of width 1: lse.
};

/// One tensor as a file's header describes it: any type, any number of dimensions.
struct TensorInfo {
  std::string dtype;  ///< The format's own word: "F32", "F64", "BF16", "F16" can be read; "I64", "F8_E4M3",
                      ///< ... cannot.
  std::vector<Index> shape;  ///< At most 64 extents, none negative.
  Index begin = 0;           ///< Its first byte, counted from the end of the header.
  Index end = 0;             ///< One past its last byte.
};

/// A safetensors file that is open for reading.
class TensorFile {
 public:
  /// Opens the file and checks its whole header against the format and against the size of the file; reads no
  /// tensor. Throws Error if the path is not a readable regular file or the file is malformed in any way: a
  /// header longer than the file or 100 MB, wrong JSON, a name twice, byte ranges that overlap, leave gaps or
  /// do not end with the file, a shape that is not the size of its byte range.
  explicit TensorFile(const std::filesystem::path& path);

  /// The tensors of the file, by name, readable or not.
  const std::map<std::string, TensorInfo>& tensors() const { return tensors_; }
  /// The free text of the header (`__metadata__`).
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// Whether the file holds a tensor of this name, readable or not.
  bool contains(const std::string& name) const { return tensors_.count(name) != 0; }

  /// Reads one tensor into a new host buffer [batch, heads, seqlen, width] of the file's number type; an
  /// extent may be zero. Throws Error if there is no tensor of this name, its type is not F32, F64, BF16 or
  /// F16, it has another number of dimensions, or the file has shrunk since it was opened.
  Buffer read(const std::string& name, Dims dims = Dims::kFour);
  /// Reads all elements of one tensor of any number of dimensions, as [1, 1, 1, elements] in the order of the
  /// file; tensors() has its shape. Throws Error as `read` does, dimensions aside.
  Buffer read_elements(const std::string& name);

 private:
  Buffer read(const std::string& name, const TensorInfo& tensor, const Extents& extents);
  const TensorInfo& named(const std::string& name) const;

  std::string path_;
  std::ifstream stream_;  // stays open, so that this header never meets the bytes of another file
  Index data_ = 0;        // where the bytes of the tensors start in the file
  std::map<std::string, TensorInfo> tensors_;
  std::map<std::string, std::string> metadata_;
};

/// A tensor to be written: a host buffer under a name. The buffer must outlive the call that writes it.
struct NamedTensor {
  std::string name;         ///< The name in the file.
  const Buffer* tensor;     ///< The tensor to write; not owned.
  Dims dims = Dims::kFour;  ///< kThree needs width 1.
};

/// Writes these tensors and texts to a file that appears whole or not at all: into a temporary file of the
/// same folder, which then takes the name `path`. Every tensor starts at a multiple of its element size.
/// Throws Error, and leaves what stood at `path` as it was, if a name comes twice or is not UTF-8, a tensor
/// does not fit its `dims` or lives on a device, `path` is there but no regular file, or the folder cannot be
/// written to or the disk is full.
void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace ringcraft
