// Calls of the sockets interface, none of which waits for longer than it may.
#include "tool/jobs/sockets.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::tool {
namespace {

using SocketClock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kRetry{50};  // between two calls to a host that does not listen

bool over(TimePoint deadline) { return SocketClock::now() >= deadline; }

// Whether the socket is ready before the deadline.
bool ready(const Descriptor& socket, short event, TimePoint deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SocketClock::now()).count();
    pollfd state{socket.get(), event, 0};
    const int found = ::poll(&state, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000)));
    if (found > 0) return true;
    if (over(deadline)) return false;
  }
}

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// The addresses of a host. None while no name server answers.
Addresses addresses_of(const std::string& host, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed != 0 && failed != EAI_AGAIN)
    throw Error("MASTER_ADDR", "the name or address of rank 0's host",
                "'" + shown(host) + "' (" + ::gai_strerror(failed) + ")",
                "set it to the same for every rank");
  return {failed == 0 ? found : nullptr, &::freeaddrinfo};
}

// A socket that listens on a port of its own range can be connected to itself.
bool to_itself(const Descriptor& connection) {
  sockaddr_storage ours{}, theirs{};
  socklen_t length = sizeof ours, their_length = sizeof theirs;
  return ::getsockname(connection.get(), reinterpret_cast<sockaddr*>(&ours), &length) == 0 &&
         ::getpeername(connection.get(), reinterpret_cast<sockaddr*>(&theirs), &their_length) == 0 &&
         length == their_length && std::memcmp(&ours, &theirs, length) == 0;
}

// One try. Not open if nobody listens there; `why` says so.
Descriptor connected_to(const addrinfo& address, TimePoint deadline, std::string& why) {
  Descriptor connection(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK, 0));
  int error = 0;
  socklen_t length = sizeof error;
  if (::connect(connection.get(), address.ai_addr, address.ai_addrlen) != 0) error = errno;
  if (error == EINPROGRESS) {
    error = ETIMEDOUT;
    if (ready(connection, POLLOUT, deadline))
      ::getsockopt(connection.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  }
  if (error == 0 && to_itself(connection)) error = ECONNREFUSED;
  if (error == 0) return connection;
  why = std::strerror(error);
  return {};
}

void send_at_once(const Descriptor& connection) {
  const int yes = 1;
  ::setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

// Moves all bytes by calls of `move`, which takes the place and the number of those that are left.
template <class Move>
Transfer transferred(const Descriptor& connection, std::size_t bytes, short event, TimePoint deadline,
                     const Move& move) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t moved = move(done, bytes - done);
    if (moved > 0)
      done += static_cast<std::size_t>(moved);
    else if (moved == 0 || (errno != EAGAIN && errno != EINTR))
      return Transfer::kClosed;
    else if (!ready(connection, event, deadline))
      return Transfer::kLate;
  }
  return Transfer::kDone;
}

}  // namespace

TimePoint deadline_after(std::chrono::milliseconds patience) {
  return patience.count() == 0 ? TimePoint::max() : SocketClock::now() + patience;
}

Descriptor listening_at(int port) {
  const int yes = 1, no = 0, seconds = 10;
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(static_cast<std::uint16_t>(port));
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = v6.sin6_port;
  const int both = ::socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0);  // a host without IPv6 has v4 alone
  Descriptor listener(both >= 0 ? both : ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (both >= 0) ::setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  // A caller that says nothing is not handed over for so long.
  ::setsockopt(listener.get(), IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof seconds);
  const int bound = both >= 0 ? ::bind(listener.get(), reinterpret_cast<sockaddr*>(&v6), sizeof v6)
                              : ::bind(listener.get(), reinterpret_cast<sockaddr*>(&v4), sizeof v4);
  if (bound != 0 || ::listen(listener.get(), SOMAXCONN) != 0)
    throw Error("rank 0 cannot listen at port " + std::to_string(port) + " (" + std::strerror(errno) +
                    "): another program does, or a second process with RANK=0; set RINGCRAFT_PORT to a "
                    "free port, the same for every rank",
                Code::kMissing);
  return listener;
}

Descriptor accepted(const Descriptor& listener, TimePoint deadline) {
  if (!ready(listener, POLLIN, deadline)) return {};
  const int connection = ::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK);
  if (connection < 0) return {};
  Descriptor result(connection);
  send_at_once(result);
  return result;
}

Descriptor connected(const std::string& host, int port, TimePoint deadline) {
  const TimePoint begin = SocketClock::now();
  std::string why = "no name server answers";
  do {
    const Addresses addresses = addresses_of(host, port);
    for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
      Descriptor connection = connected_to(*address, deadline, why);
      if (!connection.open()) continue;
      send_at_once(connection);
      return connection;
    }
    std::this_thread::sleep_for(kRetry);
  } while (!over(deadline));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(SocketClock::now() - begin).count();
  throw Error("rank 0 does not listen at " + host + ":" + std::to_string(port) + " after " +
                  std::to_string(seconds) + " s (" + why +
                  "): has it started, is MASTER_ADDR its host, and does a firewall let the port through?",
              Code::kWrongAnswer);
}

std::string peer_of(const Descriptor& connection) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  char host[NI_MAXHOST] = "an unknown host";
  if (::getpeername(connection.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0)
    ::getnameinfo(reinterpret_cast<sockaddr*>(&address), length, host, sizeof host, nullptr, 0,
                  NI_NUMERICHOST);
  const std::string name = host;
  return name.starts_with("::ffff:") ? name.substr(7) : name;  // IPv4 as a socket of IPv6 shows it
}

Transfer send_bytes(const Descriptor& connection, std::span<const char> bytes, TimePoint deadline) {
  return transferred(connection, bytes.size(), POLLOUT, deadline, [&](std::size_t at, std::size_t left) {
    return ::send(connection.get(), bytes.data() + at, left, MSG_NOSIGNAL);
  });
}

Transfer receive_bytes(const Descriptor& connection, std::span<char> bytes, TimePoint deadline) {
  return transferred(connection, bytes.size(), POLLIN, deadline, [&](std::size_t at, std::size_t left) {
    return ::recv(connection.get(), bytes.data() + at, left, 0);
  });
}

}  // namespace ringcraft::tool
