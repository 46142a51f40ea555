// Lists the names that other libraries use for out, lse, dq, dk and dv, and refuses a file that has a tensor
// under one of them.
#include "verify/claims/forms/tensor_names.hpp"

#include <vector>

#include "ringcraft/core/error.hpp"

namespace ringcraft::verify {
namespace {

const std::map<std::string, std::vector<std::string>> kOtherNames{
    {"q", {"query", "queries", "Q", "q_proj"}},
    {"k", {"key", "keys", "K", "k_proj"}},
    {"v", {"value", "values", "V", "v_proj"}},
    {"dout", {"do", "dO", "dy", "grad_out", "grad_output", "out_grad", "d_out", "upstream"}},
    {"out", {"output", "outputs", "o", "O", "attn_out", "attn_output", "attention_output", "result", "y"}},
    {"lse", {"softmax_lse", "logsumexp", "log_sum_exp", "LSE", "lse_out", "L"}},
    {"dq", {"q.grad", "q_grad", "grad_q", "dQ", "dquery"}},
    {"dk", {"k.grad", "k_grad", "grad_k", "dK", "dkey"}},
    {"dv", {"v.grad", "v_grad", "grad_v", "dV", "dvalue"}},
};

}  // namespace

void refuse_other_name(const std::string& place, const std::map<std::string, TensorInfo>& tensors,
                       const std::string& name) {
  if (tensors.contains(name)) return;
  for (const std::string& other : kOtherNames.at(name))
    if (tensors.contains(other))
      throw Error(place, "\"" + name + "\"", "\"" + other + "\"",
                  "rename it: tensors[\"" + name + "\"] = tensors.pop(\"" + other + "\") before save_file");
}

}  // namespace ringcraft::verify
