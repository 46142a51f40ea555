// Drives a PyTorch process, one order at a time.
#include "tool/bench/bench_torch.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "ringcraft/core/error.hpp"
#include "tool/terminal/output.hpp"

namespace ringcraft::tool {
namespace {

// The wire is descriptor 3: orders and answers are lines.
constexpr const char* kBegin = R"(
import socket
wire = socket.socket(fileno=3).makefile("rw", buffering=1)
try:
    import torch
except ImportError:
    print("no torch", file=wire)
    raise SystemExit
)";

// The file that ringcraft.torch.compare_sdpa times with as well.
constexpr const char* kCpuFile = RINGCRAFT_SOURCE_DIR "/notebooks/binding/ringcraft/_sdpa.py";

std::string cpu_script() {
  std::ifstream file(kCpuFile);
  if (!file) throw Error(std::string("cannot read ") + kCpuFile, Code::kMissing);
  return std::string(std::istreambuf_iterator<char>(file), {}) + "serve(wire, wire)\n";
}

// Orders are lines "backend backward tokens heads head_dim causal flush_bytes"; an answer is the median in
// milliseconds, or "refused" and why.
constexpr const char* kGpuScript = R"(
import statistics, time
from torch.nn.attention import SDPBackend, sdpa_kernel
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

TorchProcess::TorchProcess(const std::string& python, const std::string& script)
    : python_(python),
      child_({.arguments = {"/usr/bin/env", python, "-c", kBegin + script},
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

Torch::Torch(const std::string& python) : TorchProcess(python, cpu_script()) {}

Seconds Torch::run(const TorchRun& run) {
  const std::string text =
      answer(fmt::format("{} {} {} {} {} {}\n", run.pass == Pass::kBackward ? 1 : 0, run.heads, run.tokens,
                         run.head_dim, run.causal ? 1 : 0, run.threads));
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
