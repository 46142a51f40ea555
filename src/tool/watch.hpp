#pragma once
// Watch mode: the student writes in an editor, and every save is checked at once.

namespace ringcraft::tool {

// Runs until the student quits; returns the exit code. Throws Error without a terminal. RINGCRAFT_POLLING=1
// looks at the files again and again in place of asking the kernel.
int watch();

}  // namespace ringcraft::tool
