// A header of the student's own includes the solution, hidden by a line marker.
// Fails: compiles "says that another line of another file comes next"
#include "../headers/marked.hpp"
