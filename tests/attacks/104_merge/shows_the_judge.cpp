// Has the compiler quote a header that is not the course's.
// Fails: compiles "reaches for judge/run/round.hpp, which is no header of the course"
#define once() 1
#include "judge/run/round.hpp"
