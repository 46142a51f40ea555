#pragma once
// TCP connections with time limits, as far as a rendezvous needs them.

#include <chrono>
#include <span>
#include <string>

#include "process/descriptor.hpp"

namespace ringcraft::tool {

using process::Descriptor;
using TimePoint = std::chrono::steady_clock::time_point;

// Time from now on; 0: forever.
TimePoint deadline_after(std::chrono::milliseconds patience);

// Listens on all addresses of this host. Throws Error (Code::kMissing) if the port is taken.
Descriptor listening_at(int port);

// The next connection, if one comes by then.
Descriptor accepted(const Descriptor& listener, TimePoint deadline);

// A connection to a host that may not listen yet. Throws Error if there is no such host, or nobody listens.
Descriptor connected(const std::string& host, int port, TimePoint deadline);

// The address of the other side.
std::string peer_of(const Descriptor& connection);

// How a transfer ended.
enum class Transfer : char {
  kDone,
  kLate,    // the deadline is over
  kClosed,  // the other side has closed the connection
};

Transfer send_bytes(const Descriptor& connection, std::span<const char> bytes, TimePoint deadline);
Transfer receive_bytes(const Descriptor& connection, std::span<char> bytes, TimePoint deadline);

}  // namespace ringcraft::tool
