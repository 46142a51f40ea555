// Looks for the solution on the disk.
// Fails: two-halves "asked the system for a file"
#include <cstdio>

#include "ringcraft/attention/merge.hpp"

namespace ringcraft {

template <class T>
void merge(Partial<T>, Partial<const T>) {
  std::fopen("/proc/self/maps", "r");
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
