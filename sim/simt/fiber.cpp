#include "sim/simt/fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <new>

#ifdef FLASHBOOK_SIMT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

namespace {
thread_local flashbook::simt::Fiber* switched_from = nullptr;
}
#endif

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <boost/context/detail/fcontext.hpp>
#endif

#if defined(__x86_64__)

// System V ABI, AMD64: rbx, rbp, r12 to r15 are preserved. The return address is taken by a jump
// and not by `ret`, whose prediction would always be wrong.
asm(R"(
.text
.globl flashbook_switch_stack
.hidden flashbook_switch_stack
.type flashbook_switch_stack, @function
flashbook_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmp *%rcx
.size flashbook_switch_stack, .-flashbook_switch_stack
)");

namespace {
constexpr int saved_words = 6, return_address = 6, frame_words = 8;
}

#elif defined(__aarch64__)

// Procedure Call Standard, AArch64: x19 to x30 and the lower halves of v8 to v15 are preserved.
asm(R"(
.text
.globl flashbook_switch_stack
.hidden flashbook_switch_stack
.type flashbook_switch_stack, %function
flashbook_switch_stack:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size flashbook_switch_stack, .-flashbook_switch_stack
)");

namespace {
constexpr int saved_words = 20, return_address = 11, frame_words = 20;
}

#endif

namespace flashbook::simt {

#if defined(__x86_64__) || defined(__aarch64__)

namespace {

/// The stack pointer of a fiber that was suspended just before `entry`.
void* first_stack_pointer(std::byte* stack_end, Fiber::Entry entry) {
  static_assert(frame_words >= saved_words && frame_words % 2 == 0);
  std::byte* const aligned = stack_end - reinterpret_cast<std::uintptr_t>(stack_end) % 64;
  auto* const frame = reinterpret_cast<void**>(aligned) - frame_words;
  std::memset(frame, 0, frame_words * sizeof(void*));  // rbp, x29: a debugger's backtrace ends here
  frame[return_address] = reinterpret_cast<void*>(entry);
  return frame;
}

}  // namespace

#else

namespace {

namespace context = boost::context::detail;

/// Where the fiber that has just been suspended is stored, by the one that continues.
void keep(context::transfer_t arrival) {
  *static_cast<void**>(arrival.data) = arrival.fctx;
}

thread_local Fiber::Entry first_entry;  // of all fibers of an OS thread

void* first_stack_pointer(std::byte* stack_end, Fiber::Entry entry) {
  first_entry = entry;
  return context::make_fcontext(stack_end, Stacks::bytes / 2, [](context::transfer_t arrival) {
    keep(arrival);
    first_entry();
  });
}

}  // namespace

extern "C" void flashbook_switch_stack(void** save, void* load) {
  keep(context::jump_fcontext(load, save));
}

#endif

void Fiber::prepare(std::byte* stack, std::size_t bytes, std::size_t stagger, Entry entry) {
#ifdef FLASHBOOK_SIMT_ASAN
  ASAN_UNPOISON_MEMORY_REGION(stack, bytes);
#endif
  stack_ = stack;
  stack_bytes_ = bytes;
  fake_stack_ = nullptr;
  stack_pointer_ = first_stack_pointer(stack + bytes - stagger, entry);
}

#ifdef FLASHBOOK_SIMT_ASAN

void Fiber::announce_switch(Fiber& from, Fiber& to) {
  switched_from = &from;
  __sanitizer_start_switch_fiber(&from.fake_stack_, to.stack_, to.stack_bytes_);
}

void Fiber::confirm_switch(Fiber& resumed) {
  __sanitizer_finish_switch_fiber(resumed.fake_stack_, nullptr, nullptr);
}

#endif

void Fiber::entered([[maybe_unused]] Fiber& self) {
#ifdef FLASHBOOK_SIMT_ASAN
  // The OS thread's own stack is learnt here: it is the one that the first fiber comes from.
  __sanitizer_finish_switch_fiber(self.fake_stack_, &switched_from->stack_,
                                  &switched_from->stack_bytes_);
#endif
}

std::size_t Stacks::guard() {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return page;
}

void Stacks::Unmap::operator()(std::byte* memory) const {
  munmap(memory, bytes);
}

void Stacks::reserve(std::size_t count) {
  if (count <= count_) return;
  const std::size_t size = count * pitch();
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = {static_cast<std::byte*>(memory), Unmap{size}};
  for (std::size_t i = 0; i < count; ++i) mprotect((*this)[i] - guard(), guard(), PROT_NONE);
  count_ = count;
}

}  // namespace flashbook::simt
