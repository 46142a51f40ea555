#pragma once
/// @file
/// cp.async on the CPU. A copy is delivered as late as it may be: at the wait that covers its group. Until
/// then its bytes in shared memory are all ones, which is NaN, so that a read that comes too early sees no
/// number.

#include <cstddef>
#include <vector>

#include "host/executor.hpp"

namespace ringcraft::simt {

/// The copies of 16 bytes that one CUDA thread has started and not waited for.
class AsyncCopies {
 public:
  /// Starts one; where not valid, it writes 0 and ignores `from`. Throws Error where an address is
  /// no multiple of 16.
  void start(void* to, const void* from, bool valid, Site site);
  /// Ends a group, which may be empty.
  void commit();
  /// Delivers all groups but the `newest` ones.
  void wait(int newest, Site site);
  /// Whether some copies have not been delivered.
  bool under_way() const { return !copies_.empty(); }
  /// Forgets them all, as the end of a thread block does.
  void clear();

 private:
  struct Copy {
    void* to;
    const void* from;  // null: brings 0
    std::size_t group;
  };
  std::vector<Copy> copies_;
  std::size_t groups_ = 0;  // ended so far
};

/// Those of the thread that runs now.
AsyncCopies& async_copies();

}  // namespace ringcraft::simt
