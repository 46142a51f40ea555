#pragma once
// A problem of 25 tokens, its right answer, and dumps of both as people write them, for tests of verify.

#include <map>
#include <string>
#include <vector>

#include "tool/claim_dumps.hpp"

namespace ringcraft::tests {

inline constexpr Position kWrongPosition = 13;

struct ClaimScene {
  Folder folder;
  Problem problem;
  Index value_width;
  verify::Inputs inputs;
  verify::Answer claim;

  // With `narrow_value`, v and dout have so many columns, and so have out and dv.
  explicit ClaimScene(Shape shape = {1, 4, 2, 25, 8}, Mask mask = causal_mask(), Index narrow_value = 0);

  // Columns of this tensor in a file.
  Index width_of(const std::string& name) const;
  // Writes q, k, v, dout with their axes in this order.
  void write_input(const std::string& code = "bhsd", bool with_dout = true) const;
  // The tensors of the claim in these orders, its rows as listed.
  std::map<std::string, Dumped> dump(const std::string& wide, const std::string& lse,
                                     const std::vector<Position>& rows) const;
  std::map<std::string, Dumped> dump(const std::string& wide = "bhsd", const std::string& lse = "bhs") const;
  void write_claim(const std::map<std::string, Dumped>& tensors) const;

  // Runs verify on the input; on the written claim.
  Ran judged(const std::string& flags) const;
  Ran judged_whole(const std::string& flags = "--causal") const;

  // One number of this tensor, at kWrongPosition in the last batch entry and head, becomes wrong.
  void spoil(const std::string& wanted);
};

// Sets all columns of a tensor from this one on to zero.
void clear_columns(Buffer& tensor, Index from);

// The exit code, and what is said: on the error output if the call is refused, and then in one line.
void check_ran(const Ran& ran, int exit_code, const std::string& fragment);

// Rows of each file of a dump; -1 is padding.
using RowsOfFiles = std::vector<std::vector<Position>>;
// The rows of `files` files in a layout over virtual ranks, of a sequence that was padded to `padded` tokens,
// if these are more.
RowsOfFiles dealt(Layout layout, int virtual_ranks, int files, Position padded = 0, Position seqlen = 25);

// Writes dumps/NAME for each of the files, # replaced by its rank, and positions.txt.
void write_ranks(const ClaimScene& scene, const RowsOfFiles& rows, const std::string& name);

}  // namespace ringcraft::tests
