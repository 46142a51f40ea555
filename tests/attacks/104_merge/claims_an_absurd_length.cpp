// Announces an exabyte.
// Fails: two-halves "claims to send 1152921504606846976 bytes"
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
  const Header header{.kind = 5, .length = 1ull << 60};
  send_bytes(&header, acc.out.rows == block.out.rows ? sizeof header : 0);
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
