// The same in another spelling, on two lines.
// Fails: compiles "says that another line of another file comes next"
#include "ringcraft/attention/merge.hpp"
/* */ %:\
 1 "merge.hpp" 3
#include "ringcraft/attention/merge.cpp"
