#pragma once
/// @file
/// Folders, files and archives of strangers as one tree. No link is followed, nothing but regular files is
/// read, and each folder is held open while its contents are read, so that nobody can put another one in its
/// place.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "grade/intake/archive.hpp"
#include "grade/intake/class_folder.hpp"
#include "grade/intake/text_rules.hpp"
#include "process/descriptor.hpp"

namespace ringcraft::grade {

/// The folder below scratch for what archives hold: no student's key, none of which begins with a dot.
inline constexpr const char* kUnpacked = ".unpacked";

/// Something in a folder or an archive.
struct Node {
  enum class Kind : std::uint8_t {
    kFolder,
    kFile,
    kLink,
    kOther,   ///< a pipe, a socket or a device
    kAstray,  ///< of an archive, with a path that leads out of it
  };
  std::string name;  ///< any bytes
  Kind kind = Kind::kFile;
  std::uintmax_t size = 0;
  std::shared_ptr<const process::Descriptor> folder = {};  ///< where its bytes are; null if they are nowhere
  std::string stored = {};                                 ///< its name there
  std::shared_ptr<const std::vector<Node>> inside = {};    ///< of a folder in an archive

  /// Whether it holds others.
  bool opens() const;
};

/// The contents of a folder or an archive.
struct Listing {
  std::vector<Node> nodes = {};  ///< what may matter first, else by name; without what is passed over
  std::string complaint = {};    ///< why nodes are missing, to follow the name in a sentence
};

/// Bytes of a file, or why there are none.
struct Contents {
  std::string bytes = {};
  Refusal refusal = {};
};

/// Reads such trees.
class Tree {
 public:
  /// Archives are unpacked below `scratch`.
  Tree(std::filesystem::path scratch, const std::vector<Exercise>& exercises, const IntakeLimits& limits)
      : scratch_(std::move(scratch)), exercises_(exercises), limits_(limits) {}

  /// The folder or archive at a path of the instructor, whose links are followed. Throws Error if it is
  /// neither.
  static Node at(const std::filesystem::path& path);

  /// The contents of a node that opens().
  Listing list(const Node& node, Budget& budget);

  /// Whether it is a folder with a .git in it.
  static bool is_repository(const Node& node);

  /// The bytes of a node that is a regular file of at most so many.
  static Contents read(const Node& node, std::uintmax_t most_bytes);

 private:
  Listing list_folder(const Node& node, Budget& budget) const;
  Listing list_archive(const Node& node, Budget& budget);

  std::filesystem::path scratch_;
  const std::vector<Exercise>& exercises_;
  IntakeLimits limits_;
  int archives_ = 0;
};

}  // namespace ringcraft::grade
