// Closes file descriptors when their owners end.
#include "process/descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "ringcraft/core/error.hpp"

namespace ringcraft::process {

Descriptor::Descriptor(int fd) : fd_(::fcntl(fd, F_DUPFD_CLOEXEC, 10)) {
  ::close(fd);
  if (fd_ < 0) not_given("file descriptor");
}
Descriptor::Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
Descriptor::~Descriptor() { close(); }

void Descriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void Descriptor::set_nonblocking() const { ::fcntl(fd_, F_SETFL, ::fcntl(fd_, F_GETFL) | O_NONBLOCK); }

void not_given(const std::string& what) {
  throw Error(
      "the system gives no " + what + " (" + std::strerror(errno) + "); close other programs and try again",
      Code::kMissing);
}

}  // namespace ringcraft::process
