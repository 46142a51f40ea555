// The arithmetic and the tables of bench kernels, of figures that no device has measured, and how it asks
// PyTorch.
#include "tool/bench/kernel_report.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "support/errors.hpp"
#include "tool/bench/bench_torch.hpp"
#include "tool/tool_process.hpp"

using namespace ringcraft;
using namespace ringcraft::tool;

namespace {

constexpr KernelSetting kSetting{Pass::kForward, 128, true};

KernelRow row(const std::string& name, DType type, double ms) {
  return {.setting = kSetting,
          .name = name,
          .dtype = type,
          .tokens = 8192,
          .operations = 1e12,
          .hot_ms = ms,
          .flushed_ms = 2 * ms};
}

KernelReport report() {
  KernelReport all{.device = "a device",
                   .torch = "9.9",
                   .bfloat16_peak = 1e15,
                   .float32_peak = 0,
                   .clocks = {},
                   .rows = {}};
  all.clocks.emplace_back(kSetting, "1 MHz");
  all.rows.push_back(row("05 pipeline", DType::kBFloat16, 4));
  all.rows.back().error = 0.0031;
  all.rows.back().registers = {240};
  all.rows.back().shared_bytes = 81920;
  all.rows.back().tile = "64x64";
  all.rows.push_back(row("03 online softmax", DType::kFloat32, 50));
  for (const auto& [name, ms] : {std::pair{"PyTorch, flash", 4.0}, {"PyTorch, cuDNN", 2.0}}) {
    all.rows.push_back(row(name, DType::kBFloat16, ms));
    all.rows.back().library = true;
  }
  all.rows.push_back(row("PyTorch, cuDNN", DType::kBFloat16, 1));
  all.rows.back().library = true;
  all.rows.back().setting.causal = false;
  return all;
}

std::string line_with(const std::string& text, const std::string& start) {
  const auto at = text.find("\n" + start);
  REQUIRE(at != text.npos);
  return text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

}  // namespace

TEST_CASE("shares are of the peak of the row's type, and of the fastest library in the same setting") {
  const KernelReport all = report();
  CHECK(all.rows[0].rate() == Approx(250e12));
  CHECK(*all.share_of_peak(all.rows[0]) == Approx(0.25));
  CHECK(*all.share_of_library(all.rows[0]) == Approx(0.5));
  CHECK_FALSE(all.share_of_peak(all.rows[1]));  // unknown
  CHECK(*all.share_of_library(all.rows[1]) == Approx(0.04));
  KernelReport alone = all;
  alone.rows.resize(2);
  CHECK_FALSE(alone.share_of_library(alone.rows[0]));
}

TEST_CASE("the table of a setting has its rungs and libraries, and dashes for unknown figures") {
  const std::string text = text_of(report());
  CHECK(text.find("peak     bfloat16 1000.0 TFLOP/s, float32 unknown") != text.npos);
  CHECK(text.find("\nforward, head_dim 128, causal (1 MHz)\n") != text.npos);
  const std::string pipeline = line_with(text, "05 pipeline");
  for (const char* figure : {" 8192 ", " 4.000 ", " 8.000 ", " 250.0 ", " 25.0 % ", " 50.0 % ", " 3.1e-03 ",
                             " 240 ", " 81.9 kB ", " 0 B ", "  64x64"}) {
    CAPTURE(figure);
    CHECK(pipeline.find(figure) != pipeline.npos);
  }
  CHECK(line_with(text, "03 online softmax").find(" - ") != text.npos);
  const auto json = nlohmann::json::parse(json_of(report()));
  CHECK(json.at("rows").size() == 5);
  CHECK(json.at("rows")[0].at("share_of_library").get<double>() == Approx(0.5));
  CHECK(json.at("rows")[0].at("dtype") == "bfloat16");
  CHECK(json.at("rows")[1].at("share_of_peak").is_null());
  CHECK(json.at("rows")[2].at("error").is_null());
}

TEST_CASE("the tile size of the least time is taken, once for each rung and head_dim") {
  std::vector<TuneRow> rows{{Pass::kForward, "05 pipeline", 64, "64x64", 2, 1},
                            {Pass::kForward, "05 pipeline", 64, "64x32", 1, 1.5},
                            {Pass::kForward, "05 pipeline", 64, "64x128", 1.5, 1},  // as good, but later
                            {Pass::kForward, "05 pipeline", 128, "64x64", 9, 9},
                            {Pass::kBackward, "05 pipeline", 64, "64x64", 5, 5},
                            {Pass::kForward, "03 online softmax", 64, "64x64", 7, 7}};
  choose(rows);
  std::vector<bool> chosen;
  for (const TuneRow& r : rows) chosen.push_back(r.chosen);
  CHECK(chosen == std::vector<bool>{false, true, false, true, true, true});
  const std::string text = text_of("a device", rows);
  CHECK(line_with(text, "forward 05 pipeline").find("taken") == text.npos);
  CHECK(text.find("written: ") != text.npos);
  const auto json = nlohmann::json::parse(json_of("a device", rows));
  CHECK(json.at("sizes")[1].at("chosen") == true);
  CHECK(json.at("sizes")[1].at("tile") == "64x32");
}

// Replaces Python: a shell script that answers over descriptor 3.
TEST_CASE("PyTorch on a GPU is asked for a median, and may refuse, without a GPU it is left out") {
  const tests::Folder folder;
  const auto python = [&](const std::string& script) {
    const std::string path = folder.file("python");
    std::ofstream(path) << "#!/bin/sh\n" << script;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  };
  TorchOnGpu torch(python(
      "echo '9.9, CUDA 1.0' >&3\nwhile read -r order <&3; do\n  echo \"$order\" >>'" + folder.file("orders") +
      "'\n  case $order in cuDNN*) echo refused it >&3 ;; *) echo 2.5 >&3 ;; esac\ndone\n"));
  CHECK(torch.version() == "9.9, CUDA 1.0");
  CHECK(torch.milliseconds({"flash", Pass::kBackward, 8192, 16, 128, true, 0}) == 2.5);
  CHECK(torch.milliseconds({"cuDNN", Pass::kForward, 8192, 32, 64, false, 1000}) == std::nullopt);
  CHECK(tests::contents(folder.file("orders")) == "flash 1 8192 16 128 1 0\ncuDNN 0 8192 32 64 0 1000\n");

  const std::string blind = python("echo 'no GPU' >&3\n");
  testing::check_refused([&] { TorchOnGpu none(blind); }, "finds no GPU", Code::kMissing);
}
