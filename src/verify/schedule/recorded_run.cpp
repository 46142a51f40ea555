// Proves a recorded run: beyond its schedule, that each event ended, and that each tensor has the bytes that
// the problem gives it, in memory of its own.
#include <algorithm>
#include <set>

#include "ringcraft/core/shown.hpp"
#include "ringcraft/parallel/hybrid/rank_grid.hpp"
#include "verify/schedule/trace_file.hpp"

namespace ringcraft::verify {
namespace {

// Stored and sent; all other tensors are accumulated, in numbers that may be wider.
bool is_element(std::string_view name) {
  return std::set<std::string_view>{"q", "k", "v", "dout"}.contains(name);
}

class RecordProver {
 public:
  RecordProver(const TracedRun& run, ScheduleProof& proof)
      : run_(run), units_(units_of(run)), proof_(proof) {}

  void prove() {
    for (int rank = 0; rank < run_.trace.world_size(); ++rank) {
      rank_ = rank;
      begun_ = false;
      const auto& events = run_.trace.rank(rank).events();
      for (number_ = 0; number_ < events.size(); ++number_) require_event(events[number_]);
      if (!run_.states_results || run_.problem.sharding().rows(rank) == 0) continue;
      require_stated("q", ScheduleClaim::kPairs);
      if (run_.begins_sums) require_begun(TraceEvent::kBegin, "out", ScheduleClaim::kPairs);
      if (run_.last != Pass::kBackward) continue;
      require_stated("dout", ScheduleClaim::kGradients);
      if (run_.begins_sums) require_begun(TraceEvent::kClear, "dq", ScheduleClaim::kGradients);
    }
    std::ranges::stable_sort(proof_.violations, {}, &Violation::claim);
  }

 private:
  static Problem units_of(const TracedRun& run) {
    const int degree = dealing_degree(*run.method, run.problem, run.options);
    return degree == 1 ? run.problem : column_problem(run.problem, degree);
  }

  void violate(ScheduleClaim claim, const std::string& what) {
    const int step = proof_.replay.events[static_cast<std::size_t>(rank_)][number_].step;
    proof_.violations.push_back(
        {claim, "rank " + std::to_string(rank_) + ", step " + std::to_string(step) + ": " + what});
  }

  void require_stated(std::string_view name, ScheduleClaim claim) {
    if (std::ranges::none_of(run_.trace.rank(rank_).events(), [&](const TraceEvent& e) {
          return e.kind == TraceEvent::kHolds && e.tensors[0].name == name;
        }))
      proof_.violations.push_back(
          {claim, "rank " + std::to_string(rank_) + " never states where its " + std::string(name) + " is"});
  }

  // Else the replay would take the word of the first block for what was there before it.
  void require_begun(TraceEvent::Kind kind, std::string_view name, ScheduleClaim claim) {
    if (std::ranges::find(run_.trace.rank(rank_).events(), kind, &TraceEvent::kind) ==
        run_.trace.rank(rank_).events().end())
      proof_.violations.push_back(
          {claim, "rank " + std::to_string(rank_) + " never begins its sum " + std::string(name)});
  }

  void require_event(const TraceEvent& e) {
    if (e.kind != TraceEvent::kHolds) begun_ = true;
    if (e.kind == TraceEvent::kHolds && !begun_ && (e.owner != rank_ || e.part != HeldPart{}))
      violate(ScheduleClaim::kMessages,
              "begins with the block of " + ranks_name(e.owner, e.part.joined) + ", which nobody has sent");
    if (!e.ended) violate(ScheduleClaim::kProgress, "stops there, by an error");
    if (e.kind == TraceEvent::kBackward && run_.last == Pass::kForward)
      violate(ScheduleClaim::kPairs, "computes a backward block in a run that has no backward pass");
    if (e.kind == TraceEvent::kCopy) require_ends_of_copy(e);
    for (const TracedTensor& tensor : e.tensors) {
      if (const auto numbers = numbers_of(e, tensor.name)) require_size(tensor, *numbers);
      for (const TracedTensor& other : e.tensors)
        if (&other < &tensor && other.bytes.overlaps(tensor.bytes) &&
            (other.access != TracedTensor::kRead || tensor.access != TracedTensor::kRead))
          violate(ScheduleClaim::kMemory,
                  "has " + std::string(tensor.name) + " in the memory of " + std::string(other.name));
    }
  }

  // A copy reads a tensor that the rank has made or got before, and makes one that it uses later: the event
  // next to it that begins at the same byte gives its size.
  void require_ends_of_copy(const TraceEvent& e) {
    const auto& events = run_.trace.rank(rank_).events();
    const auto here = events.begin() + static_cast<std::ptrdiff_t>(number_);
    const auto require = [&](const TracedTensor& tensor, std::optional<Index> size) {
      if (size != tensor.bytes.size)
        violate(ScheduleClaim::kMessages,
                std::string(tensor.access == TracedTensor::kRead ? "copies from " : "copies to ") +
                    counted(tensor.bytes.size, "byte") + " where " +
                    (size ? "a tensor of " + counted(*size, "byte") + " begins" : "no tensor begins"));
    };
    require(e.tensors[0],
            first_size_at(e.tensors[0].bytes.address, std::make_reverse_iterator(here), events.rend()));
    require(e.tensors[1], first_size_at(e.tensors[1].bytes.address, std::next(here), events.end()));
  }

  // The size of the first tensor or message of these events that begins at this byte.
  template <class Iterator>
  static std::optional<Index> first_size_at(std::uintptr_t address, Iterator event, Iterator end) {
    const auto begins = [&](const auto& one) { return one.bytes.size > 0 && one.bytes.address == address; };
    for (; event != end; ++event) {
      if (const auto found = std::ranges::find_if(event->tensors, begins); found != event->tensors.end())
        return found->bytes.size;
      if (const auto found = std::ranges::find_if(event->messages, begins); found != event->messages.end())
        return found->bytes.size;
    }
    return {};
  }

  // Nothing for tensors whose size follows from where their contents came from.
  std::optional<Index> numbers_of(const TraceEvent& e, std::string_view name) const {
    const Shape& shape = run_.problem.shape;
    if (e.kind == TraceEvent::kHolds) {
      const Index all = name == "k" || name == "v" ? shape.kv_heads : shape.heads;
      return rows(e.owner, e.part.joined) * (e.part.heads == 0 ? all : e.part.heads) * shape.head_dim;
    }
    if (e.kind == TraceEvent::kGives) {
      const Index heads = name == "dk" || name == "dv" ? shape.kv_heads : shape.heads;
      return rows(rank_, 1) * heads * (name == "lse" ? 1 : shape.head_dim);
    }
    const bool follows = e.kind == TraceEvent::kAdd || e.kind == TraceEvent::kCopy ||
                         e.kind == TraceEvent::kBegin || e.kind == TraceEvent::kClear;
    if (follows || name == "k") return {};
    if (name == "v" || name == "dk" || name == "dv") {  // as many as the keys
      const auto keys = std::ranges::find(e.tensors, "k", &TracedTensor::name);
      return keys->bytes.size / std::max<Index>(1, element_);
    }
    const auto& queries = proof_.replay.events[static_cast<std::size_t>(rank_)][number_].queries;
    if (!queries) return {};  // the replay has reported it
    const Index of_rows = rows(queries->block, queries->joined) *
                          (queries->heads == Heads{} ? shape.heads : queries->heads.count);
    return std::set<std::string_view>{"q", "out", "dout", "dq"}.contains(name) ? of_rows * shape.head_dim
                                                                               : of_rows;
  }

  // Of all sequences.
  Index rows(int block, int joined) const {
    return run_.problem.shape.batch * (joined == 1 ? run_.problem : units_).sharding().rows(block);
  }

  // All elements of a run have one width, and so have all accumulators; the first one tells it.
  void require_size(const TracedTensor& tensor, Index numbers) {
    Index& width = is_element(tensor.name) ? element_ : accumulator_;
    const Index bytes = tensor.bytes.size, narrowest = is_element(tensor.name) ? 2 : 4;
    for (Index each = narrowest; each <= 8; each *= 2)
      if (width == 0 && numbers > 0 && bytes == each * numbers) width = each;
    if (bytes != numbers * width)
      violate(ScheduleClaim::kMessages, std::string(tensor.name) + " has " + counted(bytes, "byte") +
                                            " for " + counted(numbers, "number") +
                                            (width > 0 ? " of " + counted(width, "byte") : ""));
  }

  const TracedRun& run_;
  Problem units_;
  ScheduleProof& proof_;
  int rank_ = 0;
  bool begun_ = false;      // something has happened on the rank since its trace says what it holds
  std::size_t number_ = 0;  // of the event
  Index element_ = 0, accumulator_ = 0;  // bytes of one number; 0: not known yet
};

}  // namespace

ScheduleProof prove_run(const TracedRun& run) {
  ScheduleProof proof = prove_schedule(run.trace, run.problem, run.goal());
  RecordProver(run, proof).prove();
  return proof;
}

}  // namespace ringcraft::verify
