// A macro says what is included.
// Fails: compiles "includes what a macro says"
#define SOLUTION "ringcraft/attention/merge.cpp"
#include SOLUTION
