// Asks whether a file exists.
// Fails: compiles "reaches for /etc/passwd, which is no header of the course"
#if __has_include("/etc/passwd")
#error there is one
#endif
