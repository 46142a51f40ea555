// Finds the number type that a claim is judged in: the type given by the user, else the narrowest type among
// its tensors. A type with more digits than a tensor has is refused.
#include "verify/claims/claim_rule.hpp"

#include <algorithm>

#include "ringcraft/core/error.hpp"

namespace ringcraft::verify {
namespace {

// The narrowest type among the tensors. lse counts only if it is the only tensor: code often keeps it in a
// wider type.
DType narrowest(const Answer& claim) {
  std::optional<DType> type;
  for (const auto& [name, tensor] : named(claim))
    if (name != "lse" && !tensor.empty() && (!type || unit_roundoff(tensor.dtype()) > unit_roundoff(*type)))
      type = tensor.dtype();
  return type.value_or(claim.lse.empty() ? DType::kFloat64 : claim.lse.dtype());
}

DType said_type(const PrecisionOptions& options, DType written) {
  if (!options.dtype) return written;
  const DType said = *options.dtype;
  if (unit_roundoff(said) < unit_roundoff(written))
    throw Error(option_text(options.spelling, "dtype"),
                std::string(name_of(written)) + ", which the claim is written in, or a narrower type",
                std::string(name_of(said)), "write the claim in that, or leave it out");
  return said;
}

}  // namespace

bool fits_into(const Buffer& tensor, DType type) {
  if (tensor.dtype() == type) return true;
  const Buffer exact = converted(tensor, DType::kFloat64),
               narrow = converted(converted(tensor, type), DType::kFloat64);
  const auto a = exact.values<double>(), b = narrow.values<double>();
  return std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) { return x == y || x != x; });
}

std::string option_text(Spelling spelling, std::string_view name, std::string_view value) {
  if (spelling == Spelling::kFlags)
    return "--" + std::string(name) + (value.empty() ? "" : " " + std::string(value));
  return std::string(name) + "=" + (value.empty() ? "" : "\"" + std::string(value) + "\"");
}

ClaimRule rule_for(const StoredInputs& inputs, const Answer& claim, const PrecisionOptions& options) {
  ClaimRule rule{.type = said_type(options, narrowest(claim)), .tf32 = options.tf32};
  if (rule.tf32 && rule.type != DType::kFloat32)
    throw Error(option_text(options.spelling, "tf32"), "a claim in float32",
                "one in " + std::string(name_of(rule.type)),
                rule.type == DType::kFloat64 ? "add " + option_text(options.spelling, "dtype", "float32")
                                             : "leave it out");
  if (rule.type == DType::kFloat64) return rule;
  for (const auto& [name, tensor] : named(inputs.inputs))
    rule.wide_inputs = rule.wide_inputs || (!tensor.empty() && !fits_into(tensor, rule.type));
  const DType lse = claim.lse.empty() ? DType::kFloat32 : claim.lse.dtype();
  rule.rounding = rule.tf32 ? tf32_rounding() : rounding_of(rule.type, rule.wide_inputs, lse);
  return rule;
}

std::string sentence_of(const ClaimRule& rule) {
  if (!rule.rounding) return "float64: must be exact to 1e-12 of each element's scale";
  std::string text(name_of(rule.type));
  if (rule.tf32) text += " with products in TF32";
  if (rule.wide_inputs) text += ", the inputs rounded to it first";
  return text + ": errors must be within what rounding can do, one by one and together";
}

std::optional<DType> hidden_half_type(const Answer& claim) {
  for (const DType type : {DType::kBFloat16, DType::kFloat16}) {
    bool any = false, all = true;
    for (const auto& [name, tensor] : named(claim)) {
      if (name == "lse" || tensor.empty() || is_half(tensor.dtype())) continue;
      any = any || has_numbers(tensor);
      all = all && fits_into(tensor, type);
    }
    if (any && all) return type;
  }
  return {};
}

}  // namespace ringcraft::verify
