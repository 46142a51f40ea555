// A ring of many ranks in little time: the cost of a simulated message hardly depends on their number.
#include <chrono>
#include <fstream>
#include <string>

#include "ringcraft/comm/fibers/fibers.hpp"
#include "ringcraft/parallel/simulate.hpp"
#include "support/catch.hpp"
#include "support/effort.hpp"

using namespace ringcraft;
using namespace ringcraft::testing;

namespace {

// The largest memory of this process so far, in bytes.
double peak_memory() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word)
    if (word == "VmHWM:") {
      double kilobytes = 0;
      status >> kilobytes;
      return kilobytes * 1024;
    }
  return 0;
}

struct Measured {
  double seconds, nanoseconds_per_message;
};

// Forward and backward, 16384 tokens a rank.
Measured measured(int ranks) {
  const Problem problem =
      make_problem({.heads = 32, .kv_heads = 8, .seqlen = Index{16384} * ranks, .head_dim = 128},
                   causal_mask(), Layout::kZigzag, ranks);
  const auto start = std::chrono::steady_clock::now();
  const Simulation simulation = simulate(kRing, problem, *known_machine("8xH100"));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Index messages = 0;
  for (const SimulatedPass* pass : {&simulation.forward, &*simulation.backward})
    for (const Traffic& traffic : pass->traffic) messages += traffic.messages_sent;
  CHECK(messages == 2 * Index{ranks} * 3 * (ranks - 1));  // k and v: KV forward, KV and sums backward
  const Theory theory = kRing.theory(problem, {}, Pass::kBackward, {2, 4});
  for (std::size_t r = 0; r < theory.pairs.size(); ++r) {
    REQUIRE(simulation.backward->pairs[r] == theory.pairs[r]);
    REQUIRE(simulation.backward->traffic[r].bytes_sent == theory.bytes_sent[r]);
    REQUIRE(simulation.backward->peak_bytes[r] == theory.peak_bytes[r]);
  }
  return {seconds, 1e9 * seconds / static_cast<double>(messages)};
}

}  // namespace

TEST_CASE("hundreds of ranks, and a thousand in a long run, under a minute and 4 GB") {
  if (!has_fibers()) return;
  measured(64);  // the first time, memory is new
  const Measured few = measured(64);
  std::string line = "64 ranks: " + std::to_string(few.nanoseconds_per_message) + " ns per message";
  const int most = long_run() ? 1024 : 256;
  const Measured many = measured(most);
  line += "; " + std::to_string(most) + " ranks: " + std::to_string(many.nanoseconds_per_message) + " ns, " +
          std::to_string(many.seconds) + " s, " + std::to_string(peak_memory() / 1e9) + " GB";
  WARN(line);
  CHECK(many.seconds < 60);
  CHECK(peak_memory() < 4e9);
  if (long_run()) CHECK(many.nanoseconds_per_message < 1.5 * few.nanoseconds_per_message);
}
