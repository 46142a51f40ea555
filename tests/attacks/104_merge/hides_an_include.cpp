// A line marker says that a system header includes the solution.
// Fails: compiles "says that another line of another file comes next"
#include "ringcraft/attention/merge.hpp"
# 1 "merge.hpp" 3
#include "ringcraft/attention/merge.cpp"
