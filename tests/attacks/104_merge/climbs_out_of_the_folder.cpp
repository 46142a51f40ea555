// A path leads from the headers of the system to a file of the system.
// Fails: compiles "reaches for ../../etc/passwd, which is no header of the course"
#include <../../etc/passwd>
