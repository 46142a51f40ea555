#pragma once
/// @file
/// Tile sizes as template parameters of kernels. A rung with a choice lists its sizes once, as a
/// TileList: the list determines the compiled kernels, the sizes that a step may request, the tests and the
/// measurements of `bench kernels --tune`.

namespace ringcraft::kernels {

/// The rows that a thread block keeps, and those of a tile that streams past.
struct TileSize {
  int own;    ///< query rows forward; rows or keys backward, whichever the gradient belongs to
  int other;  ///< keys forward; keys or rows backward
  bool operator==(const TileSize&) const = default;
};

/// kOwn own rows, and any of these numbers of other ones, the usual one first.
template <int kOwn, int... kOther>
struct TileSizes {
  static constexpr TileSize kSizes[sizeof...(kOther)] = {{kOwn, kOther}...};

  /// Calls `body`, a template over the number of other rows, for this place in the list.
  template <class Body>
  static void choose(int place, Body body) {
    int i = 0;
    ((i++ == place ? body.template operator()<kOther>() : void()), ...);
  }
};

/// Tile sizes that a rung accepts. A student's file is compiled with RINGCRAFT_USUAL_TILES, for the usual
/// size alone: its verdict should not wait for the compilation of kernels that are never launched.
#ifdef RINGCRAFT_USUAL_TILES
template <int kOwn, int kUsual, int... kOthers>
using TileList = TileSizes<kOwn, kUsual>;
#else
template <int kOwn, int... kOther>
using TileList = TileSizes<kOwn, kOther...>;
#endif

/// The rungs on tiles pad head_dim with zeros, so that a kernel is compiled for two of them.
constexpr int padded_head_dim(int head_dim) { return head_dim <= 64 ? 64 : 128; }

/// Whether this many thread blocks with this much shared memory fit on an SM of compute capability 8.0, the
/// oldest that the rungs are built for: 164 KB, of which each takes 1 KB more than it asks for.
constexpr bool share_an_sm(int thread_blocks, int shared_bytes) {
  return thread_blocks * (shared_bytes + 1024) <= 164 * 1024;
}

}  // namespace ringcraft::kernels
