// Translates the events of a rank to JSON, one to a line, and back. A reader of a file that anyone may have
// changed lets no event through that the replay could not follow: every number has its range, and a wait its
// start.
#include <limits>
#include <set>

#include "verify/schedule/trace_file_detail.hpp"

namespace ringcraft::verify {
namespace {

using Json = nlohmann::json;

// In the order of their enumerators.
constexpr std::array<std::string_view, 6> kEventKinds{"holds", "start", "wait", "forward", "backward", "add"};
constexpr std::array<std::string_view, 2> kMessageKinds{"send", "recv"};
constexpr std::array<std::string_view, 3> kAccesses{"read", "write", "update"};

// A tensor as an engine touches it. A trace refers to names without owning them.
struct Touch {
  std::string_view name;
  TracedTensor::Access access;
};

// In the order in which they are recorded (trace.cpp, block_engine.cpp); kHolds: k or v.
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
  EventsReader(const Problem& problem, int rank)
      : problem_(problem), rank_(rank), rows_(problem.sharding().rows(rank)) {}

  void read(const StrictJson& list, RankTrace& into) {
    const std::size_t count = list.size();
    for (std::size_t i = 0; i < count; ++i) {
      TraceEvent e = event(list[i]);
      if (e.kind == TraceEvent::kStart) open_.insert(i);
      into.append(std::move(e));
    }
  }

 private:
  TraceEvent event(const StrictJson& json) {
    TraceEvent e;
    e.kind = static_cast<TraceEvent::Kind>(json["kind"].one_of(kEventKinds));
    require_members(json, e.kind);
    read_times(json, e);
    e.live_bytes = json["live_bytes"].integer(0, kMost);
    if (e.kind == TraceEvent::kStart) read_messages(json["messages"], e);
    if (e.kind == TraceEvent::kWait) read_wait(json["waits_for"], e);
    if (e.kind != TraceEvent::kStart && e.kind != TraceEvent::kWait) read_tensors(json["tensors"], e);
    if (e.kind == TraceEvent::kHolds) e.owner = json["owner"].small(0, problem_.world_size - 1);
    if (is_block(e.kind)) read_ranges(json, e);
    return e;
  }

  static void require_members(const StrictJson& json, TraceEvent::Kind kind) {
    switch (kind) {
      case TraceEvent::kHolds:
        return json.require_members({"kind", "begin", "end", "live_bytes", "owner", "tensors"});
      case TraceEvent::kStart:
        return json.require_members({"kind", "begin", "end", "live_bytes", "messages"});
      case TraceEvent::kWait:
        return json.require_members({"kind", "begin", "end", "live_bytes", "waits_for"});
      case TraceEvent::kForward:
      case TraceEvent::kBackward:
        return json.require_members(
            {"kind", "begin", "end", "live_bytes", "tensors", "key_begin", "key_end", "pairs"});
      case TraceEvent::kAdd:
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

  void read_tensors(const StrictJson& list, TraceEvent& e) const {
    const std::vector<Touch> touches = touches_of(e.kind);
    if (list.size() != touches.size())
      list.refuse(counted(touches.size(), "tensor"), std::to_string(list.size()));
    for (std::size_t i = 0; i < touches.size(); ++i) {
      const StrictJson json = list[i];
      json.require_members({"name", "access", "address", "bytes"});
      constexpr std::array<std::string_view, 2> kBlock{"k", "v"};
      const bool held = e.kind == TraceEvent::kHolds;
      const std::string_view name =
          held ? kBlock[json["name"].one_of(kBlock)] : json["name"].exactly(touches[i].name);
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

void read_events(const StrictJson& list, const Problem& problem, int rank, RankTrace& into) {
  EventsReader(problem, rank).read(list, into);
}

void read_events(const std::string& text, const std::string& place, const Problem& problem, int rank,
                 RankTrace& into) {
  const Json list = parsed(text, place, "");
  read_events(StrictJson(list, place, kRecordAgain), problem, rank, into);
}

}  // namespace ringcraft::verify
