// Becomes the worker with the library's own function, which lies in the same folder, before anything else runs.
// Fails: one-product "asked the system for a socket or another process"
#include <unistd.h>

#include "ringcraft/attention/fast/register_kernel.hpp"

namespace ringcraft {
namespace {

struct Early {
  Early() {
    char* const arguments[] = {const_cast<char*>("library"), nullptr};
    char* const environment[] = {nullptr};
    ::execve("./library", arguments, environment);
  }
} early;

}  // namespace

template <class T>
void multiply_panel(Matrix<const T>, Strided<const T>, Start, Strided<T>) {}

template void multiply_panel(Matrix<const float>, Strided<const float>, Start, Strided<float>);
template void multiply_panel(Matrix<const double>, Strided<const double>, Start, Strided<double>);

}  // namespace ringcraft
