// Reads text files, and refuses anything else.
#include "ringcraft/io/text_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

struct Open {
  int fd;
  ~Open() {
    if (fd >= 0) ::close(fd);
  }
};

enum class Zeros : char { kTaken, kRefused };

TextFile text_file(const std::string& who, const std::filesystem::path& path, std::uintmax_t most_bytes,
                   Zeros zeros) {
  const auto too_large = [&](std::uintmax_t bytes) {
    return Error(who, "a file of at most " + std::to_string(most_bytes) + " bytes",
                 path.string() + " with " + std::to_string(bytes), "name a smaller one");
  };
  const Open file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};  // a pipe would be waited for
  if (file.fd < 0)
    throw Error(who, "a file that can be read", path.string() + " (" + std::strerror(errno) + ")",
                "check the path");
  struct stat status {};
  if (::fstat(file.fd, &status) != 0 || !S_ISREG(status.st_mode))
    throw Error(who, "a regular file", path.string() + ", a folder, a pipe or a device",
                "name a file of text");
  if (std::uintmax_t(status.st_size) > most_bytes) throw too_large(std::uintmax_t(status.st_size));

  TextFile result{"", {}, status.st_dev, status.st_ino, status.st_mtim};
  std::error_code failed;
  result.place = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file.fd), failed);
  if (failed) result.place = std::filesystem::canonical(path);
  char bytes[1 << 14];
  for (ssize_t got; (got = ::read(file.fd, bytes, sizeof bytes)) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw Error(who, "a file that can be read", path.string() + " (" + std::strerror(errno) + ")",
                  "check the disk");
    if (zeros == Zeros::kRefused && std::memchr(bytes, 0, static_cast<std::size_t>(got)) != nullptr)
      throw Error(who, "a file of text", path.string() + ", which holds a zero byte", "name another one");
    result.text.append(bytes, static_cast<std::size_t>(got));
    if (result.text.size() > most_bytes) throw too_large(result.text.size());  // it grows
  }
  return result;
}

}  // namespace

TextFile take_text_file(const std::string& who, const std::filesystem::path& path,
                        std::uintmax_t most_bytes) {
  return text_file(who, path, most_bytes, Zeros::kTaken);
}

std::string read_text_file(const std::string& who, const std::filesystem::path& path,
                           std::uintmax_t most_bytes) {
  return take_text_file(who, path, most_bytes).text;
}

std::string read_plain_text_file(const std::string& who, const std::filesystem::path& path,
                                 std::uintmax_t most_bytes) {
  return text_file(who, path, most_bytes, Zeros::kRefused).text;
}

}  // namespace ringcraft
