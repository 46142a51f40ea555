// Includes the file of the library instead of writing the body.
// Fails: compiles "a source file: include headers"
#include "ringcraft/attention/merge.cpp"
