// Entry points for the accesses of checked kernels. These are compiled with -fsanitize=thread, which makes
// the compiler call a function before every load and store of memory. This file defines the functions;
// ThreadSanitizer's own library is not linked. The checker records them for addresses that
// it knows, the others return at once. Names and arguments are the compiler's.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "host/checker/checker.hpp"

using ringcraft::simt::Access;
using ringcraft::simt::Checker;

namespace {

inline void seen(const volatile void* address, std::size_t bytes, Access access, const void* from,
                 bool whole = false) {
  Checker* const checker = Checker::running;
  if (checker != nullptr)
    checker->access(const_cast<const void*>(address), bytes, access, ringcraft::simt::place_of(from), whole);
}

}  // namespace

#define RETURNS_TO __builtin_return_address(0)

namespace ringcraft::simt {

template <class T>
T add_at_once(T* address, T value) {
  seen(address, sizeof(T), Access::kAtomic, RETURNS_TO, true);
  return std::atomic_ref<T>(*address).fetch_add(value, std::memory_order_relaxed);
}

template int add_at_once(int*, int);
template unsigned add_at_once(unsigned*, unsigned);
template unsigned long long add_at_once(unsigned long long*, unsigned long long);
template float add_at_once(float*, float);
template double add_at_once(double*, double);

}  // namespace ringcraft::simt

// "unaligned": of a type that may begin anywhere, which nvcc loads and stores in pieces.
#define RINGCRAFT_ACCESS(bytes)                                                                    \
  void __tsan_read##bytes(void* p) { seen(p, bytes, Access::kRead, RETURNS_TO, true); }            \
  void __tsan_write##bytes(void* p) { seen(p, bytes, Access::kWrite, RETURNS_TO, true); }          \
  void __tsan_unaligned_read##bytes(void* p) { seen(p, bytes, Access::kRead, RETURNS_TO); }        \
  void __tsan_unaligned_write##bytes(void* p) { seen(p, bytes, Access::kWrite, RETURNS_TO); }      \
  void __tsan_read##bytes##_pc(void* p, void* from) { seen(p, bytes, Access::kRead, from, true); } \
  void __tsan_write##bytes##_pc(void* p, void* from) { seen(p, bytes, Access::kWrite, from, true); }

#define RINGCRAFT_CHANGE(bits, type, name)                                 \
  type __tsan_atomic##bits##_fetch_##name(volatile type* p, type x, int) { \
    seen(p, sizeof(type), Access::kAtomic, RETURNS_TO, true);              \
    return __atomic_fetch_##name(p, x, __ATOMIC_SEQ_CST);                  \
  }

#define RINGCRAFT_EXCHANGE(bits, type, name)                                                              \
  int __tsan_atomic##bits##_compare_exchange_##name(volatile type* p, type* expected, type x, int, int) { \
    seen(p, sizeof(type), Access::kAtomic, RETURNS_TO, true);                                             \
    return __atomic_compare_exchange_n(p, expected, x, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);        \
  }

#define RINGCRAFT_ATOMIC(bits, type)                                   \
  type __tsan_atomic##bits##_load(const volatile type* p, int) {       \
    seen(p, sizeof(type), Access::kAtomic, RETURNS_TO, true);          \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                       \
  }                                                                    \
  void __tsan_atomic##bits##_store(volatile type* p, type x, int) {    \
    seen(p, sizeof(type), Access::kAtomic, RETURNS_TO, true);          \
    __atomic_store_n(p, x, __ATOMIC_SEQ_CST);                          \
  }                                                                    \
  type __tsan_atomic##bits##_exchange(volatile type* p, type x, int) { \
    seen(p, sizeof(type), Access::kAtomic, RETURNS_TO, true);          \
    return __atomic_exchange_n(p, x, __ATOMIC_SEQ_CST);                \
  }                                                                    \
  RINGCRAFT_CHANGE(bits, type, add)                                    \
  RINGCRAFT_CHANGE(bits, type, sub)                                    \
  RINGCRAFT_CHANGE(bits, type, and)                                    \
  RINGCRAFT_CHANGE(bits, type, or)                                     \
  RINGCRAFT_CHANGE(bits, type, xor)                                    \
  RINGCRAFT_CHANGE(bits, type, nand)                                   \
  RINGCRAFT_EXCHANGE(bits, type, strong)                               \
  RINGCRAFT_EXCHANGE(bits, type, weak)

extern "C" {

void __tsan_init() { ringcraft::simt::expect_instrumented_kernels(); }
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

RINGCRAFT_ACCESS(1)
RINGCRAFT_ACCESS(2)
RINGCRAFT_ACCESS(4)
RINGCRAFT_ACCESS(8)
RINGCRAFT_ACCESS(16)
void __tsan_read_range(void* p, std::size_t bytes) { seen(p, bytes, Access::kRead, RETURNS_TO); }
void __tsan_write_range(void* p, std::size_t bytes) { seen(p, bytes, Access::kWrite, RETURNS_TO); }
void __tsan_vptr_read(void**) {}
void __tsan_vptr_update(void**, void*) {}

RINGCRAFT_ATOMIC(8, std::uint8_t)
RINGCRAFT_ATOMIC(16, std::uint16_t)
RINGCRAFT_ATOMIC(32, std::uint32_t)
RINGCRAFT_ATOMIC(64, std::uint64_t)
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) {}

void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) {
  seen(from, bytes, Access::kRead, RETURNS_TO);
  seen(to, bytes, Access::kWrite, RETURNS_TO);
  return std::memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, std::size_t bytes) {
  seen(from, bytes, Access::kRead, RETURNS_TO);
  seen(to, bytes, Access::kWrite, RETURNS_TO);
  return std::memmove(to, from, bytes);
}
void* __tsan_memset(void* to, int byte, std::size_t bytes) {
  seen(to, bytes, Access::kWrite, RETURNS_TO);
  return std::memset(to, byte, bytes);
}

}  // extern "C"
