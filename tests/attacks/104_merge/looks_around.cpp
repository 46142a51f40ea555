// Looks for the solution, the judge's memory, the network, another program and something to destroy.
// Fails: two-halves "nothing is in reach"
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string>

#include "ringcraft/attention/merge.hpp"

namespace ringcraft {
namespace {

std::string in_reach() {
  const std::string judge = "/proc/" + std::to_string(::getppid());
  for (const std::string& path : {std::string("/etc/passwd"), std::string("/proc/self/maps"), judge + "/mem"})
    if (::open(path.c_str(), O_RDONLY) >= 0) return path;
  if (std::FILE* const log = std::fopen("log.txt", "w")) return std::fclose(log), "a file of its own";
  if (::socket(AF_INET, SOCK_STREAM, 0) >= 0) return "a socket";
  if (::kill(::getppid(), 0) == 0) return "signals to the judge";
  char byte = 0;
  iovec here{&byte, 1}, there{&byte, 1};
  if (::process_vm_readv(::getppid(), &here, 1, &there, 1, 0) >= 0) return "the judge's memory";
  if (::unlink("worker") == 0) return "a file to remove";
  char* const arguments[] = {const_cast<char*>("true"), nullptr};
  ::execv("/bin/true", arguments);  // comes back only if it is refused
  return "nothing";
}

}  // namespace

template <class T>
void merge(Partial<T>, Partial<const T>) {
  throw std::runtime_error(in_reach() + " is in reach");
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
