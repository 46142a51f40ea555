// Replays computations: derives from memory which block each one works on, checks its key ranges and
// accumulator, and tracks the gradients that it writes or adds.
#include <algorithm>

#include "verify/schedule/replay_detail.hpp"

namespace ringcraft::verify {
namespace {

const TracedTensor* tensor_of(const TraceEvent& event, std::string_view name, TracedTensor::Access access) {
  const auto found = std::ranges::find_if(
      event.tensors, [&](const TracedTensor& t) { return t.name == name && t.access == access; });
  return found == event.tensors.end() ? nullptr : &*found;
}

// Keys, values and their gradients change with the block; all else stays for a pass.
bool is_of_block(const TracedTensor& tensor) {
  return tensor.name == "k" || tensor.name == "v" || tensor.name == "dk" || tensor.name == "dv";
}

TracedBytes bytes_of(const TracedTensor* tensor) { return tensor != nullptr ? tensor->bytes : TracedBytes(); }

}  // namespace

// The content that fills these bytes, if one does.
const Content* Replayer::whole(int rank, TracedBytes bytes) {
  const auto pieces = self(rank).memory.read(bytes);
  if (pieces.size() != 1 || pieces[0].offset != 0 || pieces[0].size != bytes.size) return nullptr;
  const Content& c = contents_[pieces[0].content];
  return bytes.size == c.bytes ? &c : nullptr;
}

std::string Replayer::holding(int rank, TracedBytes bytes) {
  const Content* c = whole(rank, bytes);
  if (c != nullptr) return name_of(*c);
  const std::string parts = named(self(rank).memory.read(bytes), bytes.size);
  return parts.empty() ? "memory that nothing was put into" : parts;
}

// The block that a computation works on; reports a violation if keys and values are not those of one block. A
// schedule in a text has no separate values.
std::optional<int> Replayer::block_of(int rank, std::size_t number) {
  const TraceEvent& e = event(rank, number);
  const TracedBytes k = bytes_of(tensor_of(e, "k", TracedTensor::kRead)),
                    v = bytes_of(tensor_of(e, "v", TracedTensor::kRead));
  const Content *keys = whole(rank, k), *values = whole(rank, v);
  const bool good = keys != nullptr && keys->kind == Content::kKeys &&
                    (v.size == 0 ||
                     (values != nullptr && values->kind == Content::kValues && values->block == keys->block));
  if (good) return keys->block;
  if (e.pairs > 0)
    violate(ScheduleClaim::kPairs, rank, number,
            "computes with " + holding(rank, k) + " as keys" +
                (v.size == 0 ? "" : " and " + holding(rank, v) + " as values"));
  return std::nullopt;
}

void Replayer::compute(int rank, std::size_t number) {
  const TraceEvent& e = event(rank, number);
  require_untouched(rank, number);
  const std::optional<int> block = block_of(rank, number);
  if (block) {
    found(rank, number).block = block_name(*block);
    require_claim(rank, number, *block);
    require_ranges(rank, number, *block);
    if (e.pairs > 0)
      result_.computations.push_back(
          {rank, found(rank, number).step, e.kind == TraceEvent::kBackward, *block});
  }
  if (e.pairs > 0) require_kept(rank, number);
  write_results(rank, e, block);
  if (e.pairs > 0) keep(rank, e);
  ++self(rank).computed;
}

void Replayer::require_claim(int rank, std::size_t number, int block) {
  const ScheduleNote* said = note(rank, number);
  const std::string name = block_name(block);
  if (said != nullptr && said->names[0] != name)
    violate(ScheduleClaim::kPairs, rank, number,
            "computes " + said->names[0] + " and holds " + name + " there");
}

void Replayer::require_ranges(int rank, std::size_t number, int block) {
  const TraceEvent& e = event(rank, number);
  const KeyRanges want = key_ranges(problem_, rank, block);
  if (e.key_begin == want.begin && e.key_end == want.end) return;
  if (e.pairs == 0 && want.pairs() == 0) return;  // nothing is visible either way
  violate(ScheduleClaim::kPairs, rank, number,
          "computes " + block_name(block) + " with the key ranges of another block: " +
              std::to_string(e.pairs) + " visible pairs, where it has " + std::to_string(want.pairs()));
}

// Requires that the backward pass reads the queries of the forward pass and what that has left: its sums
// became out and lse in place.
void Replayer::require_saved(int rank, std::size_t number) {
  Rank& r = self(rank);
  for (const auto& [saved, name] : {std::pair{"q", "q"}, {"out", "out"}, {"max", "lse"}}) {
    const TracedTensor* tensor = tensor_of(event(rank, number), name, TracedTensor::kRead);
    const auto kept = r.kept.find(saved);
    if (tensor == nullptr || kept == r.kept.end()) continue;
    if (kept->second != tensor->bytes || r.lost.contains(saved))
      violate(ScheduleClaim::kGradients, rank, number,
              "reads " + std::string(name) + " from other memory than the forward pass has left it in");
  }
}

// Requires that every block of a pass meets the same queries and sums (O, or dq), as the block before has
// left them.
void Replayer::require_kept(int rank, std::size_t number) {
  Rank& r = self(rank);
  const TraceEvent& e = event(rank, number);
  if (e.kind == TraceEvent::kForward && r.pass == TraceEvent::kBackward)
    violate(ScheduleClaim::kPairs, rank, number, "goes on with the forward pass after a backward block");
  if (e.kind == TraceEvent::kBackward && r.pass == TraceEvent::kForward) require_saved(rank, number);
  if (r.pass == e.kind)
    for (const TracedTensor& tensor : e.tensors) {
      if (is_of_block(tensor)) continue;
      const auto kept = r.kept.find(tensor.name);
      const bool sum = tensor.access == TracedTensor::kUpdate;
      if (r.lost.contains(tensor.name))
        violate(ScheduleClaim::kMemory, rank, number,
                "finds " + std::string(tensor.name) + " overwritten since the block before");
      else if (kept != r.kept.end() && kept->second != tensor.bytes)
        violate(ScheduleClaim::kPairs, rank, number,
                std::string(sum ? "adds its block to another " : "computes with another ") +
                    std::string(tensor.name) + " than the block before");
    }
  r.pass = e.kind;
}

void Replayer::keep(int rank, const TraceEvent& e) {
  self(rank).kept.clear();
  self(rank).lost.clear();
  for (const TracedTensor& tensor : e.tensors)
    if (!is_of_block(tensor)) self(rank).kept[tensor.name] = tensor.bytes;
}

// Writes the results of a computation to memory: sums that are not a block, and this rank's share of the
// block's gradient.
void Replayer::write_results(int rank, const TraceEvent& e, std::optional<int> block) {
  for (const TracedTensor& tensor : e.tensors) {
    if (tensor.access == TracedTensor::kRead || (tensor.access == TracedTensor::kUpdate && e.pairs == 0))
      continue;
    if (tensor.access == TracedTensor::kUpdate || !block) {
      put(rank, tensor.bytes, {});
      continue;
    }
    const auto kind = tensor.name == "dk" ? Content::kKeyGradient : Content::kValueGradient;
    Content share{kind, *block, tensor.bytes.size, {}};
    if (e.pairs > 0) share.shares[rank] = 1;
    put(rank, tensor.bytes, {{0, tensor.bytes.size, content(std::move(share)), 0}});
  }
}

void Replayer::add(int rank, std::size_t number) {
  const TraceEvent& e = event(rank, number);
  require_untouched(rank, number);
  for (const char* name : {"dv", "dk"}) {
    const TracedBytes into = bytes_of(tensor_of(e, name, TracedTensor::kUpdate)),
                      from = bytes_of(tensor_of(e, name, TracedTensor::kRead));
    if (into.size == 0 && from.size == 0) continue;
    const Content *sum = whole(rank, into), *term = whole(rank, from);
    const bool good = sum != nullptr && term != nullptr && sum->is_gradient() && sum->kind == term->kind &&
                      sum->block == term->block;
    if (!good) {
      violate(ScheduleClaim::kGradients, rank, number,
              "adds " + holding(rank, from) + " to " + holding(rank, into));
      put(rank, into, {});
      continue;
    }
    Content result = *sum;
    for (const auto& [whose, count] : term->shares) result.shares[whose] += count;
    found(rank, number).block = name_of(result);
    put(rank, into, {{0, into.size, content(std::move(result)), 0}});
  }
}

}  // namespace ringcraft::verify
