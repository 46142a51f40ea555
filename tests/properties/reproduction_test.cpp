// A failure becomes a small problem and commands that really show it: tried with pretended failures, and with
// the tool on the file that was written.
#include "properties/reproduction.hpp"

#include "support/catch.hpp"
#include "support/errors.hpp"
#include "tool/tool_process.hpp"
#include "verify/oracle/compare.hpp"

namespace ringcraft::testing {
namespace {

using tests::Folder;
using tests::Ran;

// Starts at a recipe that fails.
Recipe first_failing(const Check& check, std::uint64_t seed) {
  Random random(seed);
  for (;;)
    if (const Recipe r = random_recipe(random, Masks::kCommandLine); check(r)) return r;
}

}  // namespace

TEST_CASE("a failing recipe shrinks to the smallest of its kind") {
  const Check windows_on_three = [](const Recipe& r) -> std::optional<std::string> {
    if (r.ranks >= 3 && r.left != kNoLimit && r.seqlen >= 7) return "a window on three ranks";
    return {};
  };
  const Check packed_zigzag = [](const Recipe& r) -> std::optional<std::string> {
    if (r.layout == Layout::kZigzag && !r.borders.empty() && r.head_dim > 1) return "packed zig-zag";
    return {};
  };
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Recipe window = shrunk(first_failing(windows_on_three, seed), windows_on_three);
    CHECK(window.ranks == 3);
    CHECK(window.seqlen == 7);
    CHECK(window.layout == Layout::kContiguous);
    CHECK(window.borders.empty());
    CHECK((window.batch == 1 && window.kv_heads == 1 && window.group == 1 && window.head_dim == 1));
    CHECK(window.data == verify::Data::kNormal);
    CHECK_FALSE(window.softmax_scale);
    const Recipe packed = shrunk(first_failing(packed_zigzag, seed), packed_zigzag);
    CHECK(packed.ranks == 1);
    CHECK(packed.borders.size() == 1);
    CHECK(packed.seqlen == packed.borders[0] + 1);
    CHECK((packed.head_dim == 2 && packed.right == kNoLimit && packed.left == kNoLimit));
  }
}

TEST_CASE("every step towards a simpler recipe is a valid problem, and the walk ends") {
  Random random(441);
  const Check always = [](const Recipe& r) -> std::optional<std::string> {
    problem_of(r);  // throws if it is none
    return "always";
  };
  for (int i = 0; i < 50; ++i) {
    const Recipe end = shrunk(random_recipe(random, Masks::kAny), always);
    Recipe simplest;
    simplest.seed = end.seed;
    CHECK(end == simplest);
  }
}

TEST_CASE("the printed commands compute the very problem, and say so") {
  const Folder folder;
  Random random(442);
  for (int i = 0; i < 12; ++i) {
    const Recipe recipe = random_recipe(random, Masks::kCommandLine);
    const Reproduction how =
        reproduction(recipe, i % 2 == 0 ? Schedule::kForward : Schedule::kReversed, folder.file("failing"));
    CAPTURE(how.attend, how.verify);
    const Ran attend = tests::run_tool(folder, how.attend);
    INFO(attend.out << attend.err);
    CHECK(attend.exit_code == 0);  // nothing is wrong with these
    CHECK(attend.out.find("wrong schedule") == std::string::npos);
    CHECK(tests::run_tool(folder, how.verify).exit_code == 0);
    // The file that attend wrote is the answer of the recipe's problem, not merely of some problem.
    const verify::Case c = case_of(recipe);
    const verify::Inputs inputs = verify::make_inputs(c, DType::kFloat64);
    CHECK(verify::compare_exact(tests::read_answer(how.input.string() + ".out"),
                                verify::oracle(c.problem, inputs))
              .good);
  }
}

TEST_CASE("the report tells the problem, the fault and what to type") {
  const Folder folder;
  Recipe recipe{
      .ranks = 3, .left = 2, .right = 0, .borders = {4}, .seqlen = 9, .softmax_scale = 0.7, .seed = 12};
  const std::string text =
      report(recipe, "rank 1 is wrong", reproduction(recipe, Schedule::kReversed, folder.file("x")));
  for (const char* fragment :
       {"n=3 contiguous window 2, 2 sequences s=9", "rank 1 is wrong", "./ringcraft attend --input '",
        "failing-12.safetensors' --output '",
        "--ranks 3 --layout contiguous --window 2 --cu-seqlens 0,4,9 --softmax-scale 0.69999999999999996 "
        "--schedule reversed",
        "./ringcraft verify --input '"})
    CHECK(contains(text, fragment));
}

}  // namespace ringcraft::testing
