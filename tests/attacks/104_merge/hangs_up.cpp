// Closes the connection and stays alive.
// Fails: two-halves "closed its connection to the judge"
#include <unistd.h>

#include "ringcraft/attention/merge.hpp"

namespace ringcraft {

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  if (acc.out.rows == block.out.rows) ::close(3);
  ::sleep(1000);
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
