// PyTorch, one order at a time (see bench_torch.hpp).
#include "tool/bench_torch.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sstream>
#include <vector>

#include "ringcraft/core/error.hpp"
#include "tool/output.hpp"

namespace ringcraft::tool {
namespace {

// Orders are lines "backward tokens head_dim causal", answers are lines too, over descriptor 3. The backward
// pass is run on the graph of a forward pass that is not timed.
constexpr const char* kScript = R"(
import socket, time
wire = socket.socket(fileno=3).makefile("rw", buffering=1)
try:
    import torch
except ImportError:
    print("no torch", file=wire)
    raise SystemExit
torch.set_num_threads(1)
attention = torch.nn.functional.scaled_dot_product_attention
print(torch.__version__.split("+")[0] + ", " + torch.backends.cpu.get_cpu_capability(), file=wire)
inputs = {}

def now():
    return time.process_time(), time.perf_counter()

for order in wire:
    backward, tokens, head_dim, causal = [int(word) for word in order.split()]
    if (tokens, head_dim) not in inputs:
        inputs[tokens, head_dim] = torch.randn(4, 1, 1, tokens, head_dim)
    q, k, v, dout = inputs[tokens, head_dim].unbind()
    if backward:
        q, k, v = (x.detach().requires_grad_() for x in (q, k, v))
        out = attention(q, k, v, is_causal=causal == 1)
        start = now()
        torch.autograd.grad(out, (q, k, v), dout)
    else:
        start = now()
        attention(q, k, v, is_causal=causal == 1)
    end = now()
    print(end[0] - start[0], end[1] - start[1], file=wire)
)";

constexpr std::chrono::seconds kPatience{300};  // for loading PyTorch, or for one run

}  // namespace

Torch::Torch(const std::string& python)
    : python_(python),
      child_({.arguments = {"/usr/bin/env", python, "-c", kScript},
              .environment = whole_environment(),
              .folder = {},
              .limits = {},
              .wire = judge::Wire::kYes}) {
  version_ = line();
  if (version_ == "no torch") throw Error(python_ + " has no PyTorch", Code::kMissing);
}

Seconds Torch::run(const TorchRun& run) {
  send(std::to_string(run.pass == Pass::kBackward) + " " + std::to_string(run.tokens) + " " +
       std::to_string(run.head_dim) + " " + std::to_string(run.causal) + "\n");
  Seconds seconds;
  if (!(std::istringstream(line()) >> seconds.processor >> seconds.wall))
    throw Error(python_ + " with PyTorch gave no time", Code::kMissing);
  return seconds;
}

void Torch::send(const std::string& order) {
  // A child that has ended is found by line().
  (void)::send(child_.wire().get(), order.data(), order.size(), MSG_NOSIGNAL);
}

std::string Torch::line() {
  std::string text;
  const auto deadline = judge::Clock::now() + kPatience;
  while (!text.ends_with('\n') && judge::Clock::now() < deadline) {
    pollfd ready{child_.wire().get(), POLLIN, 0};
    ::poll(&ready, 1, 1000);
    char letter = 0;  // one at a time: an answer is short
    const ssize_t got = ::read(ready.fd, &letter, 1);
    if (got == 1) text += letter;
    if (got == 0) break;
  }
  if (text.empty()) {
    child_.wait_until(judge::Clock::now() + std::chrono::seconds(1));
    child_.read_output();
    const std::string said = child_.printed().substr(0, child_.printed().find('\n'));
    throw Error(python_ + " with PyTorch ended or gave no answer" + (said.empty() ? "" : ": " + said),
                Code::kMissing);
  }
  text.pop_back();
  return text;
}

}  // namespace ringcraft::tool
