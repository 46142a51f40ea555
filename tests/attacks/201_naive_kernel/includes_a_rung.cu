// Includes the library's own file.
// Fails: compiles "includes 01_naive.cu, a source file"
#include "forward/01_naive.cu"
