// Leaves out every barrier and every wait for asynchronous copies of the rungs, one at a time: a checked
// launch must find the gap, or it was superfluous. The unchanged rungs must be found clean. Files are taken
// in by their names: FOLDER/NN_name.cu is rung NN of its folder.
#include <cctype>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "engine/cuda_engine.hpp"
#include "host/executor.hpp"
#include "host/finding.hpp"
#include "merge/merge.hpp"
#include "ringcraft/core/random.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

using namespace ringcraft;
using namespace ringcraft::kernels;
using ringcraft::testing::contains;

namespace {

// ---- Running a rung

// Shards of three tiles, the last one not whole; every row sees all keys, or a window of them.
struct Case {
  Index head_dim;
  bool window;
};
constexpr Case kCases[] = {{64, false}, {33, true}, {128, true}};
constexpr Index kRows = 130, kKeys = 150;

KeyRanges ranges_of(const Case& c) {
  KeyRanges ranges{std::vector<int>(kRows, 0), std::vector<int>(kRows, static_cast<int>(kKeys))};
  for (int row = 0; c.window && row < static_cast<int>(kRows); ++row) {
    ranges.begin[row] = std::max(0, row - 70);
    ranges.end[row] = row + 10;
  }
  return ranges;
}

Buffer normal(const CudaEngine& engine, Role role, Extents extents, Random& random) {
  return copied_to_device(converted(random_normal(extents, DType::kFloat32, random), engine.dtype(role)),
                          engine.stream());
}

// A step forward, and one backward where asked for.
void run_step(CudaRungs rungs, const Case& c, bool backward) {
  CudaEngine engine(0, rungs);
  Random random(5);
  const Extents rows{1, 2, kRows, c.head_dim}, keys{1, 1, kKeys, c.head_dim};
  const auto element = [&](Extents extents) { return normal(engine, Role::kElement, extents, random); };
  const KeyRanges ranges = ranges_of(c);
  const Buffer q = element(rows);
  const KvBlock kv{element(keys), element(keys)};
  RowState state = engine.begin(q);
  engine.forward(state, q, kv, ranges, 0.2);
  if (!backward) return;
  const Output output = engine.finish(std::move(state));
  const Buffer dout = element(rows), delta = engine.delta(output.out, dout);
  Buffer dq = engine.allocate(rows, Role::kAccumulator);
  KvBlock part{engine.allocate(keys, Role::kAccumulator), engine.allocate(keys, Role::kAccumulator)};
  engine.set_zero(dq);
  engine.backward(dq, part, Saved{q, output.out, output.lse, dout, delta}, kv, ranges, 0.2);
}

void run_merges() {
  CudaEngine engine;
  Random random(6);
  for (const Index head_dim : {64, 33, 128}) {
    const auto rows = [&](Index width) {
      return normal(engine, Role::kAccumulator, {1, 1, kRows, width}, random);
    };
    Buffer out = rows(head_dim), max = rows(1), sum = rows(1);
    const Buffer block_out = rows(head_dim), block_max = rows(1), block_sum = rows(1);
    const auto numbers = [](auto& buffer) { return device_floats(buffer); };
    merge({numbers(out), numbers(max), numbers(sum)},
          {numbers(block_out), numbers(block_max), numbers(block_sum)}, kRows, static_cast<int>(head_dim),
          engine.stream().get());
    merge_normalized(numbers(out), numbers(max), numbers(block_out), numbers(block_max), kRows,
                     static_cast<int>(head_dim), engine.stream().get());
  }
}

// Whether this rung is meant: by its number, or 0 for all.
bool meant(int wanted, int number, bool& ran) {
  const bool yes = wanted == 0 || wanted == number;
  ran = ran || yes;
  return yes;
}

// Everything that a folder's rung of this number does; 0: all of them. False if there is no such rung.
bool run_rungs(const std::string& folder, int number) {
  bool ran = false;
  for (const Case& c : kCases) {
    if (folder == "forward")
      for (const ForwardRung* rung : forward_rungs())
        if (meant(number, rung->number, ran) && c.head_dim <= rung->largest_head_dim)
          run_step({.forward = rung}, c, false);
    if (folder == "backward")
      for (const BackwardRung* rung : backward_rungs())
        if (meant(number, rung->number, ran) && c.head_dim <= rung->largest_head_dim)
          run_step(with_forward(*rung), c, true);
  }
  if (folder == "merge" && meant(number, 1, ran)) run_merges();
  return ran;
}

// ---- Omissions

struct Barrier {
  std::string folder, file;
  int line;
  int rung;  // 0: the file has no number, all rungs of the folder may use it
};

std::vector<Barrier> barriers() {
  std::vector<Barrier> all;
  for (const std::string folder : {"forward", "backward", "merge"}) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(RINGCRAFT_KERNELS "/" + folder))
      if (entry.path().extension() == ".cu" || entry.path().extension() == ".cuh")
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const auto& path : files) {
      const std::string name = path.filename();
      const int rung = std::isdigit(static_cast<unsigned char>(name[0])) ? std::stoi(name) : 0;
      std::ifstream file(path);
      std::string text;
      for (int line = 1; std::getline(file, text); ++line) {
        const std::string code = text.substr(0, text.find("//"));
        for (const char* call : {"__syncthreads(", "__syncwarp(", "cp_async_wait<"})
          if (contains(code, call)) all.push_back({folder, name, line, rung});
      }
    }
  }
  return all;
}

// The consequence of leaving out a barrier or a wait.
bool is_missed(simt::Mistake mistake) {
  return mistake == simt::Mistake::kRace || mistake == simt::Mistake::kInFlight ||
         mistake == simt::Mistake::kUnwritten;
}

}  // namespace

TEST_CASE("every rung is clean in checked launches") {
  for (const std::string folder : {"forward", "backward", "merge"})
    CHECK(ringcraft::testing::outcome_of([&] { run_rungs(folder, 0); }).sentence == "nothing thrown");
}

TEST_CASE("every barrier and every wait of the rungs is needed") {
  const std::vector<Barrier> all = barriers();
  REQUIRE(all.size() >= 5);
  int found = 0;
  for (const Barrier& barrier : all) {
    const std::string place = barrier.folder + "/" + barrier.file + ":" + std::to_string(barrier.line);
    simt::settings().left_out = {barrier.folder + "/" + barrier.file, barrier.line};
    bool known = true, missed = false;
    std::string sentence = "nothing thrown";
    try {
      known = run_rungs(barrier.folder, barrier.rung);
    } catch (const simt::LaunchError& error) {
      missed = is_missed(error.finding().mistake);
      sentence = error.what();
    }
    const std::size_t times = simt::settings().left_out.times;
    simt::settings() = {};
    std::printf("without %s: %s\n", place.c_str(), sentence.c_str());
    INFO(place << ": " << sentence);
    CHECK(known);      // else no table of rungs knows the file
    CHECK(times > 0);  // else no case reaches it
    CHECK(missed);     // else it is superfluous
    found += missed ? 1 : 0;
  }
  std::printf("%d of %zu barriers and waits would be missed\n", found, all.size());
}
