// Replaces the operator by which the worker gets its memory.
// Fails: belongs "of the standard library for the whole program"
#include <cstdlib>
#include <new>

#include "ringcraft/attention/merge.hpp"

void* operator new(std::size_t bytes) { return std::malloc(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace ringcraft {

template <class T>
void merge(Partial<T>, Partial<const T>) {}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
