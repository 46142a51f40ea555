// verify on one file in the forms that people have: each order of axes is read and judged right, a wrong
// number in it is found at its place, and the report says how it was read.
#include <cmath>
#include <cstdio>

#include "ringcraft/io/safetensors.hpp"
#include "support/catch.hpp"
#include "support/effort.hpp"
#include "tool/claim_scene.hpp"

using namespace ringcraft;
using namespace ringcraft::tests;

namespace {

// A way to write the whole sequence into one file.
struct WholeForm {
  const char* input;
  const char* wide;
  const char* lse;
  const char* flags;
  const char* line;  // of the report; empty: the documented form, of which nothing is said
  Shape shape = {1, 4, 2, 25, 8};
  Mask mask = causal_mask();
};

const Mask kPacked{.right = 0, .cu_seqlens = {0, 5, 25}};

const WholeForm kWholeForms[] = {
    {"bhsd", "bhsd", "bhs", "--causal", ""},
    {"bhsd", "bshd", "bhs", "--causal", "out, dq, dk, dv were read as [batch, seqlen, heads, head_dim]"},
    {"bhsd", "bhsd", "bsh", "--causal", "lse was read as [batch, seqlen, heads]"},
    {"bhsd", "bhsd", "bhs1", "--causal", "lse was read as [batch, heads, seqlen, 1]"},
    {"bhsd", "bhsd", "bh1s", "--causal", "lse was read as [batch, heads, 1, seqlen]"},
    {"bhsd", "bhsd", "bsh1", "--causal", "lse was read as [batch, seqlen, heads, 1]"},
    {"bhsd", "bhsd", "hs", "--causal", "lse was read as [heads, seqlen]"},
    {"bhsd", "bhsd", "sh", "--causal", "lse was read as [seqlen, heads]"},
    {"bhsd", "sbhd", "bhs", "--causal", "out, dq, dk, dv were read as [seqlen, batch, heads, head_dim]"},
    {"bhsd", "bs[hd]", "bhs", "--causal", "out, dq, dk, dv were read as [batch, seqlen, heads * head_dim]"},
    {"bhsd", "[bs]hd", "bhs", "--causal", "out, dq, dk, dv were read as [seqlen, heads, head_dim]"},
    {"bhsd", "hsd", "bhs", "--causal", "out, dq, dk, dv were read as [heads, seqlen, head_dim]"},
    {"bhsd", "[bs][hd]", "bhs", "--causal", "out, dq, dk, dv were read as [seqlen, heads * head_dim]"},
    {"bshd", "bshd", "bhs", "--causal",
     "q, k, v, dout, out, dq, dk, dv were read as [batch, seqlen, heads, head_dim]"},
    {"hsd", "hsd", "hs", "--causal", "q, k, v, dout, out, dq, dk, dv were read as [heads, seqlen, head_dim]"},
    {"shd",
     "shd",
     "hs",
     "--causal --cu-seqlens 0,5,25",
     "q, k, v, dout, out, dq, dk, dv were read as [seqlen, heads, head_dim]",
     {1, 4, 2, 25, 8},
     kPacked},
    {"shd",
     "shd",
     "sh",
     "--causal --cu-seqlens 0,5,25",
     "lse was read as [seqlen, heads]",
     {1, 3, 3, 25, 8},
     kPacked},
    {"bhsd", "[bs]hd", "bhs", "--causal", "were read as [batch * seqlen, heads, head_dim]", {2, 4, 2, 25, 8}},
    {"bhsd", "[bs][hd]", "h[bs]", "--causal", "lse was read as [heads, batch * seqlen]", {2, 4, 2, 25, 8}},
    {"bhsd", "sbhd", "sbh", "--causal", "lse was read as [seqlen, batch, heads]", {2, 4, 2, 25, 8}},
    {"bshd", "bshd", "bsh", "--causal", "were read as [batch, seqlen, heads, head_dim]", {3, 4, 2, 25, 8}},
    {"bhsd", "bhsd", "bhs", "--causal", "", {2, 3, 3, 25, 8}},  // as many key heads: documented by default
    {"bhsd",
     "bhsd",
     "bhs",
     "--causal",
     "[batch, seqlen, heads, head_dim] has the same shape: if it is that, write out.transpose(1, 2)",
     {1, 25, 5, 25, 8}},
    {"bshd",
     "bshd",
     "bhs",
     "--causal",  // the shape of out allows both; that of q, beside k, does not
     "out, dq were read as [batch, seqlen, heads, head_dim]; [batch, heads, seqlen, head_dim] has the same "
     "shape",
     {1, 25, 5, 25, 8}},
    {"bhsd", "bhsd", "bhs", "--window-size 5,0", "window 5", {1, 4, 2, 25, 8}, window_mask(5)},
    {"bhsd",
     "bhsd",
     "bhs",
     "--window-size 5,3",
     "left 5, right 3",
     {1, 4, 2, 25, 8},
     {.left = 5, .right = 3}},
    {"bhsd", "bhsd", "bhs", "--window-size -1,3", "left open, right 3", {1, 4, 2, 25, 8}, {.right = 3}},
    {"bhsd", "bhsd", "bhs", "--window-size 5,3 --causal", "window 5", {1, 4, 2, 25, 8}, window_mask(5)},
    {"bhsd", "bhsd", "bhs", "--window-size=-1,-1", "full", {1, 4, 2, 25, 8}, full_mask()},
};

}  // namespace

TEST_CASE(
    "every order of axes is judged right, a wrong number in it is found, and the report says how it was "
    "read") {
  if (!testing::long_run()) std::printf("one wrong tensor of each form, of three with RINGCRAFT_LONG=1\n");
  std::size_t turn = 0;
  for (const WholeForm& form : kWholeForms) {
    CAPTURE(form.input, form.wide, form.lse, form.flags);
    ClaimScene scene(form.shape, form.mask);
    scene.write_input(form.input);
    scene.write_claim(scene.dump(form.wide, form.lse));
    const Ran right = scene.judged_whole(form.flags);
    check_ran(right, 0, form.line);
    if (*form.line == '\0') CHECK(right.out.find("read as") == std::string::npos);
    for (const char* tensor : testing::one_by_turns<const char*>({"out", "lse", "dk"}, turn++)) {
      ClaimScene wrong(form.shape, form.mask);
      wrong.write_input(form.input);
      wrong.spoil(tensor);
      wrong.write_claim(wrong.dump(form.wide, form.lse));
      const Ran found = wrong.judged_whole(form.flags);
      check_ran(found, 1,
                form.shape.batch == 1
                    ? tensor + std::string(", ")
                    : std::string(tensor) + ", batch " + std::to_string(form.shape.batch - 1));
      check_ran(found, 1, "position 13, column 0: got");
    }
  }
}

TEST_CASE("lse with rows of padding is read without them") {
  for (const Index padded : {32, 128}) {
    ClaimScene scene;
    scene.write_input();
    auto tensors = scene.dump();
    std::vector<Position> rows = all_rows(25);
    rows.resize(static_cast<std::size_t>(padded), -1);
    tensors["lse"] = dumped(scene.claim.lse, "bhs", rows, 1);
    scene.write_claim(tensors);
    check_ran(scene.judged_whole(), 0,
              "lse was read as [batch, heads, seqlen], without " + std::to_string(padded - 25) +
                  " rows of padding");
    scene.spoil("lse");
    tensors["lse"] = dumped(scene.claim.lse, "bhs", rows, 1);
    scene.write_claim(tensors);
    check_ran(scene.judged_whole(), 1, "position 13");
  }
}

TEST_CASE("lse with rows of padding on each rank is read without them") {
  ClaimScene scene({1, 4, 2, 29, 8});
  scene.write_input();
  const RowsOfFiles rows = dealt(Layout::kZigzag, 4, 4, 0, 29);
  write_ranks(scene, rows, "r#");
  for (std::size_t rank = 0; rank < 4; ++rank) {
    auto tensors = scene.dump("bshd", "bhs", rows[rank]);
    std::vector<Position> padded = rows[rank];
    padded.resize(128, -1);
    tensors["lse"] = dumped(scene.claim.lse, "bhs", padded, 1);
    write_dump(scene.folder.file("dumps/r" + std::to_string(rank)) + ".safetensors", tensors);
  }
  check_ran(scene.judged("--causal --claim-layout zigzag --claim '" + scene.folder.file("dumps") + "'"), 0,
            "lse was read as [batch, heads, seqlen], without 483 rows of padding (512 in all)");
  for (std::size_t rank = 0; rank < 4; ++rank) {  // alone it may be a part of 512 tokens, too
    std::vector<Position> padded = rows[rank];
    padded.resize(128, -1);
    write_dump(scene.folder.file("dumps/r" + std::to_string(rank)) + ".safetensors",
               {{"lse", dumped(scene.claim.lse, "bhs", padded, 1)}});
  }
  check_ran(scene.judged("--causal --claim-layout zigzag --claim '" + scene.folder.file("dumps") + "'"), 2,
            "lse: expected rows that can be padded in one way only, got [1, 4, 128]; cut them");
}

TEST_CASE("inputs whose axes could be swapped are taken as documented, and that is said") {
  ClaimScene many({1, 25, 25, 7, 8});
  many.write_input();
  many.write_claim(many.dump());
  const char* const doubt =
      "q, k, v, dout were read as [batch, heads, seqlen, head_dim]; [batch, seqlen, heads, head_dim] has the "
      "same shape: if it is that, write q.transpose(1, 2)";
  check_ran(many.judged_whole("--causal"), 0, doubt);
  ClaimScene swapped({1, 7, 7, 25, 8});  // as flash-attn has them: lse tells which axis is which
  swapped.write_input("bshd");
  swapped.write_claim(swapped.dump("bshd", "bhs"));
  check_ran(swapped.judged_whole("--causal"), 0,
            "q, k, v, dout were read as [batch, seqlen, heads, head_dim]\n");
  swapped.spoil("dk");
  swapped.write_claim(swapped.dump("bshd", "bhs"));
  check_ran(swapped.judged_whole("--causal"), 1, "position 13");
  ClaimScene few({1, 7, 7, 25, 8});  // only where the claim is wrong
  few.write_input();
  few.write_claim(few.dump());
  CHECK(few.judged_whole("--causal").out.find("read as") == std::string::npos);
  check_ran(few.judged_whole(""), 1, doubt);
}

TEST_CASE("where inputs allow two orders, that in which the claim is right is taken") {
  // As flash-attn has them, with as many key heads as heads, and no lse that tells which axis is which.
  const auto without_lse = [](ClaimScene& scene) {
    auto tensors = scene.dump("bshd", "bhs");
    tensors.erase("lse");
    return tensors;
  };
  const char* const as_read = "q, k, v, dout were read as [batch, seqlen, heads, head_dim]";
  ClaimScene scene({2, 4, 4, 30, 8});
  scene.write_input("bshd");
  scene.write_claim(without_lse(scene));
  check_ran(scene.judged_whole("--causal"), 0, std::string(as_read) + "\n");
  scene.spoil("dk");
  scene.write_claim(without_lse(scene));
  check_ran(scene.judged_whole("--causal"), 1, "position 13");
  CHECK(scene.judged_whole("--causal").out.find("passed   out") != std::string::npos);

  const RowsOfFiles rows = dealt(Layout::kContiguous, 3, 3, 0, 30);  // 10 rows each do not fit 30 heads
  for (std::size_t rank = 0; rank < 3; ++rank) {
    auto tensors = scene.dump("bshd", "bhs", rows[rank]);
    tensors.erase("lse");
    write_dump(scene.folder.file("r" + std::to_string(rank)) + ".safetensors", tensors);
  }
  check_ran(scene.judged("--causal --claim-layout contiguous --claim '" +
                         scene.folder.file("r{rank}.safetensors") + "'"),
            1, "position 13");

  // right in neither: the less wrong one
  for (double& x : scene.claim.out.values<double>()) x = -x;
  auto tensors = without_lse(scene);
  for (const char* name : {"dq", "dk", "dv"}) tensors.erase(name);
  scene.write_claim(tensors);
  check_ran(
      scene.judged_whole("--causal"), 1,
      "q, k, v, dout were read as [batch, seqlen, heads, head_dim]; [batch, heads, seqlen, head_dim] has "
      "the same shape");
}

TEST_CASE("right as more heads than tokens alone is no verdict") {
  ClaimScene scene(
      {1, 25, 25, 7, 8});  // 25 tokens and 7 heads, attended over the wrong axis, or what it seems
  scene.write_input();
  auto tensors = scene.dump();
  tensors.erase("lse");
  scene.write_claim(tensors);
  check_ran(scene.judged_whole(), 2,
            "q: expected fewer heads than tokens, or an lse that says which axis is which");
}

TEST_CASE("tensors of several types are judged by the narrowest, and that is said") {
  ClaimScene scene;
  scene.write_input();
  scene.write_claim(scene.dump());
  CHECK(scene.judged_whole().out.find("the narrowest") == std::string::npos);
  scene.claim.out = converted(scene.claim.out, DType::kBFloat16);
  const NamedTensor tensors[] = {{"out", &scene.claim.out}, {"dq", &scene.claim.dq}};
  write_safetensors(scene.folder.file("claim"), tensors);
  check_ran(scene.judged_whole(), 0,
            "out is bfloat16, dq float64: all are judged as bfloat16, the narrowest");
}

TEST_CASE("the verdict is not written over the positions of rows") {
  ClaimScene scene;
  scene.write_input();
  write_ranks(scene, dealt(Layout::kZigzag, 4, 4), "rank#.safetensors");
  const std::string positions = scene.folder.file("positions.txt");
  check_ran(scene.judged("--causal --claim '" + scene.folder.file("dumps") + "' --claim-layout '" +
                         positions + "' --json '" + positions + "'"),
            2, "--json: expected another file than the input");
}

TEST_CASE("lse in base 2 is not taken for lse") {
  ClaimScene scene;
  scene.write_input();
  for (double& x : scene.claim.lse.values<double>()) x /= std::log(2.0);
  scene.write_claim(scene.dump());
  check_ran(scene.judged_whole(), 1, "failed   lse");
}
