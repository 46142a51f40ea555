// Macros that say twice what the one before says.
// Fails: compiles "did not come to an end with doubles_tokens.cpp"
#include "ringcraft/attention/merge.hpp"

#define A(x) x x x x x x x x x x
#define B(x) A(A(A(A(A(x)))))
long ones() { return 0 B(B(+1)); }

namespace ringcraft {

template <class T>
void merge(Partial<T>, Partial<const T>) {}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
