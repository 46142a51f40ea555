// The compiler waits for a device that never ends.
// Fails: compiles "reaches for /dev/zero, which is no header of the course"
#include "/dev/zero"
