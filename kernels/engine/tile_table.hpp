#pragma once
/// @file
/// The tile sizes of the kernels on a device, found by `bench kernels --tune`: a small text file.
///
///   # a comment
///   device NVIDIA H200
///   forward 5 128 64x32
///
/// A line names pass, rung, padded head_dim, and own x other rows of a tile. Anything not named keeps its
/// usual size.

#include <string>
#include <vector>

#include "backward/backward.hpp"
#include "forward/forward.hpp"

namespace ringcraft::kernels {

/// "64x32": own x other rows.
std::string name_of(TileSize size);

/// The tile sizes of one device.
class TileTable {
 public:
  /// The usual sizes.
  TileTable() = default;

  /// Takes this size for this rung and all head_dim that are padded alike. Throws Error if it is none of the
  /// rung's.
  template <class Step>
  void choose(const Rung<Step>& rung, int head_dim, TileSize size) {
    choose(Step::kPass, rung.number, padded_head_dim(head_dim), size);
  }
  /// The size's place in the rung's list, as Step::tile has it: 0 if nothing was chosen.
  template <class Step>
  int place(const Rung<Step>& rung, int head_dim) const {
    return place(Step::kPass, rung.number, padded_head_dim(head_dim));
  }

  /// The text of its file.
  std::string text(const std::string& device) const;

 private:
  struct Choice {
    std::string pass;
    int rung, head_dim;
    int place;
    TileSize size;
  };
  void choose(const std::string& pass, int rung, int head_dim, TileSize size);
  int place(const std::string& pass, int rung, int head_dim) const;
  friend TileTable read_tile_table(const std::string& file, const std::string& device);

  std::vector<Choice> choices_;
};

/// The table in this file. The usual sizes if there is no such file, or it is another device's. Throws Error,
/// with the line, if the file is something else.
TileTable read_tile_table(const std::string& file, const std::string& device);

}  // namespace ringcraft::kernels
