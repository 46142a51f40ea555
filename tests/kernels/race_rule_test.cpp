// The race rule remembers few accesses of a cell. Random programs show that it finds a race exactly where
// comparing all pairs of accesses does, in whatever order the threads run.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <memory>
#include <random>
#include <vector>

#include "host/executor.hpp"
#include "random_program.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

using namespace ringcraft;
using namespace ringcraft::kernels;

namespace {

// Few accesses, so that many programs are free of races, and often by few lanes, so that these meet again.
std::unique_ptr<Program> random_program(std::mt19937_64& random) {
  auto program = std::make_unique<Program>();
  const auto one_of = [&](std::uint64_t n) { return static_cast<unsigned>(random() % n); };
  const unsigned warp_barriers = one_of(4), block_barriers = one_of(3), cells = 1 + one_of(kProgramCells);
  const unsigned lanes = one_of(2) == 0 ? 32 : 1 + one_of(4);  // of each warp do something
  const unsigned quiet = 2 * 2 * lanes * kProgramSteps / (3 + one_of(12));
  const unsigned writes = 1 + one_of(4);  // of ten accesses
  for (int block = 0; block < kProgramBlocks; ++block)
    for (int step = 0; step < kProgramSteps; ++step) {
      const bool all = one_of(4) < block_barriers;
      const bool warp[2] = {one_of(4) < warp_barriers, one_of(4) < warp_barriers};
      for (int thread = 0; thread < kProgramThreads; ++thread) {
        Step& mine = program->step[block][thread][step];
        mine.together = all                 ? Together::kSyncThreads
                        : warp[thread / 32] ? Together::kSyncWarp
                                            : Together::kNothing;
        if (thread % 32 >= static_cast<int>(lanes) || one_of(quiet + 1) > 0) continue;
        const unsigned kind = one_of(10);
        mine.alone = kind < writes ? Alone::kWrite : kind < writes + 3 ? Alone::kAtomic : Alone::kRead;
        mine.cell = static_cast<std::uint8_t>(one_of(cells));
        mine.global = one_of(4) == 0;
      }
    }
  return program;
}

struct Access {
  Step step;
  int block, thread, barriers, warp_barriers;  // how many came before it
};

std::vector<Access> accesses_of(const Program& program) {
  std::vector<Access> all;
  for (int block = 0; block < kProgramBlocks; ++block)
    for (int thread = 0; thread < kProgramThreads; ++thread) {
      int barriers = 0, warp_barriers = 0;
      for (const Step& step : program.step[block][thread]) {
        if (step.alone != Alone::kNothing) all.push_back({step, block, thread, barriers, warp_barriers});
        barriers += step.together == Together::kSyncThreads ? 1 : 0;
        warp_barriers += step.together == Together::kSyncWarp ? 1 : 0;
      }
    }
  return all;
}

bool race(const Access& a, const Access& b) {
  if (a.step.cell != b.step.cell || a.step.global != b.step.global) return false;
  if (a.step.alone == b.step.alone && a.step.alone != Alone::kWrite) return false;
  if (a.step.alone == Alone::kRead && b.step.alone == Alone::kRead) return false;
  if (a.block != b.block) return a.step.global;
  if (a.thread == b.thread || a.barriers != b.barriers) return false;
  return a.thread / 32 != b.thread / 32 || a.warp_barriers == b.warp_barriers;
}

bool racy(const Program& program) {
  const std::vector<Access> all = accesses_of(program);
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (race(all[i], all[j])) return true;
  return false;
}

}  // namespace

TEST_CASE("random programs: the race rule agrees with all pairs of accesses") {
  constexpr int kPrograms = 10'000;
  void* cells = nullptr;
  REQUIRE(cudaMalloc(&cells, kProgramCells * sizeof(int)) == cudaSuccess);
  REQUIRE(cudaMemset(cells, 0, kProgramCells * sizeof(int)) == cudaSuccess);
  std::mt19937_64 random(11);
  int races = 0;
  for (int i = 0; i < kPrograms; ++i) {
    const auto program = random_program(random);
    const bool want = racy(*program);
    races += want ? 1 : 0;
    simt::settings().seed = i % 3 == 0 ? 0 : random();
    const std::string sentence =
        ringcraft::testing::outcome_of([&] { run_program(*program, static_cast<int*>(cells)); }).sentence;
    INFO("program " << i << ": " << sentence);
    REQUIRE(ringcraft::testing::contains(sentence, "data race") == want);
    REQUIRE((sentence == "nothing thrown") == !want);
  }
  simt::settings() = {};
  cudaFree(cells);
  std::printf("%d random programs, %d of them with a data race, agree with all pairs\n", kPrograms, races);
  CHECK(races > kPrograms / 4);
  CHECK(races < kPrograms * 3 / 4);
}
