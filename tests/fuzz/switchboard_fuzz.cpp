// Random programs of sends, receives, waits and ends on a Switchboard, against a reference model that shares
// no line with it: a network of queues, run until nothing moves. Both must agree on whether all ranks come to
// their end, and then on every byte, every clock and every counter, under every order of delivery.
#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <random>

#include "fuzz/target.hpp"
#include "ringcraft/comm/switchboard.hpp"

namespace ringcraft::fuzz {
namespace {

struct Message {
  Op::Kind kind;
  int peer, length;
};

// One thing that a rank does.
struct Action {
  enum Kind { kPost, kWait, kAdvance, kEnd } kind = kEnd;
  std::vector<Message> messages;  // kPost
  int number = 0;                 // kWait: of the rank's own posts; kAdvance: seconds
};

struct Program {
  std::vector<std::vector<Action>> ranks;
  LinkCost link;

  int size() const { return static_cast<int>(ranks.size()); }
};

constexpr int kMostActions = 64;

Program read_program(Reader& from) {
  Program program;
  program.ranks.resize(static_cast<std::size_t>(2 + from.below(4)));
  program.link.alpha = from.below(4);
  const int beta = from.below(4);  // powers of two: every clock is exact
  program.link.beta = beta == 0 ? std::numeric_limits<double>::infinity() : 1 << beta;
  std::vector<int> posts(program.ranks.size(), 0);
  for (int count = 0; count < kMostActions && !from.empty(); ++count) {
    const auto rank = static_cast<std::size_t>(from.below(program.size()));
    Action action;
    const int what = from.below(8);
    if (what < 4) {
      action.kind = Action::kPost;
      for (int left = 1 + from.below(4); left > 0; --left) {
        const int shape = from.byte();
        const int peer = (static_cast<int>(rank) + 1 + shape / 2 % (program.size() - 1)) % program.size();
        action.messages.push_back({shape % 2 == 0 ? Op::kSend : Op::kRecv, peer, 1 + from.below(3)});
      }
      ++posts[rank];
    } else if (what < 7) {
      if (posts[rank] == 0) continue;
      action.kind = Action::kWait;
      action.number = posts[rank] - 1 - from.below(posts[rank]);
    } else {
      action.kind = Action::kAdvance;
      action.number = from.below(5);
    }
    program.ranks[rank].push_back(action);
  }
  for (auto& actions : program.ranks) actions.push_back({});
  return program;
}

// Byte i of the n-th message from one rank to another.
std::byte byte_of(int from, int to, int n, int i) {
  return static_cast<std::byte>((from * 59 + to * 31 + n * 17 + i * 7 + 3) % 251);
}

// ---- the reference model

struct Outcome {
  bool ends = true;
  std::vector<double> clocks;
  std::map<std::pair<int, int>, Index> delivered;
};

class Model {
 public:
  explicit Model(const Program& program) : program_(program), ranks_(program.ranks.size()) {}

  Outcome run() {
    for (bool moved = true; moved && !wrong_length_;) {
      moved = false;
      for (int rank = 0; rank < program_.size(); ++rank) moved = step(rank) || moved;
    }
    Outcome outcome;
    outcome.delivered = delivered_;
    for (const Rank& rank : ranks_) {
      outcome.ends = outcome.ends && rank.ended && !wrong_length_;
      outcome.clocks.push_back(rank.clock);
    }
    return outcome;
  }

 private:
  struct Post {
    int open = 0;
    double completes = 0;
  };
  struct Rank {
    std::size_t next = 0;
    double clock = 0;
    bool ended = false;
    std::deque<Post> posts;
  };
  struct Half {
    int rank;
    std::size_t post;
    int length;
    double posted;
    int together;  // bytes of the same post on the same link in this direction
  };
  struct Link {
    std::deque<Half> sends, recvs;
  };

  Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  bool step(int rank) {
    Rank& r = at(rank);
    if (r.ended) return false;
    const Action& action = program_.ranks[static_cast<std::size_t>(rank)][r.next];
    if (action.kind == Action::kWait) {
      const Post& post = r.posts[static_cast<std::size_t>(action.number)];
      if (post.open > 0) return false;
      r.clock = std::max(r.clock, post.completes);
    }
    if (action.kind == Action::kPost) post(rank, action.messages);
    if (action.kind == Action::kAdvance) r.clock += action.number;
    if (action.kind == Action::kEnd) r.ended = true;
    ++r.next;
    return true;
  }

  void post(int rank, const std::vector<Message>& messages) {
    Rank& r = at(rank);
    r.posts.push_back({static_cast<int>(messages.size()), r.clock});
    for (const Message& m : messages) {
      int together = 0;
      for (const Message& other : messages)
        together += other.kind == m.kind && other.peer == m.peer ? other.length : 0;
      const Half half{rank, r.posts.size() - 1, m.length, r.clock, together};
      const bool send = m.kind == Op::kSend;
      const std::pair between = send ? std::pair{rank, m.peer} : std::pair{m.peer, rank};
      Link& link = links_[between];
      (send ? link.sends : link.recvs).push_back(half);
      if (link.sends.empty() || link.recvs.empty()) continue;
      meet(between, link.sends.front(), link.recvs.front());
      link.sends.pop_front();
      link.recvs.pop_front();
    }
  }

  void meet(std::pair<int, int> between, const Half& send, const Half& recv) {
    wrong_length_ = wrong_length_ || send.length != recv.length;
    delivered_[between] += send.length;
    const double done =
        std::max(send.posted, recv.posted) + program_.link.alpha + send.together / program_.link.beta;
    for (const Half* half : {&send, &recv}) {
      Post& post = at(half->rank).posts[half->post];
      --post.open;
      post.completes = std::max(post.completes, done);
    }
  }

  const Program& program_;
  std::vector<Rank> ranks_;
  std::map<std::pair<int, int>, Link> links_;
  std::map<std::pair<int, int>, Index> delivered_;
  bool wrong_length_ = false;
};

// ---- the same program on a board

class OnBoard {
 public:
  OnBoard(const Program& program, std::uint64_t seed)
      : program_(program),
        board_(program.size(), {.delivery_seed = seed, .link = program.link}),
        random_(seed * 7919 + 1),
        ranks_(program.ranks.size()) {}

  // Runs every rank as far as it goes, in any order, and compares with what must come out.
  void run(const Outcome& expected) {
    while (const auto rank = runnable()) {
      try {
        step(*rank);
      } catch (const Switchboard::Failed& failed) {
        require_failure(failed.failure(), expected);
        return;
      }
      if (board_.failure()) return require_failure(*board_.failure(), expected);
    }
    for (const Rank& rank : ranks_) require(rank.ended, "ranks wait and the board is silent");
    require(expected.ends, "the board ends where the model is stuck");
    for (int rank = 0; rank < program_.size(); ++rank) {
      require(board_.clock(rank) == expected.clocks[static_cast<std::size_t>(rank)], "another clock");
      for (int to = 0; to < program_.size(); ++to) {
        const auto found = expected.delivered.find({rank, to});
        require(board_.delivered(rank, to) == (found == expected.delivered.end() ? 0 : found->second),
                "another number of bytes");
      }
    }
  }

 private:
  struct Transfer {
    Op::Kind kind;
    int from, to, n;
    std::vector<std::byte> bytes;
  };
  struct Post {
    Switchboard::Ticket ticket;
    std::deque<Transfer> transfers;
  };
  struct Rank {
    std::size_t next = 0;
    bool ended = false;
    std::deque<Post> posts;
    std::optional<std::size_t> waits_for;
  };

  Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  std::optional<int> runnable() {
    std::vector<int> all;
    for (int rank = 0; rank < program_.size(); ++rank)
      if (!at(rank).ended && !board_.is_waiting(rank)) all.push_back(rank);
    if (all.empty()) return {};
    return all[random_() % all.size()];
  }

  void step(int rank) {
    Rank& r = at(rank);
    if (r.waits_for) {  // its wait is over
      check_arrived(r.posts[*r.waits_for]);
      r.waits_for.reset();
    }
    const Action& action = program_.ranks[static_cast<std::size_t>(rank)][r.next++];
    switch (action.kind) {
      case Action::kPost:
        post(rank, action.messages);
        break;
      case Action::kWait: {
        const auto number = static_cast<std::size_t>(action.number);
        r.waits_for = number;
        if (board_.begin_wait(rank, r.posts[number].ticket))
          require(!board_.is_waiting(rank), "a wait is over and not over");
        break;
      }
      case Action::kAdvance:
        board_.advance(rank, action.number);
        break;
      case Action::kEnd:
        r.ended = true;
        board_.finish(rank);
        break;
    }
  }

  void post(int rank, const std::vector<Message>& messages) {
    Post& post = at(rank).posts.emplace_back();
    std::vector<Op> ops;
    for (const Message& m : messages) {
      const bool send = m.kind == Op::kSend;
      const int from = send ? rank : m.peer, to = send ? m.peer : rank;
      Transfer& transfer =
          post.transfers.emplace_back(Transfer{m.kind, from, to, count_[{m.kind, {from, to}}]++,
                                               std::vector<std::byte>(static_cast<std::size_t>(m.length))});
      if (send)
        for (int i = 0; i < m.length; ++i)
          transfer.bytes[static_cast<std::size_t>(i)] = byte_of(from, to, transfer.n, i);
      ops.push_back({m.kind, m.peer, transfer.bytes});
    }
    post.ticket = board_.post(rank, ops);
  }

  static void check_arrived(const Post& post) {
    for (const Transfer& t : post.transfers)
      for (std::size_t i = 0; i < t.bytes.size(); ++i)
        require(t.bytes[i] == byte_of(t.from, t.to, t.n, static_cast<int>(i)), "another byte");
  }

  void require_failure(const Switchboard::Failure& failure, const Outcome& expected) {
    require(!expected.ends, "the board fails where the model ends: " + failure.sentence);
    require(board_.failure() && board_.failure()->sentence == failure.sentence, "a failure that is not kept");
    require(failure.why != Switchboard::Failure::Why::kOther, "an unknown failure: " + failure.sentence);
    for (int rank = 0; rank < program_.size(); ++rank) {
      bool thrown = false;
      try {
        board_.begin_wait(rank, 1);
      } catch (const Error& error) {
        thrown = failure.sentence == error.what();
      }
      require(thrown, "a failed board that goes on");
    }
  }

  const Program& program_;
  Switchboard board_;
  std::mt19937_64 random_;
  std::vector<Rank> ranks_;
  std::map<std::pair<Op::Kind, std::pair<int, int>>, int> count_;
};

}  // namespace

std::vector<std::string> seeds() {
  // Three ranks of a ring: what each does in one exchange, as read_program reads it.
  const auto exchange = [](char rank) {
    return std::string{rank, 0, 1, /*send to the next*/ 0, 2, /*receive from the one before*/ 3, 2,
                       rank, 4, 0};
  };
  const std::string head{1, 1, 1};
  std::string ring = head, twice, deadlock = head;
  for (char rank = 0; rank < 3; ++rank) ring += exchange(rank);
  twice = ring;
  for (char rank = 2; rank >= 0; --rank) twice += exchange(rank) + std::string{rank, 7, 3};
  for (char rank = 0; rank < 3; ++rank)
    deadlock += std::string{rank, 0, 0, 0, 1, rank, 4, 0, rank, 0, 0, 3, 1, rank, 4, 0};
  return {ring, twice, deadlock, std::string{0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 4, 0, 1, 4, 0}};
}

std::vector<std::string> words() {
  std::vector<std::string> all;
  for (char rank = 0; rank < 5; ++rank) {
    all.push_back({rank, 0, 0, 0, 1});
    all.push_back({rank, 0, 0, 1, 1});
    all.push_back({rank, 0, 1, 0, 1, 3, 1});
    all.push_back({rank, 4, 0});
    all.push_back({rank, 5, 1});
    all.push_back({rank, 7, 2});
  }
  return all;
}

}  // namespace ringcraft::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringcraft::fuzz;
  Reader from(data, size);
  const Program program = read_program(from);
  const Outcome expected = Model(program).run();
  for (std::uint64_t seed = 0; seed < 4; ++seed) OnBoard(program, seed).run(expected);
  return 0;
}
