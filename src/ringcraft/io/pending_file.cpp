// Writes files under temporary names.
#include "ringcraft/io/pending_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "ringcraft/core/error.hpp"

namespace ringcraft {
namespace {

constexpr int kMostAttempts = 100;

// A link stays, and its target is replaced.
std::filesystem::path followed(const std::filesystem::path& target) {
  std::error_code none;
  const auto file = std::filesystem::canonical(target, none);
  return none ? target : file;
}

// The name under which a process writes to the target.
std::filesystem::path temporary_of(std::filesystem::path target, int process, int attempt) {
  return target.replace_filename(".ringcraft-" + std::to_string(process) + "-" + std::to_string(attempt) +
                                 ".tmp");
}

}  // namespace

PendingFile::PendingFile(const std::filesystem::path& target) : target_(followed(target)) {
  std::error_code ignored;
  const auto status = std::filesystem::status(target, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw Error(target.string(), "a regular file or a new name", "a folder, a pipe or a device",
                "choose another path");
  for (int attempt = 0; file_ == nullptr && attempt < kMostAttempts; ++attempt) {
    temporary_ = temporary_of(target_, ::getpid(), attempt);
    file_ = std::fopen(temporary_.c_str(), "wbx");  // x: never over an existing file
    if (file_ == nullptr && errno != EEXIST) break;
  }
  if (file_ == nullptr)
    throw Error(target.string(), "a folder that can be written to", std::generic_category().message(errno),
                "make the folder or choose another one");
}

PendingFile::~PendingFile() {
  if (file_ != nullptr) std::fclose(file_);
  std::error_code ignored;
  if (!committed_) std::filesystem::remove(temporary_, ignored);
}

void PendingFile::write(std::span<const std::byte> bytes) {
  if (!bytes.empty() && std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail();
}

void PendingFile::commit() {
  // On the disk before it has the name: after a power cut the name means all of the old file or all of the
  // new one.
  if (std::fflush(file_) != 0 || ::fsync(::fileno(file_)) != 0) fail();
  if (std::fclose(std::exchange(file_, nullptr)) != 0) fail();
  std::error_code failure;
  std::filesystem::rename(temporary_, target_, failure);
  if (failure)
    throw Error(target_.string(), "a name that can be given to the new file", failure.message(),
                "choose another path");
  committed_ = true;
}

void PendingFile::fail() const {
  throw Error(target_.string(), "room for all of the file", std::generic_category().message(errno),
              "free some disk space or choose another disk", Code::kMissing);
}

void remove_unfinished(const std::filesystem::path& path, int process) {
  std::error_code ignored;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt)
    std::filesystem::remove(temporary_of(followed(path), process, attempt), ignored);
}

}  // namespace ringcraft
