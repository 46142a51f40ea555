// verify on parts of a claim and on values of another width, and its verdict for programs.
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "tool/claim_scene.hpp"

using namespace ringcraft;
using namespace ringcraft::tests;

TEST_CASE("any tensors of a claim are judged, and the summary counts no other") {
  const std::vector<std::string> names{"out", "lse", "dq", "dk", "dv"};
  for (unsigned set = 1; set < 32; ++set) {
    ClaimScene scene;
    scene.write_input();
    std::string judged, first;
    for (std::size_t i = 0; i < names.size(); ++i)
      if ((set >> i & 1) != 0) {
        if (judged.empty()) first = names[i];
        judged += (judged.empty() ? "" : ", ") + names[i];
      }
    const auto chosen = [&](const ClaimScene& from) {
      auto tensors = from.dump();
      for (std::size_t i = 0; i < names.size(); ++i)
        if ((set >> i & 1) == 0) tensors.erase(names[i]);
      return tensors;
    };
    CAPTURE(judged);
    scene.write_claim(chosen(scene));
    const Ran right = scene.judged_whole();
    check_ran(right, 0, set == 31 ? "5 passed, 0 failed, 0 skipped" : "judged: " + judged + "; not judged: ");
    const auto count = std::to_string(std::popcount(set));
    check_ran(right, 0,
              count + " passed, 0 failed, " + std::to_string(5 - std::popcount(set)) + " skipped; " + count +
                  " of " + count + " points");
    if ((set & 28) == 0) check_ran(right, 0, "half judged: ");
    scene.spoil(first);
    scene.write_claim(chosen(scene));
    check_ran(scene.judged_whole(), 1, first + ", head ");
  }
}

TEST_CASE("gradients without a dout are not judged, and that is said") {
  ClaimScene scene;
  scene.write_input("bhsd", /*with_dout=*/false);
  scene.write_claim(scene.dump());
  const Ran ran = scene.judged_whole();
  check_ran(ran, 0, "2 passed, 0 failed, 3 skipped; 2 of 2 points");
  check_ran(ran, 0, "the input has no dout to judge it by");
  auto gradients = scene.dump();
  gradients.erase("out");
  gradients.erase("lse");
  scene.write_claim(gradients);
  check_ran(scene.judged_whole(), 2, "--input: expected dout beside q, k, v: the claim has gradients alone");
}

TEST_CASE("values of another width than keys are judged, and their padding is not counted") {
  for (const auto& [width, value] : {std::pair<Index, Index>{8, 5}, {8, 1}}) {
    ClaimScene scene({1, 4, 2, 25, width}, causal_mask(), value);
    scene.write_input();
    scene.write_claim(scene.dump());
    const Index out = 4 * 25 * value, lse = 4 * 25, dq = 4 * 25 * width, dk = 2 * 25 * width,
                dv = 2 * 25 * value;
    check_ran(scene.judged_whole(), 0, "right: " + std::to_string(out + lse + dq + dk + dv) + " elements");
    for (const char* type : {"float32", "bfloat16", "float16"})
      check_ran(scene.judged_whole("--causal --dtype " + std::string(type)), 0, "5 passed");
    for (const char* tensor : {"out", "dk", "dv"}) {
      ClaimScene wrong({1, 4, 2, 25, width}, causal_mask(), value);
      wrong.write_input();
      wrong.spoil(tensor);
      wrong.write_claim(wrong.dump());
      const Ran found = wrong.judged_whole();
      check_ran(found, 1, "position 13");
      if (tensor == std::string("out")) check_ran(found, 1, "1 of " + std::to_string(out));
    }
  }
}

TEST_CASE("keys narrower than values keep their own scale") {
  ClaimScene scene({1, 4, 2, 25, 8});
  // Keys of width 3 in a problem of width 8: columns 3 to 7 are zeros, the scale is 1/sqrt(3).
  for (Buffer* tensor : {&scene.inputs.q, &scene.inputs.k}) clear_columns(*tensor, 3);
  scene.problem.softmax_scale = 1 / std::sqrt(3.0);
  scene.claim = verify::oracle(scene.problem, scene.inputs).value;
  const auto cut = [&](const Buffer& tensor, Index width) {
    return dumped(tensor, "bhsd", all_rows(25), width);
  };
  write_dump(scene.folder.file("in"), {{"q", cut(scene.inputs.q, 3)},
                                       {"k", cut(scene.inputs.k, 3)},
                                       {"v", cut(scene.inputs.v, 8)},
                                       {"dout", cut(scene.inputs.dout, 8)}});
  scene.write_claim({{"out", cut(scene.claim.out, 8)},
                     {"lse", dumped(scene.claim.lse, "bhs", all_rows(25), 1)},
                     {"dq", cut(scene.claim.dq, 3)},
                     {"dk", cut(scene.claim.dk, 3)},
                     {"dv", cut(scene.claim.dv, 8)}});
  check_ran(scene.judged_whole(), 0, "right: " + std::to_string(4 * 25 * 12 + 2 * 25 * 11) + " elements");
  check_ran(run_tool(scene.folder,
                     "attend --input " + scene.folder.file("in") + " --output " + scene.folder.file("o")),
            2, "v: expected the shape and type of k");
}

TEST_CASE("verify --json has the verdict, how all was read, and the first wrong place as data") {
  ClaimScene scene;
  scene.write_input();
  scene.spoil("dk");
  auto tensors = scene.dump("bshd", "bhs");
  tensors.erase("lse");
  scene.write_claim(tensors);
  const Ran ran =
      scene.judged_whole("--causal --ranks 3 --layout zigzag --json '" + scene.folder.file("j") + "'");
  check_ran(ran, 1, "dk");
  const auto report = nlohmann::json::parse(contents(scene.folder.file("j")));
  CHECK(report["good"] == false);
  CHECK(report["rule"].get<std::string>().find("float64") == 0);
  CHECK(report["judged"] == nlohmann::json({"out", "dq", "dk", "dv"}));
  CHECK(report["not_judged"][0]["tensor"] == "lse");
  const auto& first = report["first"];
  const Sharding sharding{Layout::kZigzag, 25, 3};
  CHECK(first["tensor"] == "dk");
  CHECK(first["batch"] == 0);
  CHECK(first["head"] == 1);
  CHECK(first["position"] == 13);
  CHECK(first["column"] == 0);
  CHECK(first["rank"] == sharding.owner_of(13));
  CHECK(first["row"] == sharding.local_from_global(13));
  CHECK(std::abs(first["got"].get<double>() - first["want"].get<double>() - 0.25) < 1e-12);
  CHECK(first["bound"].get<double>() < 1e-9);
  CHECK(report["read"].size() == 8);
  CHECK(report["read"][4]["tensor"] == "out");
  CHECK(report["read"][4]["order"] == "[batch, seqlen, heads, head_dim]");
  CHECK(report["read"][4]["shape"] == nlohmann::json({1, 25, 4, 8}));
  CHECK(report["rows"].size() == 5);
  CHECK(report["remarks"].is_array());

  ClaimScene right;
  right.write_input();
  right.write_claim(right.dump());
  CHECK(right.judged_whole("--causal --json '" + right.folder.file("j") + "'").exit_code == 0);
  CHECK(nlohmann::json::parse(contents(right.folder.file("j")))["first"].is_null());
  check_ran(right.judged_whole("--json '" + right.folder.file("claim") + "'"), 2,
            "--json: expected another file");
}

TEST_CASE("windows that contradict each other are refused") {
  ClaimScene scene;
  scene.write_input();
  scene.write_claim(scene.dump());
  check_ran(scene.judged_whole("--window 5 --window-size 5,0"), 2, "--window or --window-size, got both");
  check_ran(scene.judged_whole("--window-size 5"), 2, "--window-size: expected two numbers, got 1 number");
  check_ran(scene.judged_whole("--window-size 5,-2"), 2,
            "--window-size: expected numbers from -1 on, got -2");
  check_ran(scene.judged_whole("--window-size 5,x"), 2, "--window-size: expected whole numbers");
}
