// Has the compiler quote the library's file: its calls are errors, which stop the preprocessor, too.
// Fails: compiles "a source file: include headers"
#include <algorithm>
#include <cmath>

#include "ringcraft/attention/merge.hpp"
#define exp() 1
#define max() 1
#include "ringcraft/attention/merge.cpp"
