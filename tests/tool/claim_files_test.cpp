// verify refuses files of ranks that do not fit together, and names sizes that would fit.
#include <filesystem>
#include <functional>

#include "support/catch.hpp"
#include "tool/claim_scene.hpp"

using namespace ringcraft;
using namespace ringcraft::tests;

namespace {

// A change of a right dump of four zigzag ranks in "dumps/r#.safetensors", and what is said about it.
struct RankRefusal {
  std::function<void(const ClaimScene&)> change;
  const char* flags;
  const char* fragment;
};

constexpr Position kTokens = 29;  // over four ranks, the layouts give them different numbers of rows

std::string rank_file(const ClaimScene& scene, int rank) {
  return scene.folder.file("dumps/r" + std::to_string(rank) + ".safetensors");
}

void nothing(const ClaimScene&) {}

const RankRefusal kRankRefusals[] = {
    {nothing, "--claim dumps", "add --claim-layout zigzag (or striped"},
    {nothing, "--claim dumps --claim-layout striped",
     "out: expected 8, 7, 7, 7 rows (striped over 4 ranks, 29 tokens), got 7, 7, 7, 8 ([1, 4, 7, 8] on rank "
     "0); "
     "these rows fit --claim-layout zigzag"},
    {nothing, "--claim dumps --claim-layout zagzig",
     "zigzag-token, or a file that lists the positions of the rows"},
    {nothing, "--claim dumps --claim-layout zigzag:0", "virtual ranks from 1 to 4096"},
    {nothing, "--claim dumps --claim-layout zigzag:6",
     "a number of virtual ranks that 4 files divide, got 6"},
    {nothing, "--claim dumps --claim-layout zigzag --ranks 8",
     "--ranks: expected the number of files, 4, got 8; leave it out"},
    {nothing, "--claim dumps/r0.safetensors --claim-layout zigzag", "add --ranks N, or write zigzag:N"},
    {nothing, "--claim 'dumps/s{rank}.safetensors' --claim-layout zigzag", "files of the pattern"},
    {[](const ClaimScene& s) { std::filesystem::remove(rank_file(s, 2)); },
     "--claim dumps --claim-layout zigzag", "a file for each of the ranks 0 to 3, got none for rank 2"},
    {[](const ClaimScene& s) { std::filesystem::remove(rank_file(s, 2)); },
     "--claim 'dumps/r{rank}.safetensors' --claim-layout zigzag", "none for rank 2"},
    {[](const ClaimScene& s) {
       std::filesystem::copy_file(rank_file(s, 2), s.folder.file("dumps/r02.safetensors"));
     },
     "--claim dumps --claim-layout zigzag", "one file for rank 2, got r02.safetensors and r2.safetensors"},
    {[](const ClaimScene& s) {
       std::filesystem::copy_file(rank_file(s, 2), s.folder.file("dumps/s2.safetensors"));
     },
     "--claim dumps --claim-layout zigzag", "{rank}.safetensors'"},
    {[](const ClaimScene& s) {
       auto tensors = s.dump("bhsd", "bhs", dealt(Layout::kZigzag, 4, 4, 0, kTokens)[3]);
       tensors.erase("lse");
       write_dump(rank_file(s, 3), tensors);
     },
     "--claim dumps --claim-layout zigzag",
     "rank 3 (r3.safetensors): expected out, lse, dq, dk, dv, as rank 0 has, got out, dq, dk, dv"},
    {[](const ClaimScene& s) {
       for (int r = 0; r < 4; ++r)
         write_dump(rank_file(s, r),
                    s.dump("bhsd", "bhs",
                           dealt(Layout::kContiguous, 8, 4, 0, kTokens)[static_cast<std::size_t>(r)]));
     },
     "--claim dumps --claim-layout zigzag", "these rows fit --claim-layout contiguous:8"},
    {[](const ClaimScene& s) {
       write_dump(rank_file(s, 3), s.dump("bhsd", "bhs", {1, 2}));
     },
     "--claim dumps --claim-layout zigzag", "list the position of every row in a text"},
    {[](const ClaimScene& s) {
       for (int r = 0; r < 4; ++r)
         write_dump(rank_file(s, r), s.dump("bhsd", "bhs", {0, 1, 2, 3, 4, 5, 6, 7, -1}));
     },
     "--claim dumps --claim-layout zigzag",
     "zigzag cuts two chunks for each rank: pad the sequence to a multiple of 8 tokens"},
    {[](const ClaimScene& s) { write(s.folder.file("p"), "0 1 2"); }, "--claim dumps --claim-layout p",
     "every position from 0 to 28 once, got a list without 3"},
    {[](const ClaimScene& s) { write(s.folder.file("p"), "0 1 2 2"); }, "--claim dumps --claim-layout p",
     "got 2 twice"},
    {[](const ClaimScene& s) { write(s.folder.file("p"), "0 1 29"); }, "--claim dumps --claim-layout p",
     "got 29"},
    {[](const ClaimScene& s) { write(s.folder.file("p"), "0 1 \x1b[1m"); }, "--claim dumps --claim-layout p",
     "got '?[1m'; numpy.savetxt("},
    {[](const ClaimScene& s) {
       for (int r = 0; r < 4; ++r) std::filesystem::remove(rank_file(s, r));
     },
     "--claim dumps --claim-layout zigzag", "a folder of .safetensors files whose names end with their rank"},
};

}  // namespace

TEST_CASE("dumps of ranks that do not fit are refused with sizes that would fit") {
  for (const RankRefusal& refusal : kRankRefusals) {
    CAPTURE(refusal.flags, refusal.fragment);
    ClaimScene scene({1, 4, 2, kTokens, 8});
    scene.write_input();
    write_ranks(scene, dealt(Layout::kZigzag, 4, 4, 0, kTokens), "r#.safetensors");
    refusal.change(scene);
    const Ran ran = run_command(scene.folder, "cd '" + scene.folder.file(".") +
                                                  "' && '" RINGCRAFT_TOOL "' verify --input in --causal " +
                                                  refusal.flags);
    check_ran(ran, 2, refusal.fragment);
  }
}
