// Replays what concerns rows and heads: tensors that copies have put together, queries and the sums that
// belong to them, and results.
#include <algorithm>

#include "verify/schedule/replay_detail.hpp"

namespace ringcraft::verify {
namespace {

std::optional<Content::Kind> kind_of_result(std::string_view name) {
  using enum Content::Kind;
  for (const auto& [known, kind] : {std::pair{"out", kOutput},
                                    {"lse", kLse},
                                    {"dq", kQueryGradient},
                                    {"dk", kKeyGradient},
                                    {"dv", kValueGradient}})
    if (name == known) return kind;
  return {};
}

// The trace states what this name is on some rank.
bool any_holds(const Trace& trace, std::string_view name) {
  for (int rank = 0; rank < trace.world_size(); ++rank)
    for (const TraceEvent& e : trace.rank(rank).events())
      if (e.kind == TraceEvent::kHolds && e.tensors[0].name == name) return true;
  return false;
}

}  // namespace

void Replayer::find_statements() {
  holds_queries_ = rows_.degree() > 1 || any_holds(trace_, "q");
  holds_dout_ = any_holds(trace_, "dout");
  for (int rank = 0; rank < trace_.world_size(); ++rank)
    for (const TraceEvent& e : events(rank)) {
      result_.states_results = result_.states_results || e.kind == TraceEvent::kGives;
      clears_sums_ = clears_sums_ || e.kind == TraceEvent::kBegin || e.kind == TraceEvent::kClear;
    }
}

// The tensor of this kind in these bytes. One that was put together is a whole from here on.
std::optional<Content> Replayer::tensor(int rank, TracedBytes bytes, Content::Kind kind) {
  const Content* there = whole(rank, bytes);
  if (there != nullptr && there->joined == rows_.degree())
    return there->kind == kind ? std::optional(*there) : std::nullopt;
  std::optional<Content> made = rows_.made_of(self(rank).memory.read(bytes), bytes.size, kind, contents_);
  if (made) self(rank).memory.write(bytes, content(*made));
  return made;
}

// The queries of a computation. In a trace that does not say where they are, those of the rank.
std::optional<Content> Replayer::queries_of(int rank, std::size_t number) {
  if (!holds_queries_) return Content{Content::kQueries, rank, 0, {}};
  const TracedTensor* q = tensor_of(event(rank, number), "q", TracedTensor::kRead);
  const TracedBytes bytes = q != nullptr ? q->bytes : TracedBytes();
  std::optional<Content> queries = tensor(rank, bytes, Content::kQueries);
  if (!queries && event(rank, number).pairs > 0)
    violate(ScheduleClaim::kPairs, rank, number, "computes with " + holding(rank, bytes) + " as queries");
  return queries;
}

// Requires that the keys have the heads that the queries share, one after the other.
void Replayer::require_heads(int rank, std::size_t number, const Content& queries, const Content& keys) {
  const Heads of_queries = rows_.heads_of(queries), of_keys = rows_.heads_of(keys);
  bool good = of_queries.count % of_keys.count == 0;
  const Index group = std::max<Index>(1, of_queries.count / of_keys.count);
  for (Index i = 0; good && i < of_keys.count; ++i) {
    const Heads sharing = rows_.query_heads(of_keys.first + i);
    const Index first = of_queries.first + i * group;
    good = first >= sharing.first && first + group <= sharing.first + sharing.count;
  }
  if (!good)
    violate(ScheduleClaim::kPairs, rank, number,
            "computes " + name_of(queries) + " with " + name_of(keys) +
                ", which are not the heads that they share");
}

// Requires that the backward pass reads dout, and out and lse as the forward pass has left them, of the
// queries that it reads.
void Replayer::require_inputs(int rank, std::size_t number, const Content& queries) {
  const auto require = [&](const char* name, Content::Kind kind, const char* sentence) {
    const TracedTensor* tensor = tensor_of(event(rank, number), name, TracedTensor::kRead);
    if (tensor == nullptr) return;
    const Content want{kind, queries.block, tensor->bytes.size, {}, queries.joined, queries.heads};
    const auto pieces = self(rank).memory.read(tensor->bytes);
    if (rows_.differs(pieces, want, contents_))
      violate(ScheduleClaim::kGradients, rank, number,
              sentence + std::string(name) + " of " + name_of(queries) + " in memory that holds " +
                  holding(rank, tensor->bytes));
  };
  if (holds_dout_) require("dout", Content::kOutGradient, "reads ");
  if (!self(rank).computed_forward) return;
  require("out", Content::kOutput, "reads ");
  require("lse", Content::kLse, "reads ");
}

void Replayer::clear(int rank, std::size_t number) {
  require_untouched(rank, number);
  for (const TracedTensor& tensor : event(rank, number).tensors)
    put(rank, tensor.bytes,
        {{0, tensor.bytes.size, content({Content::kNothing, rank, tensor.bytes.size, {}}), 0}});
}

// The sum that this computation leaves in out, max, sum or dq: the one that is there with one more share, or
// a new one, in memory that was cleared for it if the trace says where sums begin.
Content Replayer::with_share(int rank, std::size_t number, const TracedTensor& tensor, const Content& queries,
                             int block) {
  const auto kind = tensor.name == "out"   ? Content::kOutput
                    : tensor.name == "max" ? Content::kLse
                    : tensor.name == "sum" ? Content::kRowSum
                                           : Content::kQueryGradient;
  Content sum{kind, queries.block, tensor.bytes.size, {}, queries.joined, queries.heads};
  const Content* there = whole(rank, tensor.bytes);
  if (there != nullptr && there->kind == kind && there->block == sum.block && there->joined == sum.joined &&
      there->heads == sum.heads)
    sum.shares = there->shares;
  else if (clears_sums_ && (there == nullptr || there->kind != Content::kNothing))
    violate(kind == Content::kQueryGradient ? ScheduleClaim::kGradients : ScheduleClaim::kPairs, rank, number,
            "adds its block to " + std::string(tensor.name) + " where no sum of " + name_of(queries) +
                " begins: " + holding(rank, tensor.bytes) + " is there");
  sum.shares.add({block, {}});
  return sum;
}

void Replayer::copy(int rank, std::size_t number) {
  const TraceEvent& e = event(rank, number);
  require_untouched(rank, number);
  const TracedBytes from = e.tensors[0].bytes, to = e.tensors[1].bytes;
  const auto part = [](TracedBytes of, Index first, Index size) {
    return TracedBytes(of.address + static_cast<std::uintptr_t>(first), size);
  };
  std::vector<std::vector<Piece>> pieces;
  for (const CopiedBytes& run : e.copied)
    pieces.push_back(self(rank).memory.read(part(from, run.from, run.size)));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const TracedBytes target = part(to, e.copied[i].to, e.copied[i].size);
    self(rank).memory.paste(target, pieces[i]);
    lose(rank, target);
  }
  self(rank).written.push_back(to);
}

// Takes note of a result, and requires that each of its rows is the rank's own.
void Replayer::give(int rank, std::size_t number) {
  const TracedTensor& tensor = event(rank, number).tensors[0];
  const auto kind = kind_of_result(tensor.name);
  if (!kind) return;
  TensorRows::UsedHeads used;
  const auto pieces = self(rank).memory.read(tensor.bytes);
  const auto wrong = rows_.differs(pieces, {*kind, rank, tensor.bytes.size, {}}, contents_, &used);
  GivenResult& given = result_.given.emplace_back(GivenResult{rank, *kind, !wrong, {}});
  for (auto next = used.begin(); next != used.end();) {
    auto& [sum, heads] = given.sums.emplace_back(contents_[next->first], std::vector<Index>{});
    for (const std::size_t one = next->first; next != used.end() && next->first == one; ++next)
      heads.push_back(next->second);
  }
  if (wrong)
    violate(*kind == Content::kOutput || *kind == Content::kLse ? ScheduleClaim::kPairs
                                                                : ScheduleClaim::kGradients,
            rank, number,
            "gives " + std::string(tensor.name) + " with " + wrong->found + " where head " +
                std::to_string(wrong->head) + ", token " + std::to_string(wrong->position) + " belongs");
}

}  // namespace ringcraft::verify
