// Ranks meet over TCP, as processes on the loopback interface: all come, one is missing, two have one number,
// one stops, and others call that are none.
#include "tool/jobs/rendezvous.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <map>
#include <optional>
#include <thread>

#include "ringcraft/core/error.hpp"
#include "support/catch.hpp"
#include "tool/jobs/agreement.hpp"
#include "tool/jobs/told_place.hpp"
#include "tool/tool_process.hpp"

using namespace ringcraft;
using namespace ringcraft::tool;
using namespace std::chrono_literals;
using ringcraft::tests::contents;
using ringcraft::tests::Folder;

namespace {

constexpr auto kPatience = 1500ms;

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

// A port that nobody listens at.
int free_port() {
  const int probe = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  ::bind(probe, reinterpret_cast<sockaddr*>(&address), length);
  ::getsockname(probe, reinterpret_cast<sockaddr*>(&address), &length);
  ::close(probe);
  return ntohs(address.sin_port);
}

// Ranks as processes; each leaves a sentence in a file.
class Processes {
 public:
  ~Processes() {
    for (const auto& [number, process] : processes_) ::kill(process, SIGKILL), ::waitpid(process, nullptr, 0);
  }
  void start(const std::function<std::string()>& body) {
    const int number = static_cast<int>(processes_.size());
    const pid_t process = ::fork();
    if (process == 0) {
      std::string sentence;
      try {
        sentence = body();
      } catch (const Error& error) {
        sentence = error.what();
      }
      tests::write(folder_.file(std::to_string(number)), sentence);
      ::_exit(0);
    }
    processes_[number] = process;
  }
  void signal(int number, int signal) { ::kill(processes_.at(number), signal); }
  // The sentence of a process that ends.
  std::string end(int number) {
    ::waitpid(processes_.at(number), nullptr, 0);
    processes_.erase(number);
    return contents(folder_.file(std::to_string(number)));
  }

 private:
  Folder folder_;
  std::map<int, pid_t> processes_;
};

// Meets the others: two words of each.
std::string meet(const ToldPlace& place) {
  Rendezvous meeting(place, kPatience);
  std::string heard;
  for (const std::string& round : {std::string("a"), std::string("b")})
    for (const std::string& word : meeting.gathered(round + std::to_string(place.rank % 10))) heard += word;
  return heard;
}

std::string words_of(int ranks) {
  std::string words;
  for (const std::string round : {"a", "b"})
    for (int rank = 0; rank < ranks; ++rank) words += round + std::to_string(rank % 10);
  return words;
}

// A connection of somebody else, who says this.
int call_and_say(int port, std::string_view text) {
  const int caller = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(port);
  while (::connect(caller, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    std::this_thread::sleep_for(5ms);
  if (::send(caller, text.data(), text.size(), MSG_NOSIGNAL) < 0) return caller;
  return caller;
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("ranks meet over TCP in any order, and hear all words in the order of ranks") {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    Processes processes;
    const int port = free_port();
    for (int i = 0; i < ranks; ++i)  // rank 0 starts last
      processes.start([=] { return meet({ranks - 1 - i, ranks, "localhost", port}); });
    for (int i = 0; i < ranks; ++i) CHECK(processes.end(i) == words_of(ranks));
  }
}

TEST_CASE("callers that are no rank, silent or not, keep no rank from its meeting") {
  Processes processes;
  const int port = free_port();
  processes.start([=] { return meet({0, 3, "127.0.0.1", port}); });
  std::vector<int> strangers{call_and_say(port, ""), call_and_say(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
                             call_and_say(port, "ringmee"), call_and_say(port, std::string(100000, '\xff'))};
  for (const int rank : {1, 2}) processes.start([=] { return meet({rank, 3, "127.0.0.1", port}); });
  for (int i = 0; i < 3; ++i) CHECK(processes.end(i) == words_of(3));
  for (const int stranger : strangers) ::close(stranger);
}

TEST_CASE("ranks that do not come are named to all that have, and so are strangers") {
  Processes processes;
  const int port = free_port();
  for (const int rank : {0, 1, 3}) processes.start([=] { return meet({rank, 5, "localhost", port}); });
  const int stranger = call_and_say(port, "200 OK, and more than enough bytes");
  for (int i = 0; i < 3; ++i)
    CHECK(processes.end(i) == "ranks 2, 4 of 5 have not come to localhost:" + std::to_string(port) +
                                  " after 1 s; 1 other program called there: not started, ended, or cut off");
  ::close(stranger);
}

TEST_CASE("two ranks with one number, and ranks that differ in their number, are named to all") {
  struct Wrong {
    int rank, world_size;
    const char* part;
  };
  for (const Wrong& wrong : {Wrong{1, 3, "has the number of another one, on 127.0.0.1"},
                             Wrong{2, 4, "differs from rank 0 in the number of ranks (rank 0: 3)"},
                             Wrong{3, 4, "differs from rank 0 in the number of ranks (rank 0: 3)"}}) {
    Processes processes;
    const int port = free_port();
    processes.start([=] { return meet({0, 3, "127.0.0.1", port}); });
    processes.start([=] { return meet({1, 3, "127.0.0.1", port}); });
    std::this_thread::sleep_for(300ms);  // so that it is known who is first
    processes.start([=] { return meet({wrong.rank, wrong.world_size, "127.0.0.1", port}); });
    for (int i = 0; i < 3; ++i) {
      const std::string sentence = processes.end(i);
      CAPTURE(sentence, i, wrong.part);
      CHECK(holds(sentence, "the process on 127.0.0.1 with RANK=" + std::to_string(wrong.rank)));
      CHECK(holds(sentence, wrong.part));
    }
  }
}

TEST_CASE("a taken port, a host that is none, and a rank 0 that is not there have their sentences") {
  const int port = free_port();
  Processes processes;
  processes.start([=] { return meet({0, 2, "localhost", port}); });
  processes.start([=] { return std::this_thread::sleep_for(300ms), meet({0, 2, "localhost", port}); });
  CHECK(holds(processes.end(1), "rank 0 cannot listen at port " + std::to_string(port) +
                                    " (Address already in use): another program does, or a second process"));
  CHECK(holds(processes.end(0), "rank 1 of 2 has not come to localhost"));
  const auto thrown = [](const ToldPlace& place) {
    try {
      return meet(place);
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  CHECK(holds(thrown({1, 2, "no such host.invalid", port}), "MASTER_ADDR: expected the name or address of"));
  CHECK(holds(
      thrown({1, 2, "127.0.0.1", port}),
      "rank 0 does not listen at 127.0.0.1:" + std::to_string(port) + " after 1 s (Connection refused)"));
}

TEST_CASE("another program at the port of rank 0 is no rank 0, whether it answers or not") {
  const int server = ::socket(AF_INET, SOCK_STREAM, 0);
  const int port = free_port();
  const sockaddr_in address = loopback(port);
  REQUIRE(::bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(server, 4) == 0);
  Processes processes;
  for (const int rank : {1, 2}) processes.start([=] { return meet({rank, 3, "127.0.0.1", port}); });
  const int silent = ::accept(server, nullptr, nullptr), answers = ::accept(server, nullptr, nullptr);
  const std::string nonsense(64, 'x');
  REQUIRE(::send(answers, nonsense.data(), nonsense.size(), 0) > 0);
  std::string both = processes.end(0);
  both += processes.end(1);
  CAPTURE(both);
  CHECK(holds(both, "rank 0 does not answer at 127.0.0.1:" + std::to_string(port) + " after 1 s"));
  CHECK(holds(both, "or another program listens at 127.0.0.1:" + std::to_string(port)));
  for (const int file : {server, silent, answers}) ::close(file);
}

TEST_CASE("a rank that leaves, or stops, between two words is named to all others") {
  for (const bool stops : {false, true}) {
    Processes processes;
    const int port = free_port();
    for (int rank = 0; rank < 3; ++rank)
      processes.start([=] {
        Rendezvous meeting({rank, 3, "localhost", port}, kPatience);
        meeting.gathered("once");
        if (rank == 2 && stops) ::raise(SIGSTOP);
        if (rank == 2) return std::string("left");
        return meeting.gathered("again").at(0);
      });
    for (const int i : {0, 1})
      CHECK(holds(processes.end(i),
                  stops ? "rank 2 does not answer after 1 s: stopped, cut off, or still reading"
                        : "rank 2 left the job before it began; its own message says why"));
  }
}

TEST_CASE("long words of ranks arrive whole") {
  Processes processes;
  const int port = free_port();
  const auto word_of = [](int rank) {
    std::string word(std::size_t{5'000'001}, static_cast<char>('a' + rank));
    for (std::size_t at = 0; at < word.size(); at += 997) word[at] = static_cast<char>('A' + at % 23);
    return word;
  };
  for (int rank = 0; rank < 3; ++rank)
    processes.start([=] {
      Rendezvous meeting({rank, 3, "::1", port}, 20s);
      const std::vector<std::string> words = meeting.gathered(word_of(rank));
      for (int other = 0; other < 3; ++other)
        if (words.at(static_cast<std::size_t>(other)) != word_of(other)) return std::string("another word");
      return std::string("whole");
    });
  for (int i = 0; i < 3; ++i) CHECK(processes.end(i) == "whole");
}

TEST_CASE("a rank 0 that sends too little is another program, and an address of IPv6 stands in brackets") {
  const int server = ::socket(AF_INET6, SOCK_STREAM, 0);
  const int port = free_port();
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  address.sin6_port = htons(static_cast<std::uint16_t>(port));
  REQUIRE(::bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(server, 4) == 0);
  Processes processes;
  processes.start([=] {
    ::close(server);
    Rendezvous meeting({1, 2, "::1", port}, kPatience);
    return meeting.gathered("word").at(1);
  });
  const int caller = ::accept(server, nullptr, nullptr);
  const std::uint32_t heads[] = {0x776f7264, 0, 0x776f7264, 3};  // no byte, as it should be, then 3 for 8
  REQUIRE(::send(caller, heads, sizeof heads, 0) > 0);
  REQUIRE(::send(caller, "abc", 3, 0) == 3);
  const std::string sentence = processes.end(0);
  CAPTURE(sentence);
  CHECK(holds(sentence, "or another program listens at [::1]:" + std::to_string(port)));
  for (const int file : {server, caller}) ::close(file);
}

TEST_CASE("flags and inputs of ranks are compared over TCP as over MPI") {
  Processes processes;
  const int port = free_port();
  for (int rank = 0; rank < 3; ++rank)
    processes.start([=] {
      Rendezvous meeting({rank, 3, "localhost", port}, kPatience);
      require_agreement(meeting, {{"--ranks", "3"}, {"--layout", rank == 2 ? "striped" : "zigzag"}});
      return std::string("agreed");
    });
  for (int i = 0; i < 3; ++i) CHECK(holds(processes.end(i), "rank 2 differs from rank 0 in --layout"));
}

TEST_CASE("a rank's place is read from the variables of torchrun, and nonsense in them is refused") {
  using Variables = std::map<std::string, std::string>;
  const auto place_of = [](const Variables& variables) {
    return told_place([&](const char* name) {
      const auto found = variables.find(name);
      return found == variables.end() ? nullptr : found->second.c_str();
    });
  };
  const Variables good{
      {"RANK", "3"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "node1"}, {"MASTER_PORT", "29500"}};
  const auto place = place_of(good);
  REQUIRE(place);
  CHECK((place->rank == 3 && place->world_size == 8 && place->host == "node1" && place->port == 29501));
  const auto with = [&](const char* name, const char* value) {
    Variables changed = good;
    changed[name] = value;
    return changed;
  };
  CHECK(place_of(with("RINGCRAFT_PORT", "4000"))->port == 4000);
  for (const char* name : {"RANK", "WORLD_SIZE"}) {
    Variables without = good;
    without.erase(name);
    CHECK_FALSE(place_of(without));
  }
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT"}) {
    Variables without = good;
    without.erase(name);
    CHECK_THROWS_WITH(place_of(without), Catch::Contains(std::string(name) + ": expected"));
  }
  for (const auto& [name, value] : {std::pair{"RANK", "8"},
                                    {"RANK", "-1"},
                                    {"RANK", "1x"},
                                    {"WORLD_SIZE", "0"},
                                    {"WORLD_SIZE", "5000"},
                                    {"MASTER_PORT", "65535"},
                                    {"MASTER_PORT", ""},
                                    {"RINGCRAFT_PORT", "0"}})
    CHECK_THROWS_WITH(place_of(with(name, value)), Catch::Contains(std::string(name) + ": expected"));
}
