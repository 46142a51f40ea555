// Replays computations: derives from memory which block each one works on, checks its key ranges and
// accumulator, and tracks the gradients that it writes or adds.
#include <algorithm>

#include "verify/schedule/replay_detail.hpp"

namespace ringcraft::verify {

const TracedTensor* tensor_of(const TraceEvent& event, std::string_view name, TracedTensor::Access access) {
  const auto found = std::ranges::find_if(
      event.tensors, [&](const TracedTensor& t) { return t.name == name && t.access == access; });
  return found == event.tensors.end() ? nullptr : &*found;
}

namespace {

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

// The keys that a computation works on; reports a violation if keys and values are not those of one block. A
// schedule in a text has no separate values.
std::optional<Content> Replayer::keys_of(int rank, std::size_t number) {
  const TraceEvent& e = event(rank, number);
  const TracedBytes k = bytes_of(tensor_of(e, "k", TracedTensor::kRead)),
                    v = bytes_of(tensor_of(e, "v", TracedTensor::kRead));
  std::optional<Content> keys = tensor(rank, k, Content::kKeys);
  const std::optional<Content> values = tensor(rank, v, Content::kValues);
  if (keys && (v.size == 0 || (values && values->block == keys->block && values->heads == keys->heads)))
    return keys;
  if (e.pairs > 0)
    violate(ScheduleClaim::kPairs, rank, number,
            "computes with " + holding(rank, k) + " as keys" +
                (v.size == 0 ? "" : " and " + holding(rank, v) + " as values"));
  return std::nullopt;
}

void Replayer::compute(int rank, std::size_t number) {
  const TraceEvent& e = event(rank, number);
  require_untouched(rank, number);
  const auto& keys = found(rank, number).keys = keys_of(rank, number);
  const auto& queries = found(rank, number).queries = queries_of(rank, number);
  if (keys) {
    found(rank, number).block = name_of(*keys);
    require_claim(rank, number, *keys);
  }
  if (keys && queries) {
    require_ranges(rank, number, *queries, *keys);
    if (e.pairs > 0) {
      require_heads(rank, number, *queries, *keys);
      result_.computations.push_back({rank, found(rank, number).step, e.kind == TraceEvent::kBackward,
                                      keys->block, queries->block, queries->heads});
    }
  }
  if (e.pairs > 0) require_kept(rank, number, queries == self(rank).queries);
  if (e.pairs > 0 && e.kind == TraceEvent::kBackward && queries) require_inputs(rank, number, *queries);
  write_results(rank, number);
  if (e.pairs > 0) keep(rank, e);
  if (e.pairs > 0) self(rank).queries = queries;
  if (e.pairs > 0 && e.kind == TraceEvent::kForward) self(rank).computed_forward = true;
  ++self(rank).computed;
}

void Replayer::require_claim(int rank, std::size_t number, const Content& keys) {
  const ScheduleNote* said = note(rank, number);
  const std::string name = name_of(keys);
  if (said != nullptr && said->names[0] != name)
    violate(ScheduleClaim::kPairs, rank, number,
            "computes " + said->names[0] + " and holds " + name + " there");
}

void Replayer::require_ranges(int rank, std::size_t number, const Content& queries, const Content& keys) {
  const TraceEvent& e = event(rank, number);
  const BlockRanges want = key_ranges(rows_.units(), queries.block, keys.block);
  if (trace_.rank(rank).keeps_ranges() ? e.key_begin == want.by_row().begin && e.key_end == want.by_row().end
                                       : e.pairs == want.pairs())
    return;
  if (e.pairs == 0 && want.pairs() == 0) return;  // nothing is visible either way
  violate(ScheduleClaim::kPairs, rank, number,
          "computes " + name_of(keys) + " with the key ranges of another block: " + std::to_string(e.pairs) +
              " visible pairs, where it has " + std::to_string(want.pairs()));
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

// Requires that every block of a pass that meets the same queries meets them and their sums (O, or dq) as the
// block before has left them.
void Replayer::require_kept(int rank, std::size_t number, bool same_queries) {
  Rank& r = self(rank);
  const TraceEvent& e = event(rank, number);
  if (e.kind == TraceEvent::kForward && r.pass == TraceEvent::kBackward)
    violate(ScheduleClaim::kPairs, rank, number, "goes on with the forward pass after a backward block");
  if (e.kind == TraceEvent::kBackward && r.pass == TraceEvent::kForward && !holds_queries_)
    require_saved(rank, number);
  if (r.pass == e.kind && same_queries)
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

// Writes the results of a computation to memory: sums of the queries, and the share of the keys' gradient.
void Replayer::write_results(int rank, std::size_t number) {
  const TraceEvent& e = event(rank, number);
  const auto &keys = found(rank, number).keys, &queries = found(rank, number).queries;
  for (const TracedTensor& tensor : e.tensors) {
    if (tensor.access == TracedTensor::kRead || (tensor.access == TracedTensor::kUpdate && e.pairs == 0))
      continue;
    const bool of_queries = tensor.access == TracedTensor::kUpdate;
    if (!keys || (!queries && e.pairs > 0)) {
      put(rank, tensor.bytes, {});
      continue;
    }
    const auto kind = tensor.name == "dk" ? Content::kKeyGradient : Content::kValueGradient;
    Content result = of_queries
                         ? with_share(rank, number, tensor, *queries, keys->block)
                         : Content{kind, keys->block, tensor.bytes.size, {}, keys->joined, keys->heads};
    if (!of_queries && e.pairs > 0) result.shares.add({queries->block, queries->heads});
    put(rank, tensor.bytes, {{0, tensor.bytes.size, content(std::move(result)), 0}});
  }
}

void Replayer::add(int rank, std::size_t number) {
  const TraceEvent& e = event(rank, number);
  require_untouched(rank, number);
  for (const char* name : {"dv", "dk"}) {
    const TracedBytes into = bytes_of(tensor_of(e, name, TracedTensor::kUpdate)),
                      from = bytes_of(tensor_of(e, name, TracedTensor::kRead));
    if (into.size == 0 && from.size == 0) continue;
    const auto sum = added(rank, into, from);
    if (!sum)
      violate(ScheduleClaim::kGradients, rank, number,
              "adds " + holding(rank, from) + " to " + holding(rank, into));
    else
      found(rank, number).block = name_of(contents_[sum->front().content]);
    put(rank, into, sum.value_or(std::vector<Piece>{}));
  }
}

// The sum of two gradients, piece by piece; nothing if they are not those of the same rows and heads.
std::optional<std::vector<Piece>> Replayer::added(int rank, TracedBytes into, TracedBytes from) {
  const auto sums = self(rank).memory.read(into), terms = self(rank).memory.read(from);
  std::vector<Piece> result;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> known;  // sum of two contents
  auto sum = sums.begin(), term = terms.begin();
  Index at = 0;
  for (; sum != sums.end() && term != terms.end();) {
    const Content &a = contents_[sum->content], &b = contents_[term->content];
    const Index in_sum = at - sum->place, in_term = at - term->place;
    const bool same = in_sum >= 0 && in_term >= 0 && a.is_gradient() && a.kind == b.kind &&
                      a.block == b.block && a.joined == b.joined && a.heads == b.heads &&
                      a.bytes == b.bytes && sum->offset + in_sum == term->offset + in_term;
    if (!same) return {};
    const auto [both, is_new] = known.try_emplace({sum->content, term->content}, 0);
    if (is_new) {
      Content total = a;
      for (const auto& [whose, count] : b.shares) total.shares.add(whose, count);
      both->second = content(std::move(total));
    }
    const Index size = std::min(sum->size - in_sum, term->size - in_term);
    result.push_back({at, size, both->second, sum->offset + in_sum});
    at += size;
    if (at == sum->place + sum->size) ++sum;
    if (at == term->place + term->size) ++term;
  }
  if (at != into.size || at != from.size) return {};
  return result;
}

}  // namespace ringcraft::verify
