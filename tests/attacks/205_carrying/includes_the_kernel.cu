// Includes the library's own file.
// Fails: compiles "includes 01_merge.cu, a source file"
#include "merge/01_merge.cu"
