// Replays events one by one: matches sends with receives, suspends ranks that wait, and checks accesses to
// memory that a message still uses.
#include "verify/schedule/replay.hpp"

#include <algorithm>

#include "ringcraft/core/shown.hpp"
#include "verify/schedule/replay_detail.hpp"

namespace ringcraft::verify {

Replayer::Replayer(const Trace& trace, const Problem& problem, const ScheduleNotes& notes, int degree)
    : trace_(trace),
      problem_(problem),
      notes_(notes),
      rows_(problem, degree),
      ranks_(static_cast<std::size_t>(trace.world_size())) {
  for (int rank = 0; rank < trace.world_size(); ++rank) result_.events.emplace_back(events(rank).size());
  find_statements();
}

Replay Replayer::run() {
  for (bool moved = true; moved;) {
    moved = false;
    for (int rank = 0; rank < trace_.world_size(); ++rank)
      while (stuck(rank) && step(rank)) moved = true;
  }
  finish();
  return std::move(result_);
}

std::size_t Replayer::content(Content content) {
  contents_.push_back(std::move(content));
  return contents_.size() - 1;
}

// Stores the contents that a message or a computation leaves in memory.
void Replayer::put(int rank, TracedBytes bytes, const std::vector<Piece>& pieces) {
  self(rank).memory.paste(bytes, pieces);
  self(rank).written.push_back(bytes);
  lose(rank, bytes);
}

// Something has overwritten these bytes.
void Replayer::lose(int rank, TracedBytes bytes) {
  for (const auto& [name, kept] : self(rank).kept)
    if (kept.overlaps(bytes)) self(rank).lost.insert(name);
}

// ---- sentences

const ScheduleNote* Replayer::note(int rank, std::size_t number) const {
  return notes_.empty() ? nullptr : &notes_[static_cast<std::size_t>(rank)][number];
}

// "rank 1, step 2", with the line where there is one.
std::string Replayer::place(int rank, std::size_t number) {
  const ScheduleNote* said = note(rank, number);
  return "rank " + std::to_string(rank) + ", step " + std::to_string(found(rank, number).step) +
         (said != nullptr ? " (line " + std::to_string(said->line) + ")" : "");
}

void Replayer::violate(ScheduleClaim claim, int rank, std::size_t number, const std::string& what) {
  result_.violations.push_back({claim, place(rank, number) + ": " + what});
}

// The name that the author gives a message, if there is an author.
std::string Replayer::claimed(const Half& half) const {
  const ScheduleNote* said = note(half.rank, half.event);
  return said == nullptr ? "" : said->names[half.message];
}

// "send K0 to rank 1", "receive 12 bytes from rank 3".
std::string Replayer::described(const Half& half) {
  const TracedMessage& m = message(half);
  const bool send = m.kind == Op::kSend;
  const std::string said = claimed(half);
  return (send ? "send " : "receive ") + (said.empty() ? label(half) : said) +
         (send ? " to rank " : " from rank ") + std::to_string(m.peer);
}

// "K2", "K2 and V2", "a part of K2"; empty if some bytes hold nothing known. A content is named once, however
// many pieces of it there are.
std::string Replayer::named(const std::vector<Piece>& pieces, Index size) const {
  std::string text;
  Index covered = 0;
  std::vector<std::pair<std::size_t, Index>> bytes;  // of each content
  for (const Piece& piece : pieces) {
    const auto known = std::ranges::find(bytes, piece.content, &std::pair<std::size_t, Index>::first);
    if (known == bytes.end())
      bytes.push_back({piece.content, piece.size});
    else
      known->second += piece.size;
    covered += piece.size;
  }
  for (const auto& [number, known] : bytes) {
    const Content& c = contents_[number];
    text += std::string(text.empty() ? "" : " and ") + (known < c.bytes ? "a part of " : "") + name_of(c);
  }
  return covered == size ? text : "";
}

// ---- one event; returns false if the rank must wait for others

bool Replayer::step(int rank) {
  Rank& r = self(rank);
  const std::size_t number = r.next;
  const TraceEvent& e = event(rank, number);
  if (e.kind == TraceEvent::kWait && !arrived(rank, e.waits_for)) return false;
  // A start or a computation begins the step of the next block; all other events belong to the last one.
  const bool begins =
      e.kind == TraceEvent::kStart || e.kind == TraceEvent::kForward || e.kind == TraceEvent::kBackward;
  const ScheduleNote* said = note(rank, number);
  found(rank, number).reached = true;
  found(rank, number).step = said != nullptr ? said->step : std::max(0, r.computed - (begins ? 0 : 1));
  found(rank, number).rounds = rounds_before(rank, number);
  switch (e.kind) {
    case TraceEvent::kHolds:
      hold(rank, number);
      break;
    case TraceEvent::kStart:
      start(rank, number);
      break;
    case TraceEvent::kWait:
      wait(rank, e.waits_for);
      break;
    case TraceEvent::kForward:
    case TraceEvent::kBackward:
      compute(rank, number);
      break;
    case TraceEvent::kAdd:
      add(rank, number);
      break;
    case TraceEvent::kCopy:
      copy(rank, number);
      break;
    case TraceEvent::kGives:
      give(rank, number);
      break;
    case TraceEvent::kBegin:
    case TraceEvent::kClear:
      clear(rank, number);
      break;
  }
  ++r.next;
  return true;
}

// A wait ends a round after the later one of the two starts of each of its messages.
int Replayer::rounds_before(int rank, std::size_t number) {
  int rounds = number == 0 ? 0 : found(rank, number - 1).rounds;
  const TraceEvent& e = event(rank, number);
  if (e.kind != TraceEvent::kWait) return rounds;
  for (const Posted& posted : self(rank).posted[e.waits_for])
    rounds = std::max({rounds, found(rank, e.waits_for).rounds + 1,
                       found(posted.other->rank, posted.other->event).rounds + 1});
  return rounds;
}

// Takes the caller's word for a rank's own tensors, and for all that a trace begins with. Later the block of
// another rank, or of neighbours, came by messages, unless the trace begins after the pass in which it came.
void Replayer::hold(int rank, std::size_t number) {
  const TraceEvent& e = event(rank, number);
  const TracedTensor& tensor = e.tensors[0];
  const Content::Kind kind = tensor.name == "k"   ? Content::kKeys
                             : tensor.name == "v" ? Content::kValues
                             : tensor.name == "q" ? Content::kQueries
                                                  : Content::kOutGradient;
  const Content said{kind, e.owner,       tensor.bytes.size,
                     {},   e.part.joined, rows_.heads(kind, e.part.first_head, e.part.heads)};
  const Content* held = whole(rank, tensor.bytes);
  const bool again = kind == Content::kQueries && self(rank).computed_forward;
  const auto begin = events(rank).begin();
  const bool first =
      std::all_of(begin, begin + static_cast<std::ptrdiff_t>(number),
                  [](const TraceEvent& earlier) { return earlier.kind == TraceEvent::kHolds; });
  if ((e.owner != rank || !said.is_block() || again) && !first && (held == nullptr || *held != said) &&
      std::ranges::any_of(events(rank), [](const TraceEvent& x) { return x.kind == TraceEvent::kForward; }))
    violate(ScheduleClaim::kMessages, rank, number,
            "states that it holds " + name_of(said) + " and holds " + holding(rank, tensor.bytes) + " there");
  self(rank).memory.write(tensor.bytes, content(said));
  self(rank).computed = 0;
}

// ---- messages

void Replayer::start(int rank, std::size_t number) {
  const std::size_t count = event(rank, number).messages.size();
  found(rank, number).labels.resize(count);
  self(rank).posted[number].resize(count);
  self(rank).open.push_back(number);
  for (std::size_t i = 0; i < count; ++i) post({rank, number, i});
}

void Replayer::post(const Half& half) {
  const TracedMessage& m = message(half);
  label(half) = counted(m.bytes.size, "byte");
  require_free(half);
  if (m.kind == Op::kSend) {
    auto& pieces = self(half.rank).posted[half.event][half.message].pieces;
    pieces = self(half.rank).memory.read(m.bytes);
    const std::string name = named(pieces, m.bytes.size), said = claimed(half);
    if (!name.empty()) label(half) = name;
    if (!said.empty() && said != name)
      violate(ScheduleClaim::kMessages, half.rank, half.event,
              "sends " + said + " to rank " + std::to_string(m.peer) + " and holds " +
                  (name.empty() ? "nothing" : name) + " there");
  }
  auto& [sends, recvs] =
      links_[m.kind == Op::kSend ? std::pair{half.rank, m.peer} : std::pair{m.peer, half.rank}];
  (m.kind == Op::kSend ? sends : recvs).push_back(half);
  while (!sends.empty() && !recvs.empty()) {
    match(sends.front(), recvs.front());
    sends.pop_front();
    recvs.pop_front();
  }
}

void Replayer::match(const Half& send, const Half& recv) {
  self(send.rank).posted[send.event][send.message].other = recv;
  self(recv.rank).posted[recv.event][recv.message].other = send;
  const Index out = message(send).bytes.size, in = message(recv).bytes.size;
  if (out == in) {
    label(recv) = label(send);
    return;
  }
  violate(ScheduleClaim::kMessages, send.rank, send.event,
          "sends " + counted(out, "byte") + " to rank " + std::to_string(recv.rank) + ", which expects " +
              counted(in, "byte") + " at its step " + std::to_string(found(recv.rank, recv.event).step));
}

bool Replayer::arrived(int rank, std::size_t start) {
  return std::ranges::all_of(self(rank).posted[start], [](const Posted& p) { return p.other.has_value(); });
}

void Replayer::wait(int rank, std::size_t start) {
  Rank& r = self(rank);
  std::erase(r.open, start);
  for (std::size_t i = 0; i < r.posted[start].size(); ++i) {
    const Half half{rank, start, i}, from = *r.posted[start][i].other;
    const TracedMessage& m = message(half);
    if (m.kind != Op::kRecv) continue;
    const bool fits = message(from).bytes.size == m.bytes.size;
    put(rank, m.bytes, fits ? self(from.rank).posted[from.event][from.message].pieces : std::vector<Piece>{});
    if (fits && !claimed(half).empty() && claimed(half) != label(half))
      violate(
          ScheduleClaim::kMessages, rank, start,
          "expects " + claimed(half) + " from rank " + std::to_string(m.peer) + " and gets " + label(half));
  }
}

// ---- memory in flight

// A message must not write memory that another one reads or writes, nor read memory that another one writes.
void Replayer::require_free(const Half& mine) {
  const TracedMessage& m = message(mine);
  const std::string peer = "rank " + std::to_string(m.peer);
  for (const std::size_t open : self(mine.rank).open)
    for (std::size_t i = 0; i < event(mine.rank, open).messages.size(); ++i) {
      const Half other{mine.rank, open, i};
      const TracedMessage& o = message(other);
      const bool earlier = open != mine.event || i < mine.message;
      if (!earlier || !m.bytes.overlaps(o.bytes) || (m.kind == Op::kSend && o.kind == Op::kSend)) continue;
      const std::string theirs = " rank " + std::to_string(o.peer);
      violate(ScheduleClaim::kMemory, mine.rank, mine.event,
              m.kind == Op::kSend   ? "sends to " + peer + " what is still arriving from" + theirs
              : o.kind == Op::kSend ? "receives from " + peer + " into the memory of " + label(other) +
                                          ", which is still being sent to" + theirs
                                    : "receives from " + peer + " into memory where a message of" + theirs +
                                          " is still arriving");
    }
}

// A computation must not write memory that is being sent, nor access memory that is being received.
void Replayer::require_untouched(int rank, std::size_t number) {
  const TraceEvent& e = event(rank, number);
  const bool block = e.kind == TraceEvent::kForward || e.kind == TraceEvent::kBackward;
  const bool skipped = block && e.pairs == 0;  // reads nothing
  for (const TracedTensor& tensor : e.tensors) {
    if (skipped && tensor.access != TracedTensor::kWrite) continue;
    const bool reads = tensor.access == TracedTensor::kRead;
    for (const std::size_t open : self(rank).open)
      for (std::size_t i = 0; i < event(rank, open).messages.size(); ++i) {
        const Half other{rank, open, i};
        const TracedMessage& o = message(other);
        if (!tensor.bytes.overlaps(o.bytes) || (reads && o.kind == Op::kSend)) continue;
        violate(ScheduleClaim::kMemory, rank, number,
                (reads ? "reads " : "writes ") + std::string(tensor.name) + " where " +
                    (o.kind == Op::kSend ? label(other) + " is still being sent to rank "
                                         : "a message is still arriving from rank ") +
                    std::to_string(o.peer));
      }
  }
}

Replay replay(const Trace& trace, const Problem& problem, const ScheduleNotes& notes, int degree) {
  return Replayer(trace, problem, notes, degree).run();
}

}  // namespace ringcraft::verify
