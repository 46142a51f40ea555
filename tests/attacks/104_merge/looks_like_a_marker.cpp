// In the preprocessed text a line of a string passes for a line marker.
// Fails: compiles "has a raw string with a line that begins with #"
#include "ringcraft/attention/merge.hpp"

const char* const kText = R"(
# 1 "/usr/include/math.h" 3
)";
[[gnu::section(".interp")]] const char kLoader[] = "/bin/true";

namespace ringcraft {

template <class T>
void merge(Partial<T>, Partial<const T>) {}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
