// The stack of a crash (see crash.hpp), from within a signal handler: no allocation, one write.
#include "judge/worker/crash.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <cstdint>

#include "judge/wire/protocol.hpp"
#include "judge/worker/guarded_memory.hpp"
#include "process/descriptor_numbers.hpp"

extern "C" const char __ehdr_start;  // the linker's name for the beginning of the program

namespace ringcraft::judge {
namespace {

struct Stack {
  FrameHeader header{kFrameMark, FrameKind::kCrashed, 0};
  Stray stray;
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

std::uintptr_t top_of_stack = 0;  // of the main thread

std::uintptr_t stack_pointer(const ucontext_t& context) {
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RSP]);
#else
  return static_cast<std::uintptr_t>(context.uc_mcontext.sp);
#endif
}

// A stack has no page below its end: what faults near the stack pointer, or below the main thread's top and
// no farther than a stack may grow and the gap that Linux leaves there, has left it.
bool is_beyond_stack(std::uintptr_t address, const ucontext_t& context) {
  constexpr std::uintptr_t kNear = 64 << 10, kGap = 64 << 20;
  const std::uintptr_t here = stack_pointer(context);
  if (address < here + kNear && here < address + kNear) return true;
  rlimit limit{};
  ::getrlimit(RLIMIT_STACK, &limit);
  return address < top_of_stack && top_of_stack - address < kGap && limit.rlim_cur != RLIM_INFINITY;
}

Stray stray_of(const siginfo_t& info, const ucontext_t& context) {
  constexpr std::uintptr_t kFirstPage = 4096;
  const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
  Stray stray;
  if (const auto beside = beside_arguments(info.si_addr)) {
    stray = *beside;
  } else if (address < kFirstPage && info.si_code == SEGV_MAPERR) {
    stray.where = Stray::Where::kNull;
  } else if (is_beyond_stack(address, context)) {
    stray.where = Stray::Where::kStack;
  }
#if defined(__x86_64__)
  constexpr greg_t kWrite = 2;  // of the processor's error code
  stray.how = (context.uc_mcontext.gregs[REG_ERR] & kWrite) != 0 ? Stray::How::kWritten : Stray::How::kRead;
#endif
  return stray;
}

void report(int signal, siginfo_t* info, void* context) {
  Stack stack;
  if (signal == SIGSEGV && info->si_code > 0)
    stack.stray = stray_of(*info, *static_cast<ucontext_t*>(context));
  _Unwind_Backtrace(&add_call, &stack);
  stack.header.length = sizeof stack.stray + stack.count * sizeof stack.calls[0];
  const auto size = sizeof stack.header + static_cast<std::size_t>(stack.header.length);
  if (::write(process::kWireDescriptor, &stack, size) < 0) return;  // and the instruction is tried again
  ::raise(signal);                                                  // with the default action: SA_RESETHAND
}

}  // namespace

void report_crashes() {
  top_of_stack = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  alignas(16) static char memory[1 << 16];  // an overflowed stack has no room for a handler
  const stack_t stack{.ss_sp = memory, .ss_flags = 0, .ss_size = sizeof memory};
  ::sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_sigaction = report;
  action.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND | SA_NODEFER);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigaction(signal, &action, nullptr);
}

}  // namespace ringcraft::judge
