// A pragma opens a file of the system.
// Fails: compiles "asks for a file by a pragma"
#pragma GCC dependency "/etc/passwd"
