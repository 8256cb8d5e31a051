// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory in one piece: an arena owns it, a cursor lays buffers out in it. The same layout code runs
// twice, over a Planner that only counts (at compile time too) and over a Committer that hands out
// pointers, so a plan and the allocation made from it cannot differ.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>

#include <fount/core/error.hpp>
#include <fount/core/units.hpp>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace fount {

/// Every buffer starts on this boundary: a cache line, and one AVX-512 register.
inline constexpr Bytes buffer_alignment = 64;

constexpr Bytes align_up(Bytes value, Bytes alignment = buffer_alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// Counts what a layout needs. take<T>(n) returns a null pointer; bytes() is the high-water mark.
class Planner {
 public:
  template <class T>
  constexpr T* take(std::int64_t count) {
    offset_ += align_up(count * static_cast<Bytes>(sizeof(T)));
    peak_ = std::max(peak_, offset_);
    return nullptr;
  }
  constexpr Bytes mark() const { return offset_; }
  /// Gives back everything taken since `mark`; what is taken next overlaps it.
  constexpr void rewind(Bytes mark) { offset_ = mark; }
  constexpr Bytes bytes() const { return peak_; }

 private:
  Bytes offset_ = 0;
  Bytes peak_ = 0;
};

/// Hands out the buffers of a layout from memory that the Planner sized.
class Committer {
 public:
  Committer(std::byte* base, Bytes size) : base_(base), size_(size) {}

  /// @throws DeviceError if the layout asks for more than was planned (a bug in the layout).
  template <class T>
  T* take(std::int64_t count) {
    T* pointer = reinterpret_cast<T*>(base_ + offset_);
    offset_ += align_up(count * static_cast<Bytes>(sizeof(T)));
    if (offset_ > size_) {
      throw DeviceError("arena: a layout took " + format_bytes(offset_) + " of " +
                        format_bytes(size_) + " planned; plan and layout must be the same code");
    }
    return pointer;
  }
  Bytes mark() const { return offset_; }
  void rewind(Bytes mark) { offset_ = mark; }

 private:
  std::byte* base_;
  Bytes size_;
  Bytes offset_ = 0;
};

/// Owns one block of zeroed memory, on huge pages where the system offers them.
class Arena {
 public:
  Arena() = default;

  /// @throws DeviceError when the memory is not to be had; the message carries `purpose`.
  Arena(Bytes size, std::string purpose) : size_(size) {
    if (size == 0) return;
#if defined(__linux__)
    // Huge pages want 2 MiB alignment: reserve one page more and round the start up.
    constexpr Bytes page = MiB(2);
    mapped_ = size + page;
    void* memory = mmap(nullptr, static_cast<std::size_t>(mapped_), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) refuse(purpose);
    mapping_ = memory;
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    const auto start = (address + page - 1) / page * page;
    base_ = reinterpret_cast<std::byte*>(start);
    madvise(base_, static_cast<std::size_t>(size), MADV_HUGEPAGE);  // only advice: may fail
#else
    mapping_ = ::operator new(static_cast<std::size_t>(size), std::align_val_t{4096}, std::nothrow);
    if (mapping_ == nullptr) refuse(purpose);
    base_ = static_cast<std::byte*>(mapping_);
    std::fill_n(base_, size, std::byte{0});
#endif
  }

  Arena(Arena&& other) noexcept { swap(other); }
  Arena& operator=(Arena&& other) noexcept {
    swap(other);
    return *this;
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  ~Arena() {
    if (mapping_ == nullptr) return;
#if defined(__linux__)
    munmap(mapping_, static_cast<std::size_t>(mapped_));
#else
    ::operator delete(mapping_, std::align_val_t{4096});
#endif
  }

  std::byte* data() const { return base_; }
  /// Bytes that may be used: exactly what was asked for.
  Bytes size() const { return size_; }

 private:
  [[noreturn]] void refuse(const std::string& purpose) const {
    throw DeviceError("cannot allocate " + format_bytes(size_) + " for " + purpose +
                      "; use a smaller batch or sequence, --recompute block, or see `plan`");
  }
  void swap(Arena& other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(mapped_, other.mapped_);
    std::swap(base_, other.base_);
    std::swap(size_, other.size_);
  }

  void* mapping_ = nullptr;
  Bytes mapped_ = 0;
  std::byte* base_ = nullptr;
  Bytes size_ = 0;
};

}  // namespace fount
