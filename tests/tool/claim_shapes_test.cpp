// verify refuses shapes and names that it cannot read, with Python code that corrects them.
#include <functional>

#include "support/catch.hpp"
#include "tool/claim_scene.hpp"

using namespace ringcraft;
using namespace ringcraft::tests;

namespace {

// A change of the tensors of a whole claim, and Python code that corrects it.
struct ShapeRefusal {
  std::function<void(const ClaimScene&, std::map<std::string, Dumped>&)> change;
  const char* fragment;
};

void rename(std::map<std::string, Dumped>& tensors, const std::string& from, const std::string& to) {
  tensors[to] = tensors[from];
  tensors.erase(from);
}

const ShapeRefusal kShapeRefusals[] = {
    {[](const ClaimScene& s, auto& t) { t["dk"] = dumped(s.claim.dq, "bhsd", all_rows(25), 8); },
     "dk.unflatten(1, (2, -1)).sum(2)"},
    {[](const ClaimScene& s, auto& t) { t["dv"] = dumped(s.claim.dq, "bshd", all_rows(25), 8); },
     "dv.unflatten(2, (2, -1)).sum(3)"},
    {[](const ClaimScene& s, auto& t) { t["dk"] = dumped(s.claim.dq, "[bs]hd", all_rows(25), 8); },
     "dk.unflatten(1, (2, -1)).sum(2)"},
    {[](const ClaimScene& s, auto& t) { t["out"] = dumped(s.claim.out, "bhds", all_rows(25), 8); },
     "out: expected [1, 4, 25, 8], [batch, heads, seqlen, head_dim], got [1, 4, 8, 25]; write "
     "out.permute(0, 1, 3, 2)"},
    {[](const ClaimScene& s, auto& t) { t["out"] = dumped(s.claim.out, "bhsd", all_rows(24), 8); },
     "out: expected 25 rows, got 24 ([1, 4, 24, 8])"},
    {[](const ClaimScene& s, auto& t) {
       std::vector<Position> rows = all_rows(25);
       rows.resize(32, -1);
       t["out"] = dumped(s.claim.out, "bhsd", rows, 8);
     },
     "write out[:, :, :25]"},
    {[](const ClaimScene& s, auto& t) { t["out"] = dumped(s.claim.out, "bhsd", all_rows(25), 7); },
     "out: expected [1, 4, 25, 8], [batch, heads, seqlen, head_dim], got [1, 4, 25, 7]"},
    {[](const ClaimScene&, auto& t) { rename(t, "out", "output"); },
     "tensors[\"out\"] = tensors.pop(\"output\")"},
    {[](const ClaimScene&, auto& t) { rename(t, "lse", "softmax_lse"); },
     "tensors[\"lse\"] = tensors.pop(\"softmax_lse\")"},
    {[](const ClaimScene&, auto& t) { rename(t, "dq", "q.grad"); },
     "tensors[\"dq\"] = tensors.pop(\"q.grad\")"},
    {[](const ClaimScene&, auto& t) {
       const Dumped out = t["out"];
       t.clear();
       t["weights\n"] = out;
     },
     "at least one of out, lse, dq, dk, dv, got \"weights?\""},
};

struct InputRefusal {
  Shape shape;
  const char* code;
  const char* flags;
  const char* fragment;
};

const InputRefusal kInputRefusals[] = {
    {{1, 3, 3, 25, 8},
     "hsd",
     "",
     "write q.unsqueeze(0) if it is [heads, seqlen, head_dim], q.transpose(0, 1).unsqueeze(0) if it is "
     "[seqlen, "
     "heads, head_dim]"},
    {{1, 4, 2, 25, 8}, "sbhd", "", "q.permute(1, 2, 0, 3) if it is [seqlen, batch, heads, head_dim]"},
    {{1, 4, 2, 25, 8}, "bhds", "", "k: expected batch, seqlen and head_dim of q"},
    {{1, 4, 2, 25, 8}, "sd", "", "4 dimensions"},
};

}  // namespace

TEST_CASE("lse that is padded for each packed sequence is refused with the Python that packs it") {
  ClaimScene scene({1, 4, 2, 25, 8}, {.right = 0, .cu_seqlens = {0, 5, 25}});
  scene.write_input();
  auto tensors = scene.dump();
  tensors["lse"] = {{2, 4, 20}, std::vector<double>(160)};
  scene.write_claim(tensors);
  check_ran(scene.judged_whole("--causal --cu-seqlens 0,5,25"), 2,
            "torch.cat([one[:, :n] for one, n in zip(lse, cu_seqlens.diff())], 1)");
}

TEST_CASE("a shape that cannot be read is refused with Python code that corrects it") {
  for (const ShapeRefusal& refusal : kShapeRefusals) {
    CAPTURE(refusal.fragment);
    ClaimScene scene;
    scene.write_input();
    auto tensors = scene.dump();
    refusal.change(scene, tensors);
    scene.write_claim(tensors);
    check_ran(scene.judged_whole(), 2, refusal.fragment);
  }
  for (const InputRefusal& refusal : kInputRefusals) {
    CAPTURE(refusal.code);
    ClaimScene scene(refusal.shape);
    scene.write_input(refusal.code);
    scene.write_claim(scene.dump());
    if (std::string(refusal.code) == "bhds") continue;  // seqlen and head_dim fit each other: another problem
    check_ran(scene.judged_whole(), 2, refusal.fragment);
  }
}
