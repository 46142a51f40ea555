// The stack of a crash (see crash.hpp), from within a signal handler: no allocation, one write.
#include "judge/worker/crash.hpp"

#include <signal.h>
#include <unistd.h>
#include <unwind.h>

#include <cstdint>

#include "judge/wire/protocol.hpp"
#include "process/descriptor_numbers.hpp"

extern "C" const char __ehdr_start;  // the linker's name for the beginning of the program

namespace ringcraft::judge {
namespace {

struct Stack {
  FrameHeader header{kFrameMark, FrameKind::kCrashed, 0};
  std::uint64_t calls[kMostCalls];  // places in the program, the innermost first
  std::uint64_t count = 0;
};

_Unwind_Reason_Code add_call(_Unwind_Context* context, void* argument) {
  Stack& stack = *static_cast<Stack*>(argument);
  if (stack.count == kMostCalls) return _URC_END_OF_STACK;
  int exact = 0;  // a return address is that of the next instruction
  const std::uint64_t code = _Unwind_GetIPInfo(context, &exact);
  stack.calls[stack.count++] = code - (exact != 0 ? 0 : 1) - reinterpret_cast<std::uintptr_t>(&__ehdr_start);
  return _URC_NO_REASON;
}

void report(int signal) {
  Stack stack;
  _Unwind_Backtrace(&add_call, &stack);
  stack.header.length = stack.count * sizeof stack.calls[0];
  const auto size = sizeof stack.header + static_cast<std::size_t>(stack.header.length);
  if (::write(process::kWireDescriptor, &stack, size) < 0) return;  // and the instruction is tried again
  ::raise(signal);                                                  // with the default action: SA_RESETHAND
}

}  // namespace

void report_crashes() {
  alignas(16) static char memory[1 << 16];  // an overflowed stack has no room for a handler
  const stack_t stack{.ss_sp = memory, .ss_flags = 0, .ss_size = sizeof memory};
  ::sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = report;
  action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND | SA_NODEFER);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigaction(signal, &action, nullptr);
}

}  // namespace ringcraft::judge
