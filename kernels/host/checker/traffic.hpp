#pragma once
/// @file
/// Memory traffic of a launch, line by line: conflicts in the banks of shared memory, and the used share of
/// the bytes from global memory. The k-th access of each lane at one place in the code, counted between
/// barriers, is taken as one instruction of its warp.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host/checker/places.hpp"
#include "host/checker/race_rule.hpp"

namespace ringcraft::simt {

/// Traffic of one line of source in one launch.
struct LineTraffic {
  CodePlace place;           ///< in the source
  bool shared = false;       ///< shared memory, or global
  bool writes = false;       ///< or reads; atomics do both
  std::size_t bytes = 0;     ///< requested by all threads together
  std::size_t requests = 0;  ///< instructions of warps
  /// Shared memory: passes over its 32 banks of 4 bytes; accesses of 16 bytes go a quarter of a warp at a
  /// time, those of 8 half a warp. Global memory: sectors of 32 bytes.
  std::size_t transfers = 0;
  std::size_t least_transfers = 0;  ///< if the same bytes lay best
  std::size_t words = 0;            ///< of shared memory, that a lane asks for: one pass serves 32 at best
  std::size_t products = 0;         ///< mma of warps, which move nothing
  std::size_t products_ahead = 0;   ///< of these, while a cp.async of the last thread to arrive is in flight
  std::size_t copied = 0;           ///< of the bytes, by cp.async
  /// Where the lanes of one warp were in the first of these instructions; 0: took no part. Not for ldmatrix.
  std::array<std::uintptr_t, 32> first = {};
};

/// Traffic of the last launch that was counted (Settings::count_traffic), by place; empty before one.
std::vector<LineTraffic> last_traffic();

/// Counts for one launch.
class Traffic {
 public:
  /// A lane (0 to 31 of its warp) accesses some bytes; one instruction moves at most 16 for it.
  void add(int warp, int lane, Place place, bool shared, bool writes, std::uintptr_t address,
           std::size_t bytes);
  /// ldmatrix reads 8 rows of 16 bytes at once.
  void add_rows(Place place, const void* const (&rows)[8]);
  /// mma multiplies two matrices.
  void add_product(Place place, bool ahead) {
    LineTraffic& sum = lines_[{place, 4}].sum;
    ++sum.products;
    sum.products_ahead += ahead ? 1 : 0;
  }
  /// Bytes that add() counts as written to shared memory come by cp.async.
  void add_copied(Place place, std::size_t bytes) { lines_[{place, 3}].sum.copied += bytes; }
  /// A barrier: lanes restart their counts.
  void settle();
  /// Makes it the last launch.
  void publish();

 private:
  struct Request {
    std::array<std::uintptr_t, 32> address{};  // 0: the lane takes no part
    std::size_t bytes_each = 0;                // of the lane that asks for most
  };
  struct Warp {
    std::array<std::uint32_t, 32> done{};  // requests that each lane has taken part in
    std::vector<Request> requests;
  };
  struct Line {
    LineTraffic sum;
    std::map<int, Warp> warps;
  };
  // The access and its memory, 0 to 3, or a product, 4: one place may do several things.
  using Key = std::pair<Place, int>;

  static void settle(Line& line, const Request& request);
  std::map<Key, Line> lines_;
};

}  // namespace ringcraft::simt
