// A hostile peer's frames are parsed without trust in their contents.
#include "judge/wire/connection.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include "process/child.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace ringcraft::judge {
namespace {

using process::Clock;
using process::Descriptor;

// A socket whose other end the test writes to.
struct Pair {
  Pair() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    judge = Descriptor(ends[0]);
    judge.set_nonblocking();
    peer = Descriptor(ends[1]);
  }
  void say(const void* bytes, std::size_t size) const {
    REQUIRE(::write(peer.get(), bytes, size) == static_cast<ssize_t>(size));
  }
  Descriptor judge, peer;
};

}  // namespace

TEST_CASE("frames arrive whole, in pieces of any size") {
  const Pair pair;
  Connection sender(pair.peer.get()), receiver(pair.judge.get());
  Bytes text(100'000);
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<std::byte>(i * 7);
  sender.send(FrameKind::kReply, text);
  sender.send(FrameKind::kWait, Bytes(3));
  std::optional<Frame> frame;
  while (!(frame = receiver.next())) {
    sender.write_some();
    REQUIRE(receiver.read_some());
  }
  CHECK(frame->kind == FrameKind::kReply);
  CHECK(frame->bytes == text);
  sender.write_some();
  receiver.read_some();
  frame = receiver.next();
  REQUIRE(frame);
  CHECK(frame->bytes.size() == 3);
  CHECK_FALSE(receiver.has_half_a_frame());
}

TEST_CASE("a claimed length takes no memory and is refused if absurd") {
  const Pair pair;
  Connection receiver(pair.judge.get());
  const FrameHeader half{kFrameMark, FrameKind::kReply, kLargestFrame};
  pair.say(&half, sizeof half);
  CHECK(receiver.read_some());
  CHECK_FALSE(receiver.next());
  CHECK(receiver.has_half_a_frame());

  const Pair other;
  Connection second(other.judge.get());
  const FrameHeader absurd{kFrameMark, FrameKind::kReply, kLargestFrame + 1};
  other.say(&absurd, sizeof absurd);
  second.read_some();
  CHECK_THROWS_AS(second.next(), Violation);
}

TEST_CASE("stray bytes are recognised") {
  const Pair pair;
  Connection receiver(pair.judge.get());
  pair.say("all tests have passed", 21);
  receiver.read_some();
  CHECK_THROWS_AS(receiver.next(), Violation);
}

TEST_CASE("a peer that does not read does not block the judge") {
  const Pair pair;
  Connection sender(pair.judge.get());
  const auto begun = Clock::now();
  sender.send(FrameKind::kCall, Bytes(std::size_t{16} << 20));
  CHECK(sender.has_output());
  CHECK(Clock::now() - begun < std::chrono::seconds(10));
}

TEST_CASE("a peer that hangs up is noticed") {
  Pair pair;
  Connection receiver(pair.judge.get());
  pair.peer.close();
  CHECK_FALSE(receiver.read_some());
  receiver.send(FrameKind::kCall, Bytes(10));  // and no SIGPIPE
  CHECK_FALSE(receiver.has_output());
}

}  // namespace ringcraft::judge
