// Drives a PyTorch process, one order at a time.
#include "tool/bench/bench_torch.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sstream>
#include <vector>

#include "ringcraft/core/error.hpp"
#include "tool/terminal/output.hpp"

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

// Orders are lines "backend backward tokens heads head_dim causal flush_bytes"; an answer is the median in
// milliseconds, or "refused" and why.
constexpr const char* kGpuScript = R"(
import socket, statistics, time
wire = socket.socket(fileno=3).makefile("rw", buffering=1)
try:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError:
    print("no torch", file=wire)
    raise SystemExit
if not torch.cuda.is_available():
    print("no GPU", file=wire)
    raise SystemExit
backends = {"flash": SDPBackend.FLASH_ATTENTION, "cuDNN": SDPBackend.CUDNN_ATTENTION}
print(torch.__version__.split("+")[0] + ", CUDA " + torch.version.cuda, file=wire)

def median_milliseconds(body, flush):
    start = time.perf_counter()
    while time.perf_counter() - start < 0.1:
        body()
        torch.cuda.synchronize()
    runs, start = [], time.perf_counter()
    while len(runs) < 3 or (len(runs) < 10 and time.perf_counter() - start < 1):
        if flush is not None:
            flush.fill_(1)
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        body()
        last.record()
        last.synchronize()
        runs.append(first.elapsed_time(last))
    return statistics.median(runs)

def attention(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal == "1")

for order in wire:
    backend, backward, tokens, heads, head_dim, causal, flush_bytes = order.split()
    try:
        q, k, v, dout = torch.randn(4, 1, int(heads), int(tokens), int(head_dim), device="cuda",
                                    dtype=torch.bfloat16).unbind()
        flush = torch.empty(int(flush_bytes), device="cuda", dtype=torch.uint8) if flush_bytes != "0" else None
        with sdpa_kernel(backends[backend]):
            body = lambda: attention(q, k, v)
            if backward == "1":
                q, k, v = (x.detach().requires_grad_() for x in (q, k, v))
                out = attention(q, k, v)
                body = lambda: torch.autograd.grad(out, (q, k, v), dout, retain_graph=True)
            print(median_milliseconds(body, flush), file=wire)
    except RuntimeError as error:
        print("refused", str(error).split("\n")[0], file=wire)
)";

constexpr std::chrono::seconds kPatience{300};  // for loading PyTorch, or for one run

}  // namespace

TorchProcess::TorchProcess(const std::string& python, const char* script)
    : python_(python),
      child_({.arguments = {"/usr/bin/env", python, "-c", script},
              .environment = whole_environment(),
              .folder = {},
              .limits = {},
              .wire = process::Wire::kSocket}) {
  version_ = line();
  if (version_ == "no torch") throw Error(python_ + " has no PyTorch", Code::kMissing);
  if (version_ == "no GPU") throw Error("PyTorch of " + python_ + " finds no GPU", Code::kMissing);
}

std::string TorchProcess::answer(const std::string& order) {
  // line() detects a child that has ended.
  (void)::send(child_.wire().get(), order.data(), order.size(), MSG_NOSIGNAL);
  return line();
}

Torch::Torch(const std::string& python) : TorchProcess(python, kScript) {}

Seconds Torch::run(const TorchRun& run) {
  const std::string text =
      answer(std::to_string(run.pass == Pass::kBackward) + " " + std::to_string(run.tokens) + " " +
             std::to_string(run.head_dim) + " " + std::to_string(run.causal) + "\n");
  Seconds seconds;
  if (!(std::istringstream(text) >> seconds.processor >> seconds.wall))
    throw Error(python_ + " with PyTorch gave no time", Code::kMissing);
  return seconds;
}

TorchOnGpu::TorchOnGpu(const std::string& python) : TorchProcess(python, kGpuScript) {}

std::optional<double> TorchOnGpu::milliseconds(const TorchGpuRun& run) {
  std::string order = run.backend;
  for (const Index word : {Index{run.pass == Pass::kBackward}, run.tokens, run.heads, run.head_dim,
                           Index{run.causal}, run.flush_bytes})
    order += " " + std::to_string(word);
  const std::string text = answer(order + "\n");
  if (text.starts_with("refused")) return {};
  double milliseconds = 0;
  if (!(std::istringstream(text) >> milliseconds) || !(milliseconds > 0))
    throw Error(python_ + " with PyTorch gave no time", Code::kMissing);
  return milliseconds;
}

std::string TorchProcess::line() {
  std::string text;
  const auto deadline = process::Clock::now() + kPatience;
  while (!text.ends_with('\n') && process::Clock::now() < deadline) {
    pollfd ready{child_.wire().get(), POLLIN, 0};
    ::poll(&ready, 1, 1000);
    char letter = 0;  // one at a time: an answer is short
    const ssize_t got = ::read(ready.fd, &letter, 1);
    if (got == 1) text += letter;
    if (got == 0) break;
  }
  if (text.empty()) {
    child_.wait_until(process::Clock::now() + std::chrono::seconds(1));
    child_.read_output();
    const std::string said = child_.printed().substr(0, child_.printed().find('\n'));
    throw Error(python_ + " with PyTorch ended or gave no answer" + (said.empty() ? "" : ": " + said),
                Code::kMissing);
  }
  text.pop_back();
  return text;
}

}  // namespace ringcraft::tool
