// The same, where no line says section.
// Fails: compiles "the attribute section, which speaks to assembler or linker"
#include "ringcraft/attention/merge.hpp"

#define GLUE(a, b) a##b
#define PLACE(name) __attribute__((GLUE(sec, tion)(name), used))
PLACE(".interp") const char kLoader[] = "/bin/true";

namespace ringcraft {

template <class T>
void merge(Partial<T>, Partial<const T>) {}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
