#pragma once

#include <cstddef>
#include <memory>

#if defined(__SANITIZE_ADDRESS__)
#define FLASHBOOK_SIMT_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FLASHBOOK_SIMT_ASAN
#endif
#endif

namespace flashbook::simt {

/// Stores the stack pointer, after what a call must preserve, at *save, and continues where `load`
/// was stored. In fiber.cpp, by hand for x86-64 and AArch64, by boost.context elsewhere.
extern "C" void flashbook_switch_stack(void** save, void* load);

/// A suspended computation with a stack of its own. One CUDA thread is one fiber; the
/// multiprocessor that runs them is another, on the stack of its OS thread. A fiber never moves to
/// another OS thread. Switching keeps what the calling convention preserves, except the
/// floating-point control words, which kernels must not change.
class Fiber {
 public:
  using Entry = void (*)();  ///< does not return, and lets no exception out

  /// Ready to run `entry` on the `bytes` at `stack`. What ran there before is forgotten, its
  /// destructors too. The first frame lies `stagger` bytes below the end of the stack.
  void prepare(std::byte* stack, std::size_t bytes, std::size_t stagger, Entry entry);

  /// Suspends `from`, which is running, and continues `to`.
  static void switch_to(Fiber& from, Fiber& to) {
#ifdef FLASHBOOK_SIMT_ASAN
    announce_switch(from, to);
#endif
    flashbook_switch_stack(&from.stack_pointer_, to.stack_pointer_);
#ifdef FLASHBOOK_SIMT_ASAN
    confirm_switch(from);
#endif
  }

  /// What a fiber's entry calls first.
  static void entered(Fiber& self);

 private:
  void* stack_pointer_ = nullptr;

  // AddressSanitizer must be told which stack it is on.
  static void announce_switch(Fiber& from, Fiber& to);
  static void confirm_switch(Fiber& resumed);
  const void* stack_ = nullptr;
  std::size_t stack_bytes_ = 0;
  void* fake_stack_ = nullptr;
};

/// Stacks for fibers, each with a guard page below: a stack overflow is a segmentation fault at the
/// function that overflowed, and not a neighbour's wrong result.
class Stacks {
 public:
  static constexpr std::size_t bytes =
      std::size_t{128} * 1024;  ///< of one stack; pages are used as touched

  /// Room for at least `count` stacks. Throws std::bad_alloc.
  void reserve(std::size_t count);
  std::byte* operator[](std::size_t i) const { return memory_.get() + i * pitch() + guard(); }

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* memory) const;
  };
  static std::size_t guard();
  static std::size_t pitch() { return bytes + guard(); }

  std::size_t count_ = 0;
  std::unique_ptr<std::byte, Unmap> memory_{nullptr, Unmap{0}};
};

}  // namespace flashbook::simt
