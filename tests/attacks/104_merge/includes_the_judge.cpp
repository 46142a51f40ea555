// Includes a header of the judge.
// Fails: compiles "judge/config.hpp, which is no header of the course"
#include "judge/config.hpp"
