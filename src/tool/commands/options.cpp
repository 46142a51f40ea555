// Declares the flags that several commands share.
#include "tool/commands/options.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::tool {

void MaskOptions::add_to(CLI::App& command) {
  command.add_flag("--causal", causal, "Each query sees itself and what came before");
  command.add_option("--window", window, "Each query sees itself and W tokens before it; implies --causal")
      ->type_name("W");
  command
      .add_option("--window-size", window_size,
                  "As flash-attn counts: each query sees LEFT tokens before it and RIGHT after it; -1 is no "
                  "limit; with --causal RIGHT is 0")
      ->type_name("LEFT,RIGHT");
  command.add_option("--cu-seqlens", cu_seqlens, "Borders of packed sequences, from 0 to seqlen: 0,5,24")
      ->type_name("LIST");
  command.add_flag("--per-sequence", per_sequence,
                   "Deal each packed sequence to all ranks by itself, instead of the whole pack as one");
}

namespace {

// "0,5,24" as numbers; nothing for an empty text.
std::vector<Position> numbers_of(const char* flag, std::string_view text, const char* example,
                                 const char* advice) {
  std::vector<Position> result;
  while (!text.empty()) {
    Position border = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), border);
    const auto length = static_cast<std::size_t>(end - text.data());
    const bool last = length == text.size();
    if (error != std::errc() || (!last && (text[length] != ',' || length + 1 == text.size())))
      throw Error(flag, "whole numbers with a comma between two of them, as in " + std::string(example),
                  "'" + shown(text) + "'", advice);
    result.push_back(border);
    text.remove_prefix(last ? length : length + 1);
  }
  return result;
}

// "5,0" as a mask.
Mask two_sided(const std::string& text) {
  constexpr const char* kAdvice = "write the tokens before and after a query that it sees, -1 for no limit";
  const std::vector<Position> sides = numbers_of("--window-size", text, "128,0", kAdvice);
  if (sides.size() != 2)
    throw Error("--window-size", "two numbers", counted(sides.size(), "number"), kAdvice);
  for (const Position side : sides)
    if (side < -1 || side == kNoLimit)
      throw Error("--window-size", "numbers from -1 on", std::to_string(side), kAdvice);
  return {.left = sides[0] < 0 ? kNoLimit : sides[0], .right = sides[1] < 0 ? kNoLimit : sides[1]};
}

}  // namespace

Mask MaskOptions::mask() const {
  if (window == kNoLimit)  // the parser's value for a number that exceeds 64 bits
    throw Error("--window", "less than " + std::to_string(kNoLimit), "this or more",
                "leave it out and take --causal");
  if (window && !window_size.empty())
    throw Error(
        "--window-size", "--window or --window-size", "both",
        "--window " + std::to_string(*window) + " is --window-size " + std::to_string(*window) + ",0");
  Mask mask = window ? window_mask(*window) : window_size.empty() ? full_mask() : two_sided(window_size);
  if (causal) mask.right = 0;
  mask.cu_seqlens = numbers_of("--cu-seqlens", cu_seqlens, "0,5,24", "write the borders from 0 to seqlen");
  return mask;
}

Problem MaskOptions::problem(Shape shape, const DealOptions& deal) const {
  Problem problem =
      make_problem(shape, mask(), layout_named(deal.layout), deal.checked_ranks(), deal.softmax_scale);
  problem.per_sequence = per_sequence;
  validate(problem);
  return problem;
}

void DealOptions::add_to(CLI::App& command) {
  command.add_option("--ranks", ranks, "Number of ranks")->capture_default_str()->type_name("N");
  command.add_option("--layout", layout, "contiguous, striped, zigzag or zigzag-token")
      ->capture_default_str()
      ->type_name("L");
  command.add_option("--softmax-scale", softmax_scale, "Factor of the scores; default 1/sqrt(head_dim)")
      ->type_name("X");
}

int DealOptions::checked_ranks() const {
  constexpr int kMost = 4096;
  if (ranks > kMost)
    throw Error("--ranks", "at most " + std::to_string(kMost), std::to_string(ranks), "use fewer ranks");
  return ranks;
}

namespace {

// The value of this name among `values`, or an Error that lists the names.
template <class T, std::size_t n>
T named(const char* flag, const std::string& name, const std::pair<const char*, T> (&values)[n]) {
  std::string names;
  for (const auto& [known, value] : values) {
    if (name == known) return value;
    names += std::string(names.empty() ? "" : ", ") + known;
  }
  throw Error(flag, "one of " + names, "'" + name + "'", "check the spelling");
}

// "ring, all-gather, ...": all methods there are.
std::string method_names() {
  std::string names;
  for (const Method* const method : kMethods)
    names += (names.empty() ? "" : ", ") + std::string(method->name);
  return names;
}

Schedule named_schedule(const std::string& name) {
  return named<Schedule>("--schedule", name,
                         {{"forward", Schedule::kForward}, {"reversed", Schedule::kReversed}});
}

}  // namespace

Layout layout_named(const std::string& name) {
  for (const Layout layout : kLayouts)
    if (name == name_of(layout)) return layout;
  throw Error("--layout", "contiguous, striped, zigzag or zigzag-token", "'" + name + "'",
              "check the spelling");
}

void MethodFlags::add_to(CLI::App& command) {
  constexpr int kMost = std::numeric_limits<int>::max();
  command.add_option("--method", method, method_names())->capture_default_str()->type_name("M");
  command
      .add_option("--ulysses", options.ulysses,
                  "hybrid: neighbours that share the heads; the others make rings")
      ->check(CLI::Range(1, kMost, "POSITIVE"))
      ->type_name("U");
  command
      .add_option("--gather-heads", options.gather_heads,
                  "all-gather: KV heads that come at a time; default: 0, all of them")
      ->check(CLI::Range(0, kMost, "NONNEGATIVE"))
      ->type_name("H");
  command
      .add_option("--node", options.node,
                  "double-ring: neighbours with fast links between them; default: all ranks are, or in a "
                  "simulation those of the machine's node")
      ->check(CLI::Range(1, kMost, "POSITIVE"))
      ->type_name("M");
  command
      .add_option("--schedule", schedule,
                  "ring, ulysses, hybrid: way of the gradients, forward or reversed; default: reversed")
      ->type_name("S");
}

const Method& MethodFlags::named() const {
  for (const Method* const known : kMethods)
    if (method == known->name) return *known;
  throw Error("--method", method_names(), shown(method), "no other method is part of this version");
}

MethodOptions MethodFlags::typed() const {
  MethodOptions result = options;
  if (schedule.empty()) return result;
  if ((named().takes & kTakesSchedule) == 0)
    throw Error("--schedule", "a method whose gradients go round a ring: ring, ulysses or hybrid", method,
                "leave it out");
  result.schedule = named_schedule(schedule);
  return result;
}

DType dtype_named(const std::string& name) {
  return named<DType>("--dtype", name,
                      {{"float32", DType::kFloat32},
                       {"float64", DType::kFloat64},
                       {"bfloat16", DType::kBFloat16},
                       {"float16", DType::kFloat16}});
}

namespace {

#ifdef RINGCRAFT_HAS_MPI
constexpr bool kHasMpi = true;
#else
constexpr bool kHasMpi = false;
#endif
#ifdef RINGCRAFT_HAS_EXECUTOR
constexpr bool kHasExecutor = true;
#else
constexpr bool kHasExecutor = false;
#endif
#ifdef RINGCRAFT_HAS_CUDA
constexpr bool kHasCuda = true;
#else
constexpr bool kHasCuda = false;
#endif
#ifdef RINGCRAFT_HAS_NCCL
constexpr bool kHasNccl = true;
#else
constexpr bool kHasNccl = false;
#endif

// The missing part for a backend in this build, and advice; null: nothing is missing.
const char* missing_for(Backend backend) {
  switch (backend) {
    case Backend::kThreads:
      break;
    case Backend::kMpi:
      if (!kHasMpi)
        return "needs MPI, which was not found when this was built; install libopenmpi-dev and openmpi-bin";
      break;
    case Backend::kCudaHost:
      if (!kHasExecutor)
        return "needs Boost.Context and a build without sanitizers; install libboost-context-dev";
      break;
    case Backend::kCuda:
      if (!kHasCuda)
        return "needs g++ and nvcc 12.4 or newer, which was not found when this was built; cuda-host runs "
               "the same kernels on the CPU";
      break;
    case Backend::kNccl:
      if (!kHasNccl)
        return "needs nvcc 12.4 or newer, MPI and nccl.h, which were not all found when this was built; "
               "install libnccl-dev, or use mpi";
      break;
  }
  return nullptr;
}

}  // namespace

Backend backend_named(const std::string& name) {
  const Backend backend = named<Backend>("--backend", name,
                                         {{"threads", Backend::kThreads},
                                          {"mpi", Backend::kMpi},
                                          {"nccl", Backend::kNccl},
                                          {"cuda", Backend::kCuda},
                                          {"cuda-host", Backend::kCudaHost}});
  if (const char* const missing = missing_for(backend))
    throw Error("--backend " + name + " " + missing, Code::kMissing);
  return backend;
}

namespace {

std::string described(const Buffer& b) {
  const Extents& e = b.extents();
  return "[" + std::to_string(e.batch) + ", " + std::to_string(e.heads) + ", " + std::to_string(e.rows) +
         ", " + std::to_string(e.width) + "] " + std::string(name_of(b.dtype()));
}

// Whether only the second extents of q and k are alike, and the third ones could be numbers of heads.
bool looks_transposed(const Extents& q, const Extents& k) {
  return q.batch == k.batch && q.heads == k.heads && q.width == k.width && k.rows > 0 && q.rows > k.rows &&
         q.rows % k.rows == 0;
}

void require_like(const char* name, const Buffer& tensor, const char* other_name, const Buffer& other) {
  if (tensor.extents() != other.extents() || tensor.dtype() != other.dtype())
    throw Error(name, std::string("the shape and type of ") + other_name + ", " + described(other),
                described(tensor), "check how the file was written");
}

}  // namespace

Error of_inputs(const Error& error, const std::string& file) {
  const std::string words = error.what();
  for (const char* name : {"q", "k", "v", "dout"})
    if (words.starts_with(std::string(name) + ": ")) return Error(file + ": tensor " + words, error.code());
  return error;
}

Problem problem_of(const Buffer& q, const Buffer& k, const Buffer& v, const Buffer& dout,
                   const MaskOptions& mask, const DealOptions& deal) {
  const Extents &e = q.extents(), &kv = k.extents();
  Extents expected = e;
  expected.heads = kv.heads;
  if (kv != expected || k.dtype() != q.dtype())
    throw Error(
        "k", "batch, seqlen, head_dim and type of q, " + described(q), described(k),
        "tensors are [batch, heads, seqlen, head_dim]; " +
            std::string(looks_transposed(e, kv) ? "these look like [batch, seqlen, heads, head_dim]: save "
                                                  "q.transpose(1, 2), and k, v (and dout) alike"
                                                : "only the number of heads may differ"));
  require_like("v", v, "k", k);
  if (!dout.empty()) require_like("dout", dout, "q", q);
  return mask.problem({e.batch, e.heads, kv.heads, e.rows, e.width}, deal);
}

}  // namespace ringcraft::tool
