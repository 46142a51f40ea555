// Streams of the executor: each keeps its order, events order two of them, and without one any order comes up
// under some seed.
#include "host/streams.hpp"

#include <set>
#include <string>
#include <vector>

#include "engine/check.hpp"
#include "engine/device_memory.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

using namespace ringcraft;
using kernels::Event;
using kernels::Stream;

namespace {

constexpr std::uint64_t kSeeds = 30;

struct WithSeed {
  explicit WithSeed(std::uint64_t seed) { simt::settings().stream_seed = seed; }
  ~WithSeed() { simt::settings() = {}; }
};

// A log that work writes letters into.
struct Log {
  std::string text;
  void letters(const Stream& stream, const std::string& all) {
    for (const char letter : all) ringcraftEnqueue(stream.get(), [this, letter] { text += letter; });
  }
};

bool in_order(const std::string& text, char first, char second) {
  return text.find(first) < text.find(second);
}

}  // namespace

TEST_CASE("without a seed work is done when it is enqueued") {
  const Stream stream;
  Log log;
  log.letters(stream, "ab");
  CHECK(log.text == "ab");
}

TEST_CASE("under a seed work is done later, and a stream keeps its order") {
  int late = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const WithSeed set(seed);
    const Stream stream;
    Log log;
    log.letters(stream, "abcdefgh");
    late += log.text.size() < 8 ? 1 : 0;
    stream.synchronize();
    CHECK(log.text == "abcdefgh");
  }
  CHECK(late > static_cast<int>(kSeeds) / 4);
}

TEST_CASE("two streams have the order that an event gives them, and no other") {
  std::set<std::string> without, with;
  for (std::uint64_t seed = 1; seed <= 20 * kSeeds; ++seed)
    for (const bool waits : {false, true}) {
      const WithSeed set(seed);
      const Stream one, two;
      Log log;
      log.letters(one, "ab");
      if (waits) RINGCRAFT_CUDA(cudaStreamWaitEvent(two.get(), Event(one).get()));
      log.letters(one, "c");
      log.letters(two, "x");
      one.synchronize();
      two.synchronize();
      CHECK(in_order(log.text, 'a', 'b'));
      CHECK(in_order(log.text, 'b', 'c'));
      if (waits) CHECK(in_order(log.text, 'b', 'x'));
      (waits ? with : without).insert(log.text);
    }
  CHECK(without == std::set<std::string>{"abcx", "abxc", "axbc", "xabc"});
  CHECK(with == std::set<std::string>{"abcx", "abxc"});
}

TEST_CASE(
    "an event that is recorded nowhere delays no stream, and one that is moved holds up later waits only") {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const WithSeed set(seed);
    const Stream one, two;
    Log log;
    const Event event;
    RINGCRAFT_CUDA(cudaStreamWaitEvent(two.get(), event.get()));
    log.letters(two, "x");
    RINGCRAFT_CUDA(cudaEventSynchronize(event.get()));
    log.letters(one, "a");
    event.record(one);
    RINGCRAFT_CUDA(cudaStreamWaitEvent(two.get(), event.get()));
    log.letters(two, "y");
    log.letters(one, "b");
    event.record(one);
    RINGCRAFT_CUDA(cudaEventSynchronize(event.get()));
    CHECK(in_order(log.text, 'a', 'b'));
    CHECK(log.text.find('b') != log.text.npos);
    two.synchronize();
    CHECK(in_order(log.text, 'a', 'y'));
  }
}

TEST_CASE("freeing memory, and ending a stream, wait for work") {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const WithSeed set(seed);
    Log log;
    void* memory = nullptr;
    REQUIRE(cudaMalloc(&memory, 100) == cudaSuccess);
    const Stream stream;
    log.letters(stream, "abcd");
    REQUIRE(cudaFree(memory) == cudaSuccess);
    CHECK(log.text == "abcd");
    {
      const Stream other;
      log.letters(other, "efgh");
    }
    CHECK(log.text == "abcdefgh");
  }
}

TEST_CASE("failed work is reported once, to the caller that waits for it, and later work is done") {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const WithSeed set(seed);
    const Stream stream;
    Log log;
    log.letters(stream, "a");
    ringcraftEnqueue(stream.get(), [] { throw Error("a sentence of the work"); });
    log.letters(stream, "b");
    const auto outcome = ringcraft::testing::outcome_of([&] { stream.synchronize(); });
    CHECK(outcome.sentence.find("a sentence of the work") != std::string::npos);
    CHECK(outcome.code == Code::kWrongAnswer);
    stream.synchronize();
    CHECK(log.text == "ab");
  }
}
