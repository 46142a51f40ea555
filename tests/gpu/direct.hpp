#pragma once
/// @file
/// Helpers of checks that compare numbers directly, without the oracle.

#include <string>
#include <vector>

#include "engine/cuda_engine.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/random.hpp"

namespace ringcraft::kernels {

/// The numbers of a float32 device buffer.
std::vector<float> numbers_of(const Buffer& device, const Stream& stream);

/// Whether two lists have the same bits, NaN included.
bool same_bits(const std::vector<float>& a, const std::vector<float>& b);

/// Standard normal numbers in device memory.
Buffer normal_on_device(Extents extents, DType type, Random& random, const Stream& stream);

/// A small problem on the device, of the engine's elements: one shard of 130 rows against a block of 130
/// keys.
struct Small {
  explicit Small(const CudaEngine& engine, std::uint64_t seed = 3);
  Random random;
  Buffer q;    ///< [1, 4, 130, 24]
  KvBlock kv;  ///< [1, 2, 130, 24]
};

/// Tables for the tile sizes of a rung that no other check runs: the second, the third, ... of each head_dim.
/// All others run the first.
template <class Step>
std::vector<TileTable> unusual_tiles(const Rung<Step>& rung) {
  std::vector<TileTable> tables;
  for (const int head_dim : {64, 128}) {
    const auto sizes = tiles_of(rung, head_dim);
    if (sizes.size() > tables.size() + 1) tables.resize(sizes.size() - 1);
    for (std::size_t i = 1; i < sizes.size(); ++i) tables[i - 1].choose(rung, head_dim, sizes[i]);
  }
  return tables;
}

/// Empty if the body throws an Error with these words in it, else a sentence.
template <class Body>
std::string unless_refused(const std::string& what, const std::string& expected, Body body) {
  try {
    body();
  } catch (const Error& error) {
    const std::string sentence = error.what();
    return sentence.find(expected) != std::string::npos ? ""
                                                        : what + " is refused with other words: " + sentence;
  }
  return what + " is not refused";
}

}  // namespace ringcraft::kernels
