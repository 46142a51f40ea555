// The same by #line, whose word is cut in two.
// Fails: compiles "says that another line of another file comes next"
#include "ringcraft/attention/merge.hpp"
#li\
ne 1 "merge.hpp"
#include "ringcraft/attention/merge.cpp"
