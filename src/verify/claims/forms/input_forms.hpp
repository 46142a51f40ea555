#pragma once
/// @file
/// The inputs of a judgement in the forms in which people have them: other orders of axes, no batch, packed
/// sequences, values of another width than keys.

#include <filesystem>
#include <vector>

#include "verify/claims/forms/axes.hpp"
#include "verify/claims/forms/reading.hpp"
#include "verify/oracle/tensor_files.hpp"

namespace ringcraft::verify {

/// The head_dim of q and k, and that of v and dout. Attention of the narrower pair padded with columns of
/// zeros is the same attention with more columns of zeros, as long as the scale of the scores is that of
/// `key`.
struct Widths {
  Index key = 0;    ///< of q and k, dq and dk
  Index value = 0;  ///< of v and dout, out and dv

  /// The width of both, padded.
  Index padded() const { return key > value ? key : value; }
  /// The width of "out", "lse", "dq", "dk" or "dv" in a file.
  Index of(std::string_view tensor) const;
};

/// Inputs for judging.
struct FormedInputs {
  StoredInputs stored;            ///< [batch, heads, seqlen, widths.padded()]
  Widths widths;                  ///< that the file has
  std::string_view order;         ///< of their axes: a code of axes.hpp
  std::vector<Reading> readings;  ///< how each tensor was read
  bool doubtful = false;          ///< another order has the same shapes, and is as likely
  bool many_heads = false;  ///< more heads than tokens, if it is this order, and lse does not say that it is
};

/// Which order to take where shapes allow two.
enum class TakeOrder : std::uint8_t { kLikelier, kOther };

/// Reads q, k, v and, where it is there, dout, in any order of axes that their shapes allow and `cu_seqlens`
/// (may be empty) does not rule out. Throws Error, with the Python that mends it, where no order or more than
/// one is possible and none of them is documented. `lse_heads`, if known, are the heads that the claim's lse
/// has if it is [batch, heads, seqlen]: they decide where the documented order would have more heads than
/// tokens.
FormedInputs read_formed_inputs(const std::filesystem::path& path, const std::vector<Position>& cu_seqlens,
                                std::optional<Index> lse_heads, TakeOrder take = TakeOrder::kLikelier);

/// Refuses a claim that is right with inputs of many_heads alone.
[[noreturn]] void refuse_many_heads(const FormedInputs& inputs);

}  // namespace ringcraft::verify
