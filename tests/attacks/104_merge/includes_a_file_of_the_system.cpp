// The compiler prints what it does not understand: a file of the system.
// Fails: compiles "reaches for /etc/passwd, which is no header of the course"
#include "/etc/passwd"
