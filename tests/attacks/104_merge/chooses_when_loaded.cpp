// Code of the file runs while the worker is loaded.
// Fails: compiles "the attribute ifunc, which speaks to assembler or linker"
#include "ringcraft/attention/merge.hpp"

extern "C" {
static void nothing() {}
static void* choose() { return reinterpret_cast<void*>(nothing); }
}
[[gnu::ifunc("choose")]] static void chosen();
void call() { chosen(); }

namespace ringcraft {

template <class T>
void merge(Partial<T>, Partial<const T>) {}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
