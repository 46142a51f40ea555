#pragma once
/// @file
/// Reads the inputs of a judgement in forms that other libraries use: other orders of axes, no batch, packed
/// sequences, values with another width than keys.

#include <filesystem>
#include <vector>

#include "verify/claims/forms/axes.hpp"
#include "verify/claims/forms/reading.hpp"
#include "verify/oracle/tensor_files.hpp"

namespace ringcraft::verify {

/// The head_dim of q and k, and that of v and dout. Padding the narrower pair with columns of zeros leaves
/// attention unchanged, but for more columns of zeros, as long as the softmax scale is that of `key`.
struct Widths {
  Index key = 0;    ///< of q and k, dq and dk
  Index value = 0;  ///< of v and dout, out and dv

  /// The width of both after padding.
  Index padded() const { return key > value ? key : value; }
  /// The width of "out", "lse", "dq", "dk" or "dv" in a file.
  Index of(std::string_view tensor) const;
};

/// Inputs for judging.
struct FormedInputs {
  StoredInputs stored;            ///< [batch, heads, seqlen, widths.padded()]
  Widths widths;                  ///< widths in the file
  std::string_view order;         ///< of their axes: a code of axes.hpp
  std::vector<Reading> readings;  ///< how each tensor was read
  bool doubtful = false;          ///< another order has the same shapes, and is as likely
  bool many_heads = false;        ///< this order has more heads than tokens, and lse does not confirm it
};

/// Which order to take where the shapes allow two.
enum class TakeOrder : std::uint8_t { kLikelier, kOther };

/// Reads q, k, v and, if it exists, dout, in any order of axes that their shapes allow and `cu_seqlens` (may
/// be empty) does not rule out. Throws Error, with the Python that fixes it, if no order is possible, or more
/// than one and none of them documented. `lse_heads`, if known, is the number of heads in the claim's lse if
/// that is [batch, heads, seqlen]: it decides where the documented order would have more heads than tokens.
FormedInputs read_formed_inputs(const std::filesystem::path& path, const std::vector<Position>& cu_seqlens,
                                std::optional<Index> lse_heads, TakeOrder take = TakeOrder::kLikelier);

/// Refuses a claim that is right only with inputs of many_heads.
[[noreturn]] void refuse_many_heads(const FormedInputs& inputs);

}  // namespace ringcraft::verify
