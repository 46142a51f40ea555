// Reads and writes the progress file: facts of one word or two.
#include "tool/course/progress.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "judge/tree/text_file.hpp"
#include "process/descriptor.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/hash.hpp"
#include "ringcraft/io/text_file.hpp"

namespace ringcraft::tool {
namespace {

// The text after "ID WORD" on a line, without blanks around it; nothing if the line says something else.
std::optional<std::string> fact(const std::string& line, std::string_view id, std::string_view word) {
  std::istringstream words(line);
  std::string first, second, rest;
  if (!(words >> first >> second) || first != id || second != word) return std::nullopt;
  words >> rest;
  return rest;
}

// Locks other tools out of the folder while a line is added; the lock ends with the descriptor. On a file
// system without locks, the rename alone keeps the file whole.
process::Descriptor locked(const std::filesystem::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return {};
  process::Descriptor lock(fd);
  (void)::flock(lock.get(), LOCK_EX);
  return lock;
}

[[noreturn]] void not_written(const std::filesystem::path& path) {
  throw Error("progress", "a file that can be written", path.string(),
              "check the permissions and the space of the folder");
}

// Under another name first, then renamed: at every moment there is a whole file.
void replace_file(const std::filesystem::path& path, const std::string& text) {
  const std::filesystem::path fresh = path.string() + ".new-" + std::to_string(::getpid());
  std::FILE* file = std::fopen(fresh.c_str(), "wb");
  if (file == nullptr) not_written(path);
  bool good = std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
  good = ::fsync(::fileno(file)) == 0 && good;
  good = std::fclose(file) == 0 && good;
  std::error_code failed;
  if (good) std::filesystem::rename(fresh, path, failed);
  if (good && !failed) return;
  std::filesystem::remove(fresh, failed);
  not_written(path);
}

}  // namespace

std::string fingerprint(std::string_view text) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(fnv1a<std::uint64_t>(text)));
  return digits;
}

std::string fingerprint_of(const std::filesystem::path& file) {
  try {
    return fingerprint(read_text_file("progress", file, judge::kLargestOwnFile));
  } catch (const Error&) {
    return {};
  }
}

ProgressFile::ProgressFile(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code ignored;  // a link stays a link when the file is replaced, or first written
  for (int links = 0; links < 8 && std::filesystem::is_symlink(path_, ignored); ++links)
    path_ = path_.parent_path() / std::filesystem::read_symlink(path_, ignored);
  read();
}

void ProgressFile::read() {
  lines_.clear();
  std::error_code ignored;
  if (!std::filesystem::exists(path_, ignored)) return;
  std::istringstream text(read_text_file("progress", path_, 1 << 20));
  for (std::string line; std::getline(text, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) lines_.push_back(line);
  }
}

bool ProgressFile::passed(std::string_view id) const {
  return std::ranges::any_of(lines_,
                             [&](const std::string& line) { return fact(line, id, "passed").has_value(); });
}

bool ProgressFile::has(std::string_view id, std::string_view word, std::string_view print) const {
  return !print.empty() && std::ranges::any_of(lines_, [&](const std::string& line) {
    return fact(line, id, word) == std::string(print);
  });
}

bool ProgressFile::passed_with(std::string_view id, std::string_view print) const {
  return has(id, "passed", print);
}

bool ProgressFile::done(std::string_view id, std::string_view print) const {
  return passed(id) && (!has(id, "failed", print) || passed_with(id, print));
}

int ProgressFile::hints(std::string_view id) const {
  int most = 0;
  for (const std::string& line : lines_) {
    const auto level = fact(line, id, "hint");
    int number = 0;
    if (level && std::from_chars(level->data(), level->data() + level->size(), number).ec == std::errc())
      most = std::max(most, number);
  }
  return most;
}

void ProgressFile::add_passed(const std::string& id, const std::string& print) {
  if (print.empty() ? passed(id) : passed_with(id, print)) return;
  add(id + " passed" + (print.empty() ? "" : " " + print));
}

void ProgressFile::add_failed(const std::string& id, const std::string& print) {
  if (passed(id) && !print.empty() && !has(id, "failed", print)) add(id + " failed " + print);
}

void ProgressFile::add_hints(const std::string& id, int shown) {
  if (hints(id) < shown) add(id + " hint " + std::to_string(shown));
}

void ProgressFile::add(const std::string& line) {
  std::error_code failed;
  std::filesystem::create_directories(path_.parent_path(), failed);
  const process::Descriptor lock = locked(path_.parent_path());
  read();
  if (std::ranges::find(lines_, line) == lines_.end()) lines_.push_back(line);
  std::string text;
  for (const std::string& each : lines_) text += each + "\n";
  replace_file(path_, text);
}

}  // namespace ringcraft::tool
