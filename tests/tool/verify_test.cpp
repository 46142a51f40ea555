// verify: right tensors pass, and a planted fault is named by rank, tensor and row.
#include <algorithm>
#include <limits>

#include "ringcraft/core/matrix.hpp"
#include "ringcraft/io/safetensors.hpp"
#include "support/catch.hpp"
#include "tool/tool_process.hpp"

using namespace ringcraft;
using namespace ringcraft::tests;

namespace {

void write_claim(const std::string& path, const verify::Answer& answer) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : verify::named(answer))
    if (!tensor.empty())
      tensors.push_back({std::string(name), &tensor, name == "lse" ? Dims::kThree : Dims::kFour});
  write_safetensors(path, tensors);
}

// A right claim of a causal problem on 3 zig-zag ranks, 25 tokens, and a folder to work in.
struct Scene {
  Folder folder;
  verify::Answer claim;

  Scene() {
    const verify::Case c = verify::make_case(
        make_problem({1, 4, 2, 25, 8}, causal_mask(), Layout::kZigzag, 3), verify::Data::kNormal, 3);
    const verify::Inputs inputs = verify::make_inputs(c, DType::kFloat64);
    write_inputs(folder.file("in"), inputs);
    claim = verify::oracle(c.problem, inputs).value;
  }
  Ran judged() {
    write_claim(folder.file("claim"), claim);
    return run_tool(folder, "verify --input " + folder.file("in") + " --claim " + folder.file("claim") +
                                " --ranks 3 --layout zigzag --causal");
  }
};

}  // namespace

TEST_CASE("verify passes a right claim") {
  Scene scene;
  const Ran ran = scene.judged();
  INFO(ran.out << ran.err);
  CHECK(ran.exit_code == 0);
}

TEST_CASE("verify names the first wrong rank, tensor and row") {
  Scene scene;
  const Sharding sharding{Layout::kZigzag, 25, 3};
  const Position position = sharding.global_from_local(1, 2);
  head_of<double>(scene.claim.dk, 0, 1)(position, 3) += 0.25;
  const Ran ran = scene.judged();
  CHECK(ran.exit_code == 1);
  for (const std::string& said :
       {std::string("rank 1"), std::string("dk"), "position " + std::to_string(position)})
    CHECK(ran.out.find(said) != std::string::npos);
}

TEST_CASE("verify fails a claim with NaN, and one of another mask") {
  Scene scene;
  scene.claim.out.values<double>()[5] = std::numeric_limits<double>::quiet_NaN();
  CHECK(scene.judged().exit_code == 1);

  Scene other;
  write_claim(other.folder.file("claim"), other.claim);
  const Ran ran = run_tool(
      other.folder, "verify --input " + other.folder.file("in") + " --claim " + other.folder.file("claim"));
  CHECK(ran.exit_code == 1);
}

TEST_CASE("verify judges a float32 claim by the rule for float32") {
  Scene scene;
  for (const auto& [name, tensor] : verify::named(scene.claim)) tensor = converted(tensor, DType::kFloat32);
  CHECK(scene.judged().exit_code == 0);
  scene.claim.dv.values<float>()[7] *= 1.0001f;
  CHECK(scene.judged().exit_code == 1);
}

TEST_CASE("verify names the mistake, its question and the first wrong step") {
  Scene scene;
  std::swap(scene.claim.dk, scene.claim.dv);
  const Ran ran = scene.judged();
  INFO(ran.out << ran.err);
  CHECK(ran.exit_code == 1);
  CHECK(ran.out.find("likely: dk and dv are swapped (by its numbers") != std::string::npos);
  CHECK(ran.out.find("Scale V alone") != std::string::npos);
  CHECK(ran.out.find("dk   x") != std::string::npos);  // the picture

  Scene causal;  // the flags of judged() say causal; those here do not
  write_claim(causal.folder.file("claim"), causal.claim);
  const Ran flags = run_tool(causal.folder, "verify --input " + causal.folder.file("in") + " --claim " +
                                                causal.folder.file("claim"));
  INFO(flags.out << flags.err);
  CHECK(flags.exit_code == 1);
  CHECK(flags.out.find("right, if causal is what was meant") != std::string::npos);
  CHECK(flags.out.find("the gradients are those of this wrong forward pass") != std::string::npos);
  CHECK(flags.out.find("no --ranks and no --layout") != std::string::npos);
}

TEST_CASE("verify says that no known mistake gives the numbers, rather than name one") {
  Scene scene;
  scene.claim.out.values<double>()[5] += 0.25;
  const Ran ran = scene.judged();
  INFO(ran.out << ran.err);
  CHECK(ran.out.find("no known mistake gives these numbers") != std::string::npos);
  CHECK(ran.out.find("likely:") == std::string::npos);
  CHECK(ran.out.find("first wrong: rank 0, out, early chunk, head 0, local row 0") != std::string::npos);
}

TEST_CASE("verify judges a claim without lse by the rest") {
  Scene scene;
  scene.claim.lse = Buffer();
  const Ran right = scene.judged();
  INFO(right.out << right.err);
  CHECK(right.exit_code == 0);
  CHECK(right.out.find("the claim has none; add it") != std::string::npos);
  scene.claim.out.values<double>()[5] += 0.25;
  CHECK(scene.judged().exit_code == 1);
}

TEST_CASE("verify judges a claim that has some gradients, and refuses one of another shape") {
  Scene scene;
  scene.claim.dv = Buffer();
  CHECK(scene.judged().exit_code == 0);
  Scene other;
  other.claim.lse = Buffer({1, 4, 23, 1}, DType::kFloat64);
  CHECK(other.judged().exit_code == 2);
}

TEST_CASE("verify --schedule proves the schedule of a text, claim by claim") {
  const Folder folder;
  const std::string examples = RINGCRAFT_SCHEDULES;
  const Ran right = run_tool(folder, "verify --schedule '" + examples + "/ring_backward.schedule'");
  INFO(right.out << right.err);
  CHECK(right.exit_code == 0);
  CHECK(right.out.find("6 passed, 0 failed, 0 skipped") != std::string::npos);
  const Ran stuck = run_tool(folder, "verify --schedule '" + examples + "/all_send_first.schedule'");
  INFO(stuck.out << stuck.err);
  CHECK(stuck.exit_code == 1);
  CHECK(stuck.out.find("deadlock: rank 0, step 0 (line 5), waits to send K0 to rank 1") != std::string::npos);
  CHECK(stuck.out.find("2 passed, 1 failed, 1 skipped") != std::string::npos);
}
