// Includes a header of the judge.
// Fails: compiles "judge/tree/config.hpp, which is no header of the course"
#include "judge/tree/config.hpp"
