// The ring over loopback under every order of streams: the same bits; and with one wait for an event left out
// other ones, under some seed. The waits are taken from the sources.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "gpu/subjects.hpp"
#include "host/executor.hpp"
#include "support/catch.hpp"
#include "verify/cases.hpp"

using namespace ringcraft;
using namespace ringcraft::kernels;

namespace {

struct Ring {
  verify::Case c;
  Schedule schedule;
};

Ring ring_of(int world_size, Layout layout, Schedule schedule) {
  return {verify::make_case(make_problem({1, 2, 1, 23, 4}, causal_mask(), layout, world_size),
                            verify::Data::kNormal, 5),
          schedule};
}

bool same_bits(const verify::Answer& a, const verify::Answer& b) {
  const auto ours = verify::named(a), theirs = verify::named(b);
  for (std::size_t i = 0; i < ours.size(); ++i)
    if (ours[i].tensor.bytes().size() != theirs[i].tensor.bytes().size() ||
        std::memcmp(ours[i].tensor.bytes().data(), theirs[i].tensor.bytes().data(),
                    ours[i].tensor.bytes().size()) != 0)
      return false;
  return true;
}

struct WithSettings {
  WithSettings(std::uint64_t stream_seed, const simt::LeftOut& left_out = {}) {
    simt::settings().stream_seed = stream_seed;
    simt::settings().left_out = left_out;
    simt::settings().check = false;
  }
  ~WithSettings() { simt::settings() = {}; }
};

struct Wait {
  std::string file;
  int line;
};

// The lines of a file in kernels/ that make this call.
std::vector<Wait> waits(const std::string& path, const std::string& call) {
  std::vector<Wait> all;
  std::ifstream file(RINGCRAFT_KERNELS "/" + path);
  std::string text;
  for (int line = 1; std::getline(file, text); ++line)
    if (text.substr(0, text.find("//")).find(call) != std::string::npos) all.push_back({path, line});
  return all;
}

}  // namespace

TEST_CASE("the ring over loopback has the same bits under every order of streams") {
  for (const Schedule schedule : {Schedule::kForward, Schedule::kReversed})
    for (int n = 1; n <= 5; ++n) {
      const Ring ring = ring_of(n, n % 2 == 0 ? Layout::kZigzag : Layout::kContiguous, schedule);
      const verify::Inputs inputs = verify::make_inputs(ring.c, DType::kFloat32);
      const verify::Answer want = staged_ring_answer({}, ring.c.problem, inputs, schedule);
      for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        const WithSettings set(seed);
        CAPTURE(n, seed);
        CHECK(same_bits(ring_answer({}, ring.c.problem, inputs, schedule, seed), want));
        CHECK(same_bits(staged_ring_answer({}, ring.c.problem, inputs, schedule), want));
      }
    }
}

TEST_CASE("every wait for an event would be missed") {
  std::vector<Wait> all = waits("engine/loopback.cpp", "cudaStreamWaitEvent(");
  REQUIRE(all.size() == 4);
  for (const Wait& wait : waits("engine/range_upload.cpp", "cudaEventSynchronize(")) all.push_back(wait);
  REQUIRE(all.size() == 5);
  const Ring ring = ring_of(5, Layout::kZigzag, Schedule::kReversed);
  const verify::Inputs inputs = verify::make_inputs(ring.c, DType::kFloat32);
  const verify::Answer want = staged_ring_answer({}, ring.c.problem, inputs, ring.schedule);
  constexpr std::uint64_t kMostSeeds = 40;
  for (const Wait& wait : all) {
    bool wrong = false;
    std::size_t times = 0;
    std::uint64_t seed = 0;
    while (!wrong && ++seed <= kMostSeeds) {
      const WithSettings set(seed, {wait.file, wait.line});
      wrong = !same_bits(ring_answer({}, ring.c.problem, inputs, ring.schedule), want);
      times += simt::settings().left_out.times;
    }
    std::printf("without %s:%d: %s after %d seeds\n", wait.file.c_str(), wait.line,
                wrong ? "other bits" : "the same bits", static_cast<int>(seed));
    INFO(wait.file << ":" << wait.line);
    CHECK(times > 0);  // else no ring comes there
    CHECK(wrong);      // else it is superfluous
  }
}
