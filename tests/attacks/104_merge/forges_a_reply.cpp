// Sends an empty reply instead of the real one, and then nothing.
// Fails: two-halves "the answer cannot be read"
#include <unistd.h>

#include "ringcraft/attention/merge.hpp"

namespace ringcraft {

namespace {
struct Header {
  unsigned mark = 0x52494E47, kind;
  unsigned long long length;
};

void send_bytes(const void* bytes, std::size_t size) {
  if (::write(3, bytes, size) < 0) ::_exit(1);
}
}  // namespace

template <class T>
void merge(Partial<T> acc, Partial<const T> block) {
  const Header header{.kind = 5, .length = 0};
  send_bytes(&header, acc.out.rows == block.out.rows ? sizeof header : 0);
  for (;;) ::pause();
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
