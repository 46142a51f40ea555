// verify on dumps whose rows stand rank by rank, in one file or in a file for each rank.

#include "support/catch.hpp"
#include "tool/claim_scene.hpp"

using namespace ringcraft;
using namespace ringcraft::tests;

namespace {

// A way to write the rows of ranks.
struct RankForm {
  RowsOfFiles rows;
  const char* name;   // of a file; # stands for the rank; without it one file has all rows
  const char* claim;  // --claim, in the folder of the test
  const char* flags;
  const char* line;
};

const RankForm kRankForms[] = {
    {dealt(Layout::kZigzag, 4, 4), "rank#.safetensors", "dumps", "--claim-layout zigzag",
     "read: 4 files, one for each rank, in the order of zigzag"},
    {dealt(Layout::kStriped, 4, 4), "#.safetensors", "dumps", "--claim-layout striped", "4 ranks, striped"},
    {dealt(Layout::kZigzagToken, 3, 3), "out_rank_#.safetensors", "dumps", "--claim-layout zigzag-token",
     "3 ranks, zigzag-token"},
    {dealt(Layout::kContiguous, 4, 4), "00#-x.safetensors", "dumps/{rank}-x.safetensors",
     "--claim-layout contiguous", "4 ranks, contiguous"},
    {dealt(Layout::kContiguous, 30, 30), "r#.safetensors", "dumps", "--claim-layout contiguous",
     "30 ranks, contiguous"},  // some are empty
    {dealt(Layout::kContiguous, 1, 1), "r#.safetensors", "dumps", "", "1 file, one for each rank"},
    {dealt(Layout::kZigzag, 8, 4), "r#.safetensors", "dumps", "--claim-layout zigzag:8",
     "over 8 virtual ranks, 2 in each file; ranks are virtual ones here"},
    {dealt(Layout::kZigzag, 4, 4, 32), "r#.safetensors", "dumps", "--claim-layout zigzag",
     "without 7 rows of padding (32 in all)"},
    {dealt(Layout::kStriped, 4, 4, 28), "r#.safetensors", "dumps", "--claim-layout striped",
     "without 3 rows of padding (28 in all)"},
    {dealt(Layout::kZigzag, 4, 4), "r#.safetensors", "dumps", "--claim-layout positions.txt",
     "positions.txt"},
    {dealt(Layout::kZigzag, 3, 1), "whole.safetensors", "dumps/whole.safetensors",
     "--claim-layout zigzag --ranks 3", "rows in the order of zigzag over 3 ranks"},
    {dealt(Layout::kStriped, 5, 1), "whole.safetensors", "dumps/whole.safetensors",
     "--claim-layout striped:5", "5 ranks, striped"},
    {dealt(Layout::kZigzagToken, 5, 1), "whole.safetensors", "dumps/whole.safetensors",
     "--claim-layout positions.txt", "rows in the order of"},
};

Ran judged_ranks(const ClaimScene& scene, const RankForm& form) {
  std::string flags = form.flags;
  if (const std::size_t at = flags.find("positions.txt"); at != std::string::npos)
    flags.replace(at, 13, "'" + scene.folder.file("positions.txt") + "'");
  return scene.judged("--causal --claim '" + scene.folder.file(form.claim) + "' " + flags);
}

}  // namespace

TEST_CASE("rows of ranks are judged right, and a wrong number in them is found, in every layout") {
  for (const RankForm& form : kRankForms) {
    CAPTURE(form.name, form.flags, form.line);
    ClaimScene scene;
    scene.write_input();
    write_ranks(scene, form.rows, form.name);
    check_ran(judged_ranks(scene, form), 0, form.line);
    scene.spoil("dk");
    write_ranks(scene, form.rows, form.name);
    const Ran wrong = judged_ranks(scene, form);
    check_ran(wrong, 1, "dk, head 1, position 13, column 0: got");
  }
}

TEST_CASE("rows of packed sequences that were dealt each by itself are judged by --per-sequence") {
  const std::vector<Position> borders{0, 9, 25};
  ClaimScene scene({1, 4, 2, 25, 8}, {.right = 0, .cu_seqlens = borders});
  scene.write_input();
  const Sharding sharding{Layout::kZigzag, 25, 4, borders};
  RowsOfFiles rows;
  for (int rank = 0; rank < 4; ++rank) rows.push_back(sharding.positions(rank));
  const std::string flags = "--causal --cu-seqlens 0,9,25 --claim '" + scene.folder.file("dumps") + "' ";
  write_ranks(scene, rows, "r#.safetensors");
  check_ran(scene.judged(flags + "--claim-layout zigzag --per-sequence"), 0,
            "in the order of zigzag, each sequence by itself");
  check_ran(scene.judged(flags + "--claim-layout zigzag"), 1,
            "write --claim-layout zigzag and --per-sequence");
  scene.spoil("dk");
  write_ranks(scene, rows, "r#.safetensors");
  check_ran(scene.judged(flags + "--claim-layout zigzag --per-sequence"), 1,
            "dk, head 1, position 13, column 0: got");
}

TEST_CASE("tensors that are wrong in their own layout are not called right in another") {
  for (const Position tokens : {25, 120, 131})
    for (const Layout layout : kLayouts) {
      CAPTURE(tokens, name_of(layout));
      ClaimScene scene({1, 4, 2, tokens, 8});
      scene.write_input();
      for (double& x : scene.claim.out.values<double>()) x *= 1.02;
      write_ranks(scene, dealt(layout, 4, 4, 0, tokens), "r#.safetensors");
      const Ran wrong = scene.judged("--causal --claim '" + scene.folder.file("dumps") + "' --claim-layout " +
                                     std::string(name_of(layout)));
      CHECK(wrong.exit_code == 1);
      CHECK(wrong.out.find("if you") == std::string::npos);
    }
}

TEST_CASE("rows that are padded on each rank are not those of a padded sequence, and that is said") {
  ClaimScene scene({1, 4, 2, 29, 8});
  scene.write_input();
  RowsOfFiles rows = dealt(Layout::kZigzag, 4, 4, 0, 29);  // 7, 7, 7 and 8
  for (auto& own : rows) own.resize(8, -1);
  write_ranks(scene, rows, "r#.safetensors");
  const std::string flags = "--causal --claim '" + scene.folder.file("dumps") + "' --claim-layout ";
  check_ran(scene.judged(flags + "zigzag"), 1,
            "right, if you write the rows of each rank alone, without the padding at their end");
  check_ran(scene.judged(flags + "'" + scene.folder.file("positions.txt") + "'"), 0, "3 rows of padding");
}

TEST_CASE("rows in another layout than the one that is named are wrong, and the right one is named") {
  for (const Layout truth : kLayouts)
    for (const Layout named : kLayouts)
      for (const int files : {1, 4}) {
        if (truth == named) continue;
        const std::string number = files == 1 ? ":4" : "";
        const std::string flag = "--claim-layout " + std::string(name_of(named)) + number;
        CAPTURE(name_of(truth), flag);
        ClaimScene scene;
        scene.write_input();
        write_ranks(scene, dealt(truth, 4, files), "r#.safetensors");
        const std::string claim = files == 1 ? "dumps/r0.safetensors" : "dumps";
        const Ran ran = scene.judged("--causal --claim '" + scene.folder.file(claim) + "' " + flag);
        const bool plain = files == 1 && truth == Layout::kContiguous;
        check_ran(
            ran, 1,
            "right, if you " + (plain ? std::string("leave --claim-layout out")
                                      : "write --claim-layout " + std::string(name_of(truth)) + number));
      }
}
