// bench runs to its end and reports its measurements; speed is not tested.
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "tool/tool_process.hpp"

using namespace ringcraft::tests;
using nlohmann::json;

namespace {

// Requirements on a JSON file of bench: every number positive and in order.
void check_spread(const json& spread) {
  CHECK(spread.at("least").get<double>() > 0);
  CHECK(spread.at("least").get<double>() <= spread.at("median").get<double>());
  CHECK(spread.at("median").get<double>() <= spread.at("most").get<double>());
}

const json* named(const json& list, const std::string& name) {
  for (const json& entry : list)
    if (entry.at("name") == name) return &entry;
  return nullptr;
}

}  // namespace

TEST_CASE("bench --quick --json measures everything that needs no PyTorch") {
  const Folder folder;
  const Ran ran = run_tool(
      folder, "bench --quick --rounds 2 --python no-such-python --json '" + folder.file("json") + "'");
  CAPTURE(ran.out, ran.err);
  REQUIRE(ran.exit_code == 0);
  CHECK(ran.err.empty());
  const json all = json::parse(contents(folder.file("json")));
  CHECK(all.at("tokens") == 256);
  CHECK(all.at("rounds") == 2);
  CHECK(all.at("torch").get<std::string>().starts_with("left out: no-such-python"));
  CHECK_FALSE(all.at("machine").get<std::string>().empty());
  CHECK(all.at("build").get<std::string>().find("registers of") != std::string::npos);
  // The peak, Eigen, and for 2 passes, 2 head_dims, 2 masks: 105/106, 108, threads, and a ring where nothing
  // is masked.
  CHECK(all.at("timings").size() == 2 + 8 * 3 + 4);
  for (const json& timing : all.at("timings")) {
    CAPTURE(timing.dump());
    CHECK(timing.at("flop").get<double>() > 0);
    check_spread(timing.at("processor_seconds"));
    check_spread(timing.at("wall_seconds"));
  }
  for (const json& ratio : all.at("ratios")) {
    CAPTURE(ratio.dump());
    check_spread(ratio.at("value"));
    CHECK(ratio.at("met").is_boolean());
  }
  // Half of the pairs and the diagonal: what is masked is not counted.
  const json* full = named(all.at("timings"), "108 forward, head_dim 64, full");
  const json* causal = named(all.at("timings"), "108 forward, head_dim 64, causal");
  REQUIRE(full != nullptr);
  REQUIRE(causal != nullptr);
  CHECK(full->at("flop") == 4.0 * 256 * 256 * 64);
  CHECK(causal->at("flop") == 4.0 * (256 * 257 / 2) * 64);
  // Every figure of the file's table is for people, too; goals are not, for 256 tokens.
  CHECK(ran.out.find("multiply-add peak of the core") != std::string::npos);
  CHECK(ran.out.find("108 forward, head_dim 64, full: of the peak") != std::string::npos);
  CHECK(ran.out.find("PyTorch  left out: no-such-python") != std::string::npos);
  CHECK(ran.out.find("at least 0.75") == std::string::npos);
}

TEST_CASE("bench leaves the comparison of threads out, and shows a dash for what it did not measure") {
  const Folder folder;
  const Ran ran = run_tool(folder, "bench --quick --rounds 1 --threads 1 --python no-such-python");
  CAPTURE(ran.out, ran.err);
  CHECK(ran.exit_code == 0);
  CHECK(ran.out.find("threads over one") == std::string::npos);
  CHECK(ran.out.find("105, 106") != std::string::npos);
}

// A Python that answers as PyTorch's child does, and one that ends in the middle.
TEST_CASE("bench takes turns with a child that answers, and reports one that ends") {
  const Folder folder;
  const auto python = [&](const std::string& name, const std::string& script) {
    const std::string path = folder.file(name);
    run_command(folder,
                "printf '%s\\n' '#!/bin/sh' " + script + " > '" + path + "'; chmod +x '" + path + "'; true");
    return path;
  };
  const std::string answers = python("answers",
                                     "'echo \"9.9, ABACUS\" >&3' 'while read -r order <&3; do echo "
                                     "\"$order\" >>\"${0%/*}/orders\"; echo \"0.5 0.25\" >&3; done'");
  const Ran good = run_tool(
      folder, "bench --quick --rounds 1 --python '" + answers + "' --json '" + folder.file("json") + "'");
  CAPTURE(good.out, good.err);
  REQUIRE(good.exit_code == 0);
  const json all = json::parse(contents(folder.file("json")));
  CHECK(all.at("torch") == "9.9, ABACUS");
  const json* torch = named(all.at("timings"), "PyTorch backward, head_dim 128, causal");
  REQUIRE(torch != nullptr);
  CHECK(torch->at("processor_seconds").at("median") == 0.5);
  CHECK(torch->at("wall_seconds").at("median") == 0.25);
  CHECK(named(all.at("ratios"), "108 forward, head_dim 64, full: over PyTorch") != nullptr);
  const json* threads = named(all.at("timings"), "PyTorch on threads backward, head_dim 128, causal");
  REQUIRE(threads != nullptr);
  CHECK(threads->at("flop") == 2 * torch->at("flop").get<double>());  // two threads, two heads
  CHECK(named(all.at("ratios"), "108 backward, head_dim 64, causal: 2 threads over PyTorch's") != nullptr);
  // Orders: backward heads tokens head_dim causal threads.
  const std::string orders = contents(folder.file("orders"));
  CHECK(orders.find("1 1 256 128 1 1\n") != std::string::npos);
  CHECK(orders.find("1 2 256 128 1 2\n") != std::string::npos);

  const Ran broken = run_tool(folder, "bench --quick --rounds 1 --python '" +
                                          python("ends", "'echo \"9.9, ABACUS\" >&3' 'echo no more'") + "'");
  CAPTURE(broken.out, broken.err);
  CHECK(broken.exit_code == 3);
  CHECK(broken.err.find("with PyTorch ended or gave no answer: no more") != std::string::npos);
}

TEST_CASE("bench kernels without a GPU is a sentence and exit code 3: no other device's times are shown") {
  const Folder folder;
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  for (const char* flags : {"", " --tune"}) {
    const Ran ran =
        run_tool(folder, std::string("bench kernels") + flags + " --json '" + folder.file("json") + "'");
    CAPTURE(ran.out, ran.err);
    CHECK(ran.exit_code == 3);
    CHECK(ran.out.empty());
    CHECK(ran.err.find("bench kernels measures a GPU") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(folder.file("json")));
  }
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}
