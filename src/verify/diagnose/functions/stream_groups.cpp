// Explains groups and operations of wrong starts, each as a law over all starts.
#include <algorithm>
#include <map>

#include "verify/diagnose/functions/streams.hpp"

namespace ringcraft::verify::streams {
namespace {

constexpr const char* kGroupQuestion =
    "Every rank is at the first entry of its stream: has each of them its other half there?";
constexpr const char* kListQuestion = "Follow one operation of the list: which call becomes of it?";

int count_of(const Asked& asked, StreamCall::Kind kind) {
  return static_cast<int>(std::ranges::count(asked.calls, kind, &StreamCall::kind));
}

// The operations by group, in order; outside of a group each is one of its own.
std::vector<std::vector<StreamCall>> groups_of(const Asked& asked) {
  std::vector<std::vector<StreamCall>> groups;
  int depth = 0;
  bool begins = true;
  for (const StreamCall& call : asked.calls) {
    if (call.kind == StreamCall::kGroupStart && depth++ == 0) begins = true;
    if (call.kind == StreamCall::kGroupEnd && depth > 0 && --depth == 0) begins = true;
    if (!moves(call)) continue;
    if (begins || depth == 0) groups.emplace_back();
    groups.back().push_back(call);
    begins = depth == 0;
  }
  return groups;
}

bool same_kind(const std::vector<StreamCall>& group) {
  return std::ranges::all_of(group, [&](const StreamCall& c) { return c.kind == group.front().kind; });
}
bool same_peer(const std::vector<StreamCall>& group) {
  return std::ranges::all_of(group, [&](const StreamCall& c) { return c.peer == group.front().peer; });
}

// Operations that a start asked for, and those that it made.
struct Made {
  std::vector<TracedMessage> asked;
  std::vector<StreamCall> calls;
};
Made made_of(const Asked& asked) {
  Made made{asked.messages, {}};
  for (const StreamCall& call : asked.calls)
    if (moves(call)) made.calls.push_back(call);
  return made;
}

bool is_send(const StreamCall& call) { return call.kind == StreamCall::kSend; }
bool is_send(const TracedMessage& message) { return message.kind == Op::kSend; }

// The messages of a list that a mistake keeps, in order.
struct ListWord {
  const char* words;
  bool (*keeps)(const std::vector<TracedMessage>&, std::size_t);
};
constexpr ListWord kLists[] = {
    {"sends are left out", [](const auto& list, std::size_t i) { return !is_send(list[i]); }},
    {"receives are left out", [](const auto& list, std::size_t i) { return is_send(list[i]); }},
    {"only the first operation is made", [](const auto&, std::size_t i) { return i == 0; }},
    {"only the last operation is made", [](const auto& list, std::size_t i) { return i + 1 == list.size(); }},
    {"the first operation is left out", [](const auto&, std::size_t i) { return i > 0; }},
    {"the last operation is left out", [](const auto& list, std::size_t i) { return i + 1 < list.size(); }},
    {"only the first two operations are made", [](const auto&, std::size_t i) { return i < 2; }},
    {"every second operation is left out", [](const auto&, std::size_t i) { return i % 2 == 0; }}};

bool matches(const StreamCall& call, const TracedMessage& message) {
  return is_send(call) == is_send(message) && call.peer == message.peer && call.bytes == message.bytes;
}

// Whether calls and messages are the same, in any order.
bool same_messages(const std::vector<StreamCall>& calls, const std::vector<TracedMessage>& messages) {
  std::vector<bool> used(messages.size());
  for (const StreamCall& call : calls) {
    std::size_t i = 0;
    while (i < messages.size() && (used[i] || !matches(call, messages[i]))) ++i;
    if (i == messages.size()) return false;
    used[i] = true;
  }
  return calls.size() == messages.size();
}

// A field of a call that is another than the message's.
struct FieldWord {
  const char* words;
  bool (*fits)(const StreamCall&, const TracedMessage&);
};
constexpr FieldWord kFields[] = {
    {"a send becomes a receive and a receive a send",
     [](const StreamCall& c, const TracedMessage& m) { return is_send(c) != is_send(m); }},
    {"every operation becomes a send", [](const StreamCall& c, const TracedMessage&) { return is_send(c); }},
    {"every operation becomes a receive",
     [](const StreamCall& c, const TracedMessage&) { return !is_send(c); }},
    {"the peer is one too large",
     [](const StreamCall& c, const TracedMessage& m) { return c.peer == m.peer + 1; }},
    {"the peer is one too small",
     [](const StreamCall& c, const TracedMessage& m) { return c.peer == m.peer - 1; }},
    {"the peer is always 0", [](const StreamCall& c, const TracedMessage&) { return c.peer == 0; }},
    {"the bytes begin elsewhere",
     [](const StreamCall& c, const TracedMessage& m) { return c.bytes.address != m.bytes.address; }},
    {"only the first half of the bytes moves",
     [](const StreamCall& c, const TracedMessage& m) { return c.bytes.size == m.bytes.size / 2; }},
    {"one byte is missing",
     [](const StreamCall& c, const TracedMessage& m) { return c.bytes.size == m.bytes.size - 1; }},
    {"no byte moves", [](const StreamCall& c, const TracedMessage&) { return c.bytes.size == 0; }}};

std::optional<Cause> cause_of_list(const std::vector<Asked>& starts) {
  const auto is = [&](const auto& law) {
    return all_of(starts, [&](const Asked& a) { return law(made_of(a)); });
  };
  for (const ListWord& word : kLists)
    if (is([&](const Made& made) {
          std::vector<TracedMessage> kept;
          for (std::size_t i = 0; i < made.asked.size(); ++i)
            if (word.keeps(made.asked, i)) kept.push_back(made.asked[i]);
          return same_messages(made.calls, kept);
        }))
      return Cause{"solved-streams-list", word.words, kListQuestion};
  if (is([](const Made& made) { return made.calls.empty(); }))
    return Cause{"solved-streams-list", "no operation is made", kListQuestion};
  if (is([](const Made& made) {
        return made.calls.size() == 2 * made.asked.size() &&
               std::ranges::all_of(made.asked, [&](const TracedMessage& m) {
                 return std::ranges::count_if(made.calls, [&](const auto& c) { return matches(c, m); }) >= 2;
               });
      }))
    return Cause{"solved-streams-list", "every operation is made twice", kListQuestion};
  for (const FieldWord& word : kFields)
    if (is([&](const Made& made) {
          return std::ranges::equal(made.calls, made.asked,
                                    [&](const auto& c, const auto& m) { return word.fits(c, m); });
        }))
      return Cause{"solved-streams-field", word.words, kListQuestion};
  return {};
}

std::optional<Cause> cause_of_order(const std::vector<Asked>& starts) {
  const auto in_order = [](const Asked& a, bool sends, bool reversed) {
    std::vector<TracedMessage> want;
    std::vector<StreamCall> got;
    for (const TracedMessage& m : a.messages)
      if (is_send(m) == sends) want.push_back(m);
    for (const StreamCall& c : a.calls)
      if (moves(c) && is_send(c) == sends) got.push_back(c);
    if (reversed) std::ranges::reverse(want);
    return std::ranges::equal(got, want, matches);
  };
  for (const bool sends : {true, false})
    if (!all_of(starts, [&](const Asked& a) { return in_order(a, sends, false); }) &&
        all_of(starts,
               [&](const Asked& a) { return in_order(a, sends, true) && in_order(a, !sends, false); }))
      return Cause{"solved-streams-order",
                   sends ? "sends enter in the reverse order, and receives in that of the list"
                         : "receives enter in the reverse order, and sends in that of the list",
                   "Messages between two ranks have no names: which send meets which receive?"};
  return {};
}

}  // namespace

bool all_of(const std::vector<Asked>& asked, const std::function<bool(const Asked&)>& law) {
  return !asked.empty() && std::ranges::all_of(asked, law);
}

std::vector<Asked> with_several(const std::vector<Asked>& starts) {
  std::vector<Asked> several;
  for (const Asked& asked : starts)
    if (asked.messages.size() > 1) several.push_back(asked);
  return several;
}

std::optional<Cause> cause_of_groups(const std::vector<Asked>& starts) {
  const auto is = [&](const auto& law) { return all_of(starts, law); };
  const auto say = [](const char* words) { return Cause{"solved-streams-group", words, kGroupQuestion}; };
  const auto opened = [](const Asked& a) { return count_of(a, StreamCall::kGroupStart); };
  const auto closed = [](const Asked& a) { return count_of(a, StreamCall::kGroupEnd); };
  if (is([&](const Asked& a) { return opened(a) > closed(a); }))
    return say("a group is opened and not closed: its operations never enter the stream");
  if (is([&](const Asked& a) { return opened(a) < closed(a); }))
    return say("a group is closed that was not opened: each operation is one of its own");
  if (is([&](const Asked& a) { return opened(a) == 0; }))
    return say("there is no group: each operation waits for its other half before the next one begins");
  const std::vector<Asked> several = with_several(starts);
  const auto groups = [&](const auto& law) {
    return all_of(several, [&](const Asked& a) {
      const auto all = groups_of(a);
      return all.size() > 1 && law(all);
    });
  };
  const auto each = [](bool (*law)(const std::vector<StreamCall>&)) {
    return [law](const auto& all) { return std::ranges::all_of(all, law); };
  };
  if (groups(each([](const std::vector<StreamCall>& g) { return g.size() == 1; })))
    return say("each operation is alone: its group, if it has one, ends before the next one begins");
  if (groups(each(same_kind))) return say("sends and receives are not in one group");
  if (groups(each(same_peer))) return say("each peer, or pair of messages, has a group of its own");
  if (groups([](const auto&) { return true; }))
    return say("the operations of one start are in several groups");
  // Starts of two operations may be in one group by chance.
  const auto ungrouped = [](const Asked& a) { return groups_of(a).size() > 1; };
  if (std::ranges::any_of(several, ungrouped)) return say("longer lists are split into several groups");
  return {};
}

std::vector<Cause> causes_of_operations(const std::vector<Asked>& starts) {
  std::vector<Cause> causes;
  const bool complete = all_of(starts, [](const Asked& a) {
    const Made made = made_of(a);
    return same_messages(made.calls, made.asked);
  });
  if (!complete)
    if (auto cause = cause_of_list(starts)) causes.push_back(*cause);
  if (complete)
    if (auto cause = cause_of_order(starts)) causes.push_back(*cause);
  const auto on_compute = [&](auto which) {
    bool any = false;
    const bool all = all_of(starts, [&](const Asked& a) {
      return std::ranges::all_of(a.calls, [&](const StreamCall& c) {
        if (!moves(c)) return true;
        any |= c.stream == RankStream::kCompute;
        return (c.stream == RankStream::kCompute) == which(c);
      });
    });
    return any && all;
  };
  const char* words = on_compute([](const StreamCall&) { return true; })            ? "all operations"
                      : on_compute([](const StreamCall& c) { return is_send(c); })  ? "sends"
                      : on_compute([](const StreamCall& c) { return !is_send(c); }) ? "receives"
                                                                                    : nullptr;
  if (words != nullptr)
    causes.push_back({"solved-streams-stream", std::string(words) + " run on the compute stream",
                      "Two streams: which work can run at the same time as which?"});
  return causes;
}

}  // namespace ringcraft::verify::streams
