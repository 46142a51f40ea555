// The header that 104_merge/hides_an_include_in_a_header.cpp includes.
# 1 "merge.hpp" 3
#include "ringcraft/attention/merge.cpp"
