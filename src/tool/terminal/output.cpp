// Writes progress bars, coloured text and JSON.
#include "tool/terminal/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "ringcraft/io/pending_file.hpp"

namespace ringcraft::tool {
namespace {

struct sigaction before_progress {};  // of SIGINT
std::string_view words_when_stopped;

// Ctrl-C leaves no half of a bar before the shell's prompt.
void clear_line(int signal) {
  constexpr std::string_view kClear = "\r\033[K";
  for (const std::string_view text : {kClear, words_when_stopped})
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  ::sigaction(signal, &before_progress, nullptr);
  ::raise(signal);
}

}  // namespace

Progress::Progress(double total, const char* when_stopped)
    : total_(total), terminal_(isatty(STDERR_FILENO) == 1) {
  words_when_stopped = when_stopped;
  if (terminal_) ::sigaction(SIGINT, nullptr, &before_progress);
  if (terminal_ && before_progress.sa_handler != SIG_IGN) ::signal(SIGINT, clear_line);
}
Progress::~Progress() {
  if (terminal_) ::sigaction(SIGINT, &before_progress, nullptr);
  clear();
}

void Progress::at(double done, const std::string& what) {
  if (!terminal_) return;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  if (seconds < 2) return;
  const double share = std::clamp(done / total_, 0.0, 1.0);
  constexpr int kWidth = 30;
  const int filled = static_cast<int>(share * kWidth);
  clear();
  std::fprintf(stderr, "[%s%s] %3.0f %%", std::string(static_cast<std::size_t>(filled), '#').c_str(),
               std::string(static_cast<std::size_t>(kWidth - filled), '.').c_str(), 100 * share);
  if (share > 0) std::fprintf(stderr, ", %.0f s left", seconds * (1 - share) / share);
  std::fprintf(stderr, "  %s", what.c_str());
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

std::string bytes_text(double bytes) {
  if (bytes >= 1e6) return fmt::format("{:.2f} MB", bytes / 1e6);
  if (bytes >= 1e3) return fmt::format("{:.2f} kB", bytes / 1e3);
  return fmt::format("{:.0f} B", bytes);
}

verify::Colour colour() {
  const char* kind = std::getenv("TERM");
  const bool dumb = kind != nullptr && std::string_view(kind) == "dumb";
  const bool terminal = isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr && !dumb;
  return terminal ? verify::Colour::kTerminal : verify::Colour::kPlain;
}

std::vector<std::string> whole_environment() {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) all.emplace_back(*variable);
  return all;
}

namespace {

// A folder, a file of a folder that is not there, or one without permission or space.
[[noreturn]] void refuse_unwritable(const std::string& flag, const std::filesystem::path& path) {
  std::error_code unknown;
  const std::filesystem::path folder = path.parent_path();
  if (std::filesystem::is_directory(path, unknown))
    throw Error(flag, "the name of a file", "the folder " + shown(path.string()),
                "name a file in it: " + shown((path / "NAME").string()));
  const bool homeless = !folder.empty() && !std::filesystem::exists(folder, unknown);
  throw Error(flag, "a file that can be written", shown(path.string()),
              homeless ? "make its folder first: mkdir -p " + shown(folder.string())
                       : std::string("check the permissions and the space of its folder"));
}

}  // namespace

void write_text(const std::string& flag, const std::string& path, const std::string& text) {
  std::error_code none;
  const auto status = std::filesystem::status(path, none);
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) {
    PendingFile file(path);
    file.write(std::as_bytes(std::span(text)));
    return file.commit();
  }
  std::ofstream file(path);  // a pipe or a device
  file << text;
  if (!file.flush()) refuse_unwritable(flag, path);
}

void require_writable(const std::string& flag, const std::string& path) {
  if (path.empty()) return;
  const std::string ending = std::filesystem::path(path).extension();
  for (const char* source : {".cpp", ".hpp", ".h", ".cu", ".cuh", ".py", ".md"})
    if (ending == source)
      throw Error(flag, "a file for results", path,
                  "choose a name such as result.json; a source file is kept");
  std::error_code ignored;
  const bool was_there = std::filesystem::exists(path, ignored);
  if (!std::ofstream(path, std::ios::app)) refuse_unwritable(flag, path);
  if (!was_there) std::filesystem::remove(path, ignored);
}

void require_other_file(const std::string& flag, const std::filesystem::path& written,
                        const std::filesystem::path& read) {
  if (is_same_file(written, read))
    throw Error(flag, "another file than the input", written.string(),
                "choose a new name; the input is kept");
}

bool is_same_file(const std::filesystem::path& one, const std::filesystem::path& other) {
  if (one.empty() || other.empty()) return false;
  std::error_code unknown;
  const auto place = [&](const std::filesystem::path& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, unknown), unknown);
  };
  return std::filesystem::equivalent(one, other, unknown) || place(one) == place(other);
}

void write_json(const std::string& path, const verify::Report& report) {
  write_text("--json", path, verify::json_of(report));
}

}  // namespace ringcraft::tool
