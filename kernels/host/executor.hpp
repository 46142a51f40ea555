#pragma once
/// @file
/// Runs a CUDA kernel on the CPU: every CUDA thread is a fiber, the thread blocks of a launch are spread over
/// the threads of the operating system. Barriers and warp operations are rendezvous: a thread that arrives
/// waits until all required threads have arrived, so a barrier that some threads never reach is found,
/// and explained, instead of hanging. The order in which threads take their turns is drawn from a seed; a
/// right kernel cannot tell. The part that a kernel sees stands in device.hpp.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace ringcraft::simt {

/// Three extents or indices, as CUDA counts them. One number is an extent of x.
struct Triple {
  unsigned x, y, z;
  constexpr Triple(unsigned x_extent = 1, unsigned y_extent = 1, unsigned z_extent = 1)
      : x(x_extent), y(y_extent), z(z_extent) {}
  /// Their product.
  std::size_t count() const { return std::size_t{x} * y * z; }
};

/// Bytes of shared memory that a thread block gets without cudaFuncSetAttribute; `__shared__` variables never
/// get more.
inline constexpr std::size_t kUsualShared = std::size_t{48} << 10;

/// Size of a launch: how many thread blocks, of how many threads, with how much dynamic shared memory.
struct Grid {
  Triple blocks;                 ///< gridDim
  Triple threads;                ///< blockDim, at most 1024 in all
  std::size_t shared_bytes = 0;  ///< of dynamic shared memory; new bytes are all ones, which is NaN
};

/// A barrier of a kernel's source or its wait for asynchronous copies, or a wait for an event, that is left
/// out.
struct LeftOut {
  std::string file;       ///< the end of its path: "forward/03_online_softmax.cu"
  int line = 0;           ///< 0: nothing is left out
  std::size_t times = 0;  ///< how often it was, by now
};

/// How launches are run, for the whole process. Change it while no kernel runs.
struct Settings {
  /// 0: threads take turns by their index. Others: in an order drawn anew for every thread block.
  std::uint64_t seed = 0;
  /// Threads of the operating system for one launch; 0: as many as there are cores.
  int workers = 0;
  /// Look for mistakes in kernels that are compiled for it (checker.hpp). Launches then run one at a time,
  /// and each on one thread of the operating system.
  bool check = true;
  /// Count the traffic of launches of such kernels (traffic.hpp).
  bool count_traffic = false;
  /// 0: a stream's work is done when it is enqueued. Others: later, in an order that is drawn (streams.hpp).
  std::uint64_t stream_seed = 0;
  /// A barrier or wait to leave out: for tests that show that it is needed.
  LeftOut left_out = {};
  /// Number of further launches to run; later ones are skipped. Below 0: all.
  int launches = -1;
  /// Whether findings name files and lines, which calls another program (addr2line). If not, they give the
  /// address of the machine code.
  bool name_lines = true;
  /// 0: thread blocks begin by their index. Others: in a drawn order. Only sums to which thread blocks add
  /// with atomics depend on it.
  std::uint64_t block_seed = 0;
};
/// The settings, to be read and changed.
Settings& settings();
/// The settings cannot change as long as this object lives, on which code runs that is not to be trusted;
/// that fewer launches are left is counted all the same.
class FixedSettings {
 public:
  FixedSettings();
  ~FixedSettings();
  FixedSettings(const FixedSettings&) = delete;
  FixedSettings& operator=(const FixedSettings&) = delete;
};
/// Forgets how checked launches of this process ended.
void forget_failure();
/// Throws the exception of the first checked launch that has failed since then, even if it was caught;
/// nothing if all ended well.
void rethrow_failure();

/// Runs `thread` once for every thread of the grid and returns when all have ended. Throws LaunchError
/// (finding.hpp), with the place of every waiting thread, if a thread block does not end: threads wait at
/// different barriers, a barrier is reached after others have left the kernel, a warp operation names a lane
/// that does not take part; and with the first thing that a checked launch finds. Throws Error for a grid
/// that is too large. An exception of a thread is thrown here. The other thread blocks of a launch that
/// failed are not started.
void run(const Grid& grid, const std::function<void()>& thread);

/// A place in a kernel's source.
struct Site {
  const char* file;
  int line;
};
/// Whether Settings::left_out names this place. Counts.
bool is_left_out(Site site);

/// Operations that the lanes of a warp perform together.
enum class WarpOperation : std::uint8_t { kSync, kShuffle, kBallot, kLoadMatrix, kMultiply };

/// The thread that runs now. Only a kernel under run() may ask.
struct Thread {
  Triple index;         ///< threadIdx
  Triple block;         ///< blockIdx
  Triple block_extent;  ///< blockDim
  Triple grid_extent;   ///< gridDim
};
const Thread& this_thread();
/// Its lane in its warp, 0 to 31.
int this_lane();
/// Dynamic shared memory of this thread's block, aligned to 128 bytes.
std::byte* shared_memory();
/// __syncthreads: returns when all threads of the block that have not ended are here.
void sync_threads(Site site);
/// atomicAdd: adds, and returns the previous value, as one access. Defined for int, unsigned, unsigned long
/// long, float and double.
template <class T>
T add_at_once(T* address, T value);
/// A warp operation of the lanes in `mask`: returns when all of them are here. kShuffle gives the `value` of
/// lane `source` (of this warp), kBallot a bit for every lane with a value that is not 0, kSync nothing. For
/// kLoadMatrix and kMultiply see warp_matrix.hpp.
std::uint64_t warp_operation(WarpOperation operation, unsigned mask, std::uint64_t value, int source,
                             Site site);

}  // namespace ringcraft::simt
