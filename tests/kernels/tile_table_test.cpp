// Tile sizes: the lists of the rungs, and the table of chosen sizes that a file keeps.
#include "engine/tile_table.hpp"

#include <filesystem>
#include <fstream>

#include "engine/cuda_engine.hpp"
#include "ringcraft/core/error.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

using namespace ringcraft;
using namespace ringcraft::kernels;
using ringcraft::testing::check_refused;

namespace {

// A file that goes away with its owner.
class File {
 public:
  explicit File(const std::string& text) { std::ofstream(path_) << text; }
  ~File() { std::filesystem::remove(path_); }
  TileTable read(const std::string& device) const { return read_tile_table(path_, device); }

 private:
  std::string path_ = std::filesystem::temp_directory_path() / "ringcraft_tile_table_test.txt";
};

}  // namespace

TEST_CASE("the usual tiles of a rung are 64 x 64, or the largest that the registers allow backward") {
  const auto usual = [](const auto& rung, int head_dim) { return tiles_of(rung, head_dim).front(); };
  for (const ForwardRung* rung : {&kOnlineSoftmax, &kPipeline})
    for (const int head_dim : {1, 64, 65, 128}) CHECK(usual(*rung, head_dim) == TileSize{64, 64});
  CHECK(usual(kTensorCoresBackward, 64) == TileSize{64, 64});
  CHECK(usual(kTensorCoresBackward, 65) == TileSize{64, 32});
  for (const ForwardRung* rung : {&kNaive, &kTiles, &kTensorCores}) CHECK(tiles_of(*rung, 64).empty());
  for (const BackwardRung* rung : {&kNaiveBackward, &kTwoKernels, &kFusedBackward})
    CHECK(tiles_of(*rung, 64).empty());
}

TEST_CASE("a table comes back from its file unchanged, on its own device alone") {
  TileTable table;
  table.choose(kPipeline, 64, {64, 32});
  table.choose(kPipeline, 64, {64, 128});  // the last word counts
  table.choose(kTensorCoresBackward, 100, {64, 16});
  const File file(table.text("NVIDIA H200"));
  const TileTable same = file.read("NVIDIA H200");
  CHECK(same.text("NVIDIA H200") == table.text("NVIDIA H200"));
  CHECK(same.place(kPipeline, 5) == 2);
  CHECK(same.place(kPipeline, 65) == 0);
  CHECK(same.place(kTensorCoresBackward, 128) == 1);
  CHECK(same.place(kTensorCoresBackward, 64) == 0);
  CHECK(same.place(kTensorCores, 64) == 0);
  CHECK(file.read("NVIDIA H100").text("x") == TileTable().text("x"));
  CHECK(read_tile_table("/no/such/file", "x").text("x") == TileTable().text("x"));
}

TEST_CASE("a broken table is an error that names the line") {
  const auto refused = [](const std::string& text, const std::string& sentence) {
    INFO(text);
    check_refused([&] { File(text).read("GPU"); }, sentence);
  };
  refused("forward 5 64 64x32\n", "line 1: expected device and its name");
  refused("# nothing\n", "line 1: expected device and its name");
  for (const std::string line : {"forward 5 64", "forward 5 64 64x", "forward 5 64 64x32 x",
                                 "forward 5 65 64x32", "forward five 64 64x32", "device GPU"})
    refused("device GPU\n\n" + line + "\n", "line 3: expected pass, rung, head_dim");
  for (const std::string line : {"forward 5 64 64x48", "forward 5 64 32x64", "forward 4 64 64x64",
                                 "forward 6 64 64x64", "backward 5 64 64x32", "sideways 5 64 64x32"})
    refused("device GPU\n" + line + "\n", "line 2: expected a tile size that this version has");
}

TEST_CASE("a step of a tile that the rung does not have is refused") {
  const CudaEngine engine;
  for (const int tile : {-1, 3})
    check_refused([&] { run(kPipeline, {.head_dim = 64, .tile = tile}, nullptr, engine.stream().get()); },
                  "expected a tile below 3");
  check_refused([&] { run(kPipeline, {.head_dim = 65, .tile = 2}, nullptr, engine.stream().get()); },
                "expected a tile below 2");
  check_refused([&] { run(kNaive, {.head_dim = 64, .tile = 1}, nullptr, engine.stream().get()); },
                "expected a tile below 1");
}
