// Translates the events of a rank to JSON, one to a line, and back. A reader of a file that anyone may have
// changed lets no event through that the replay could not follow: every number has its range, and a wait its
// start.
#include <limits>
#include <set>

#include "ringcraft/parallel/hybrid/rank_grid.hpp"
#include "verify/schedule/trace_file_detail.hpp"

namespace ringcraft::verify {
namespace {

using Json = nlohmann::json;

// In the order of their enumerators.
constexpr std::array<std::string_view, 10> kEventKinds{"holds", "start", "wait",  "forward", "backward",
                                                       "add",   "copy",  "gives", "begin",   "clear"};
constexpr std::array<std::string_view, 2> kMessageKinds{"send", "recv"};
constexpr std::array<std::string_view, 3> kAccesses{"read", "write", "update"};

// A tensor as an engine touches it. A trace refers to names without owning them.
struct Touch {
  std::string_view name;
  TracedTensor::Access access;
};

// In the order in which they are recorded (trace.cpp, block_engine.cpp); kHolds and kGives: one of
// those that they may state.
std::vector<Touch> touches_of(TraceEvent::Kind kind) {
  constexpr auto kRead = TracedTensor::kRead, kWrite = TracedTensor::kWrite, kUpdate = TracedTensor::kUpdate;
  switch (kind) {
    case TraceEvent::kHolds:
      return {{"k", kWrite}};
    case TraceEvent::kForward:
      return {{"q", kRead}, {"k", kRead}, {"v", kRead}, {"out", kUpdate}, {"max", kUpdate}, {"sum", kUpdate}};
    case TraceEvent::kBackward:
      return {{"q", kRead}, {"out", kRead}, {"lse", kRead},  {"dout", kRead}, {"delta", kRead},
              {"k", kRead}, {"v", kRead},   {"dq", kUpdate}, {"dk", kWrite},  {"dv", kWrite}};
    case TraceEvent::kAdd:
      return {{"dk", kUpdate}, {"dv", kUpdate}, {"dk", kRead}, {"dv", kRead}};
    case TraceEvent::kCopy:
      return {{"from", kRead}, {"to", kUpdate}};
    case TraceEvent::kGives:
      return {{"out", kRead}};
    case TraceEvent::kBegin:
      return {{"out", kWrite}, {"max", kWrite}, {"sum", kWrite}};
    case TraceEvent::kClear:
      return {{"sum", kWrite}};
    case TraceEvent::kStart:
    case TraceEvent::kWait:
      break;
  }
  return {};
}

Json json_of(const TraceTime& time) { return {time.wall, time.virtual_}; }

Json json_of(const TracedMessage& m) {
  return {{"kind", kMessageKinds[m.kind]},
          {"peer", m.peer},
          {"address", m.bytes.address},
          {"bytes", m.bytes.size}};
}

Json json_of(const TracedTensor& t) {
  return {{"name", t.name},
          {"access", kAccesses[t.access]},
          {"address", t.bytes.address},
          {"bytes", t.bytes.size}};
}

Json json_of(const HeldPart& part) {
  return {{"joined", part.joined}, {"first_head", part.first_head}, {"heads", part.heads}};
}

// From, to and size of each run, one after the other.
Json json_of(const std::vector<CopiedBytes>& copied) {
  Json list = Json::array();
  for (const CopiedBytes& run : copied)
    for (const Index number : {run.from, run.to, run.size}) list.push_back(number);
  return list;
}

template <class T>
Json list_of(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(json_of(value));
  return list;
}

bool is_block(TraceEvent::Kind kind) { return kind == TraceEvent::kForward || kind == TraceEvent::kBackward; }

Json json_of(const TraceEvent& e) {
  Json json{{"kind", kEventKinds[e.kind]},
            {"begin", json_of(e.begin)},
            {"end", e.ended ? json_of(e.end) : Json()},
            {"live_bytes", e.live_bytes}};
  if (e.kind == TraceEvent::kHolds) json["owner"] = e.owner;
  if (e.part != HeldPart{}) json["part"] = json_of(e.part);
  if (e.kind == TraceEvent::kCopy) json["copied"] = json_of(e.copied);
  if (e.kind == TraceEvent::kWait) json["waits_for"] = e.waits_for;
  if (e.kind == TraceEvent::kStart)
    json["messages"] = list_of(e.messages);
  else if (e.kind != TraceEvent::kWait)
    json["tensors"] = list_of(e.tensors);
  if (is_block(e.kind)) {
    json["key_begin"] = e.key_begin;
    json["key_end"] = e.key_end;
    json["pairs"] = e.pairs;
  }
  return json;
}

// ---- and back

class EventsReader {
 public:
  EventsReader(const EventRules& rules, int rank)
      : rules_(rules), problem_(rules.problem), rank_(rank), rows_(rows_of(rules, rank)) {}

  void read(const StrictJson& list, RankTrace& into) {
    const std::size_t count = list.size();
    for (std::size_t i = 0; i < count; ++i) {
      TraceEvent e = event(list[i]);
      if (e.kind == TraceEvent::kStart) open_.insert(i);
      into.append(std::move(e));
    }
  }

 private:
  // Those of the queries that the rank computes with.
  static Index rows_of(const EventRules& rules, int rank) {
    if (rules.degree == 1) return rules.problem.sharding().rows(rank);
    return column_problem(rules.problem, rules.degree).sharding().rows(rank / rules.degree);
  }

  TraceEvent event(const StrictJson& json) {
    TraceEvent e;
    e.kind = static_cast<TraceEvent::Kind>(json["kind"].one_of(kEventKinds));
    if (e.kind == TraceEvent::kCopy && !rules_.copies)
      json["kind"].refuse("no copy in a run of a method that moves no heads", "one");
    if (e.kind == TraceEvent::kGives && !rules_.states)
      json["kind"].refuse("no stated result in a file of format 1", "one");
    if ((e.kind == TraceEvent::kBegin || e.kind == TraceEvent::kClear) && !rules_.begins)
      json["kind"].refuse("no beginning of a sum in a file of format 1 or 2", "one");
    require_members(json, e.kind);
    read_times(json, e);
    e.live_bytes = json["live_bytes"].integer(0, kMost);
    if (e.kind == TraceEvent::kStart) read_messages(json["messages"], e);
    if (e.kind == TraceEvent::kWait) read_wait(json["waits_for"], e);
    if (e.kind != TraceEvent::kStart && e.kind != TraceEvent::kWait) read_tensors(json["tensors"], e);
    if (e.kind == TraceEvent::kHolds) read_held(json, e);
    if (e.kind == TraceEvent::kCopy) read_copied(json["copied"], e);
    if (is_block(e.kind)) read_ranges(json, e);
    return e;
  }

  static void require_members(const StrictJson& json, TraceEvent::Kind kind) {
    switch (kind) {
      case TraceEvent::kHolds:
        if (json.has("part"))
          return json.require_members({"kind", "begin", "end", "live_bytes", "owner", "part", "tensors"});
        return json.require_members({"kind", "begin", "end", "live_bytes", "owner", "tensors"});
      case TraceEvent::kStart:
        return json.require_members({"kind", "begin", "end", "live_bytes", "messages"});
      case TraceEvent::kWait:
        return json.require_members({"kind", "begin", "end", "live_bytes", "waits_for"});
      case TraceEvent::kForward:
      case TraceEvent::kBackward:
        return json.require_members(
            {"kind", "begin", "end", "live_bytes", "tensors", "key_begin", "key_end", "pairs"});
      case TraceEvent::kCopy:
        return json.require_members({"kind", "begin", "end", "live_bytes", "tensors", "copied"});
      case TraceEvent::kAdd:
      case TraceEvent::kGives:
      case TraceEvent::kBegin:
      case TraceEvent::kClear:
        return json.require_members({"kind", "begin", "end", "live_bytes", "tensors"});
    }
  }

  static TraceTime time(const StrictJson& json) {
    if (json.size() != 2)
      json.refuse("two numbers, wall and virtual seconds", counted(json.size(), "element"));
    return {json[std::size_t{0}].number(), json[std::size_t{1}].number()};
  }

  void read_times(const StrictJson& json, TraceEvent& e) {
    e.begin = e.end = time(json["begin"]);
    e.ended = !json["end"].is_null();
    if (e.ended) e.end = time(json["end"]);
    if (e.begin.wall < last_.wall || e.begin.virtual_ < last_.virtual_)
      json["begin"].refuse("a time not before the event that precedes it", "an earlier one");
    if (e.end.wall < e.begin.wall || e.end.virtual_ < e.begin.virtual_)
      json["end"].refuse("a time not before its begin", "an earlier one");
    last_ = e.begin;
  }

  static TracedBytes bytes(const StrictJson& json, Index least) {
    const std::uint64_t address = json["address"].natural();
    const Index size = json["bytes"].integer(least, kMost);
    if (address > std::numeric_limits<std::uintptr_t>::max() - static_cast<std::uintptr_t>(size))
      json["address"].refuse("bytes within 2^64", std::to_string(address));
    return {static_cast<std::uintptr_t>(address), size};
  }

  void read_messages(const StrictJson& list, TraceEvent& e) const {
    for (std::size_t i = 0, count = list.size(); i < count; ++i) {
      const StrictJson json = list[i];
      json.require_members({"kind", "peer", "address", "bytes"});
      const int peer = json["peer"].small(0, problem_.world_size - 1);
      if (peer == rank_) json["peer"].refuse("another rank", "the rank itself");
      e.messages.push_back({static_cast<Op::Kind>(json["kind"].one_of(kMessageKinds)), peer, bytes(json, 1)});
    }
  }

  void read_wait(const StrictJson& json, TraceEvent& e) {
    e.waits_for = json.natural();
    if (open_.erase(e.waits_for) == 0)
      json.refuse("the number of an earlier start that nothing has waited for", std::to_string(e.waits_for));
  }

  std::string_view name_of(const StrictJson& json, TraceEvent::Kind kind, std::string_view only) const {
    static constexpr std::array<std::string_view, 2> kBlock{"k", "v"};
    static constexpr std::array<std::string_view, 4> kInputs{"k", "v", "q", "dout"};
    static constexpr std::array<std::string_view, 5> kResults{"out", "lse", "dq", "dk", "dv"};
    if (kind == TraceEvent::kHolds)
      return rules_.states ? kInputs[json.one_of(kInputs)] : kBlock[json.one_of(kBlock)];
    return kind == TraceEvent::kGives ? kResults[json.one_of(kResults)] : json.exactly(only);
  }

  // The part of a row of neighbours that deal heads; without one, all heads of a rank's rows.
  void read_held(const StrictJson& json, TraceEvent& e) const {
    if (json.has("part")) {
      const StrictJson part = json["part"];
      part.require_members({"joined", "first_head", "heads"});
      const std::string_view name = e.tensors[0].name;
      const Index heads = name == "k" || name == "v" ? problem_.shape.kv_heads : problem_.shape.heads;
      if (!rules_.copies) json["part"].refuse("no part in a run of a method that moves no heads", "one");
      e.part.joined = part["joined"].small(rules_.degree, rules_.degree);
      e.part.first_head = part["first_head"].integer(0, heads - 1);
      e.part.heads = part["heads"].integer(1, heads - e.part.first_head);
    }
    e.owner = json["owner"].small(0, problem_.world_size / e.part.joined - 1);
  }

  void read_copied(const StrictJson& list, TraceEvent& e) const {
    const std::vector<Index> numbers = list.integers<Index>(0, kMost);
    if (numbers.empty() || numbers.size() % 3 != 0)
      list.refuse("from, to and size of each run", counted(numbers.size(), "number"));
    const auto require = [&](std::size_t i, Index size, const TracedTensor& tensor) {
      if (numbers[i] > tensor.bytes.size - size)
        list[i].refuse(
            "bytes of " + std::string(tensor.name) + " (" + std::to_string(tensor.bytes.size) + ")",
            std::to_string(numbers[i]) + " and " + std::to_string(size) + " more");
    };
    for (std::size_t i = 0; i < numbers.size(); i += 3) {
      if (numbers[i + 2] == 0) list[i + 2].refuse("1 byte or more", "0");
      require(i, numbers[i + 2], e.tensors[0]);
      require(i + 1, numbers[i + 2], e.tensors[1]);
      const Index free = e.copied.empty() ? 0 : e.copied.back().to + e.copied.back().size;
      if (numbers[i + 1] < free)
        list[i + 1].refuse("a byte from " + std::to_string(free) + " on, which no run before it has written",
                           std::to_string(numbers[i + 1]));
      e.copied.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
    }
  }

  void read_tensors(const StrictJson& list, TraceEvent& e) const {
    const std::vector<Touch> touches = touches_of(e.kind);
    if (list.size() != touches.size())
      list.refuse(counted(touches.size(), "tensor"), std::to_string(list.size()));
    for (std::size_t i = 0; i < touches.size(); ++i) {
      const StrictJson json = list[i];
      json.require_members({"name", "access", "address", "bytes"});
      const std::string_view name = name_of(json["name"], e.kind, touches[i].name);
      json["access"].exactly(kAccesses[touches[i].access]);
      e.tensors.push_back({name, touches[i].access, bytes(json, 0)});
    }
  }

  void read_ranges(const StrictJson& json, TraceEvent& e) const {
    const auto keys = [&](const char* name) {
      if (static_cast<Index>(json[name].size()) != rows_)
        json[name].refuse("a key for each of the rank's " + counted(rows_, "row"),
                          std::to_string(json[name].size()));
      return json[name].integers<int>(0, problem_.shape.seqlen);
    };
    e.key_begin = keys("key_begin");
    e.key_end = keys("key_end");
    for (std::size_t row = 0; row < e.key_end.size(); ++row)
      if (e.key_end[row] < e.key_begin[row])
        json["key_end"][row].refuse("a key from key_begin on (" + std::to_string(e.key_begin[row]) + ")",
                                    std::to_string(e.key_end[row]));
    e.pairs = KeyRanges{e.key_begin, e.key_end}.pairs();
    if (const Index said = json["pairs"].integer(0, kMost); said != e.pairs)
      json["pairs"].refuse("the pairs of key_begin and key_end (" + std::to_string(e.pairs) + ")",
                           std::to_string(said));
  }

  static constexpr Index kMost = std::numeric_limits<Index>::max();

  const EventRules& rules_;
  const Problem& problem_;
  int rank_;
  Index rows_;  // of the rank
  TraceTime last_{-std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  std::set<std::size_t> open_;  // starts that nothing has waited for
};

}  // namespace

std::string events_text(const RankTrace& rank) {
  std::string text = "[";
  for (const TraceEvent& event : rank.events())
    text += (text.size() == 1 ? "\n" : ",\n") + json_of(event).dump();
  return text + "]";
}

void read_events(const StrictJson& list, const EventRules& rules, int rank, RankTrace& into) {
  EventsReader(rules, rank).read(list, into);
}

void read_events(const std::string& text, const std::string& place, const Problem& problem, int degree,
                 int rank, RankTrace& into) {
  const Json list = parsed(text, place, kRecordAgain);
  read_events(StrictJson(list, place, kRecordAgain), {problem, degree, true}, rank, into);
}

}  // namespace ringcraft::verify
