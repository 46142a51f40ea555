// Writes zip archives by libarchive, where this program is built with it.
#include "grade/autograder/zip.hpp"

#ifdef RINGCRAFT_HAS_LIBARCHIVE
#include <archive.h>
#include <archive_entry.h>
#endif
#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "process/descriptor.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::grade {

#ifdef RINGCRAFT_HAS_LIBARCHIVE
namespace {

constexpr std::time_t kNoTime = 315532800;  // 1980, where a zip's time begins

struct FreeArchiveWriting {
  void operator()(struct archive* writing) const { archive_write_free(writing); }
};
struct FreeArchiveEntry {
  void operator()(struct archive_entry* entry) const { archive_entry_free(entry); }
};
using ArchiveWriting = std::unique_ptr<struct archive, FreeArchiveWriting>;

[[noreturn]] void not_written(const std::filesystem::path& path, const char* reason) {
  throw Error("autograder", "an archive that can be written",
              shown(path.string(), 200) + " (" + (reason != nullptr ? reason : "no reason given") + ")",
              "name a new file in a folder with room for it");
}

void add(struct archive* writing, const Zipped& file, const std::filesystem::path& path) {
  const std::unique_ptr<struct archive_entry, FreeArchiveEntry> entry(archive_entry_new());
  archive_entry_set_pathname(entry.get(), file.path.c_str());
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), file.executable ? 0755 : 0644);
  archive_entry_set_mtime(entry.get(), kNoTime, 0);
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(file.text.size()));
  const auto size = static_cast<la_ssize_t>(file.text.size());
  if (archive_write_header(writing, entry.get()) != ARCHIVE_OK ||
      archive_write_data(writing, file.text.data(), file.text.size()) != size)
    not_written(path, archive_error_string(writing));
}

}  // namespace

void write_zip(const std::filesystem::path& path, const std::vector<Zipped>& files) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) not_written(path, std::strerror(errno));
  const process::Descriptor file(fd);
  try {
    const ArchiveWriting writing(archive_write_new());
    archive_write_set_format_zip(writing.get());
    if (archive_write_open_fd(writing.get(), file.get()) != ARCHIVE_OK)
      not_written(path, archive_error_string(writing.get()));
    for (const Zipped& one : files) add(writing.get(), one, path);
    if (archive_write_close(writing.get()) != ARCHIVE_OK)
      not_written(path, archive_error_string(writing.get()));
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    throw;
  }
}

#else

void write_zip(const std::filesystem::path&, const std::vector<Zipped>&) {
  throw Error(
      "autograder: this ringcraft is built without libarchive, which writes archives; install the package "
      "libarchive-dev and build again",
      Code::kMissing);
}

#endif

}  // namespace ringcraft::grade
