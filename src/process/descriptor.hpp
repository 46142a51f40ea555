#pragma once
/// @file
/// A file descriptor that closes itself.

#include <string>

namespace ringcraft::process {

/// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  /// Takes over `fd` and moves it to a number of 10 or more, closed on exec.
  explicit Descriptor(int fd);
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void close();
  void set_nonblocking() const;

 private:
  int fd_ = -1;
};

/// Throws Error (kMissing): what the system does not give, and why.
[[noreturn]] void not_given(const std::string& what);

}  // namespace ringcraft::process
