// Reaches for the judge and for files to destroy: in a constructor, in a thread, and when called.
// Fails: two-halves "nothing is in reach"
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include "ringcraft/attention/merge.hpp"

namespace ringcraft {
namespace {

std::string in_reach() {
  const pid_t judge = ::getppid();
  char byte = 0;
  iovec here{&byte, 1}, there{&byte, 1};
  if (::process_vm_readv(judge, &here, 1, &there, 1, 0) >= 0) return "the judge's memory";
  if (::kill(judge, 0) == 0) return "signals to the judge";
  rlimit limits{};
  if (::prlimit(judge, RLIMIT_CPU, nullptr, &limits) == 0) return "the judge's limits";
  if (::fcntl(3, F_SETOWN, judge) == 0) return "signals by way of a socket";
  if (::prctl(PR_SET_PDEATHSIG, 0) == 0 || ::setpgid(0, judge) == 0) return "a life after the judge's";
  for (const char* path : {"/etc/passwd", "/proc/self/maps", "log.txt"})
    if (::open(path, O_RDWR | O_CREAT, 0600) >= 0 || ::open(path, O_RDONLY) >= 0) return path;
  if (::unlink("worker") == 0 || ::mkdir("mine", 0700) == 0) return "a folder";
  return "nothing";
}

// Files and descriptors in reach before main.
[[gnu::constructor]] void look_early() {
  setenv("at_once", in_reach().c_str(), 1);
  std::thread([] { setenv("in_thread", in_reach().c_str(), 1); }).join();
}

}  // namespace

template <class T>
void merge(Partial<T>, Partial<const T>) {
  for (const std::string& found :
       {std::string(std::getenv("at_once")), std::string(std::getenv("in_thread")), in_reach()})
    if (found != "nothing") throw std::runtime_error(found + " is in reach");
  throw std::runtime_error("nothing is in reach");
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
