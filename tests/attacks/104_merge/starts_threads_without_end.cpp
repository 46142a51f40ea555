// Starts threads with tiny stacks until the system has no more.
// Fails: two-halves "started more threads than any exercise needs"
#include <pthread.h>
#include <unistd.h>

#include "ringcraft/attention/merge.hpp"

namespace ringcraft {

template <class T>
void merge(Partial<T>, Partial<const T>) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 16384);
  for (;;) {
    pthread_t thread;
    const auto wait = [](void*) -> void* {
      for (;;) ::sleep(1000);
    };
    if (pthread_create(&thread, &small, wait, nullptr) != 0) ::sleep(1);
  }
}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
