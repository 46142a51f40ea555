// The default problem of run: a text determines the numbers, and run climbs all stages on it.
#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "tool/ranks/text_problem.hpp"
#include "tool/tool_process.hpp"

using namespace ringcraft;
using namespace ringcraft::tests;

TEST_CASE("a text determines its tensors, and scores have the size of a random model's") {
  const Shape shape{1, 4, 2, 200, 16};
  const verify::Inputs a = tool::text_inputs("round and round the ring", shape);
  const verify::Inputs b = tool::text_inputs("round and round the ring", shape);
  const verify::Inputs other = tool::text_inputs("round and round the king", shape);
  CHECK(std::ranges::equal(a.q.values<float>(), b.q.values<float>()));
  CHECK_FALSE(std::ranges::equal(a.q.values<float>(), other.q.values<float>()));
  double square = 0;
  for (const float x : a.q.values<float>()) square += static_cast<double>(x) * static_cast<double>(x);
  square /= static_cast<double>(a.q.extents().elements());
  CHECK(square > 0.3);
  CHECK(square < 3);
}

TEST_CASE("run --backend cuda without a GPU is a sentence and exit code 3, before anything is climbed") {
  const Folder folder;
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  const Ran ran = run_tool(folder, "run --backend cuda --json '" + folder.file("json") + "'");
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  CAPTURE(ran.out, ran.err);
  CHECK(ran.exit_code == 3);
  CHECK(ran.out.empty());
  CHECK(ran.err.find("--backend cuda") != std::string::npos);
}

TEST_CASE("run climbs every stage, and measured costs equal theory") {
  const Folder folder;
  for (const char* flags : {"--ranks 4 --tokens 256", "--ranks 3 --tokens 101",
                            "--ranks 1 --tokens 64 --window 9", "--ranks 5 --tokens 83 --layout striped"}) {
    CAPTURE(flags);
    const Ran ran = run_tool(folder, std::string("run ") + flags + " --json " + folder.file("json"));
    CAPTURE(ran.out, ran.err);
    REQUIRE(ran.exit_code == 0);
    const auto report = nlohmann::json::parse(contents(folder.file("json")));
    CHECK(report["rows"].size() >= 9);
    for (const auto& row : report["rows"]) {
      CAPTURE(row["id"].get<std::string>());
#ifndef RINGCRAFT_HAS_EXECUTOR  // one row for all kernels says why they were not tried
      if (row["id"] == "201 to 206 kernels") {
        CHECK(row["status"] == "skipped");
        continue;
      }
#endif
      if (row["status"] == "skipped") {  // a method that cannot deal these heads, or these ranks
        CHECK(row["sentence"].get<std::string>().starts_with("not tried: ulysses: expected "));
        continue;
      }
      CHECK(row["status"] == "passed");
      for (const auto& figure : row["figures"])
        if (!figure["theory"].is_null())
          CHECK(figure["value"].get<double>() == Approx(figure["theory"].get<double>()).margin(1e-12));
    }
  }
}
