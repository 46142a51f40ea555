// Unpacks zip and tar by libarchive, where this program is built with it.
#include "grade/intake/archive.hpp"

#ifdef RINGCRAFT_HAS_LIBARCHIVE
#include <archive.h>
#include <archive_entry.h>
#endif
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "grade/intake/names.hpp"
#include "grade/intake/writing.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::grade {

#ifdef RINGCRAFT_HAS_LIBARCHIVE
namespace {

constexpr std::size_t kLongestPath = 4096;
constexpr std::size_t kMostEntries = 200'000;  // a bound for time

struct FreeArchiveReading {
  void operator()(struct archive* reading) const { archive_read_free(reading); }
};
using ArchiveReading = std::unique_ptr<struct archive, FreeArchiveReading>;

std::string damaged_archive(struct archive* reading) {
  const char* reason = archive_error_string(reading);
  return "cannot be unpacked (" + shown(reason != nullptr ? reason : "no archive", 120) +
         "): pack it again as a zip";
}

// One format by the archive's name: a zip inside a gzip would be searched for, however long that is.
ArchiveReading open_archive(int descriptor, std::string_view name, std::string& complaint) {
  ArchiveReading reading(archive_read_new());
  if (lowered(name).ends_with(".zip")) {
    archive_read_support_format_zip(reading.get());
  } else {
    archive_read_support_format_tar(reading.get());
    archive_read_support_filter_gzip(reading.get());
    archive_read_support_filter_bzip2(reading.get());
    archive_read_support_filter_xz(reading.get());
    archive_read_support_filter_zstd(reading.get());
  }
  if (archive_read_open_fd(reading.get(), descriptor, 1 << 16) != ARCHIVE_OK)
    complaint = damaged_archive(reading.get());
  return reading;
}

ArchiveEntry described(struct archive_entry* entry) {
  const char* path = archive_entry_pathname(entry);
  if (path == nullptr) path = archive_entry_pathname_utf8(entry);  // not in this locale's letters
  ArchiveEntry result{.path = path != nullptr ? path : ""};
  using EntryKind = ArchiveEntry::Kind;
  const auto type = archive_entry_filetype(entry);
  result.kind = archive_entry_hardlink(entry) != nullptr || type == AE_IFLNK ? EntryKind::kLink
                : type == AE_IFDIR                                           ? EntryKind::kFolder
                : type == AE_IFREG                                           ? EntryKind::kFile
                                                                             : EntryKind::kOther;
  if (archive_entry_size(entry) > 0) result.size = static_cast<std::uintmax_t>(archive_entry_size(entry));
  return result;
}

// Copies the current entry's bytes, and one more than `most` if it has more. Whether that worked.
bool copy_out(struct archive* reading, const std::filesystem::path& file, std::uintmax_t most,
              std::uintmax_t& copied) {
  NewFile out(file);
  char bytes[1 << 14];
  copied = 0;
  while (copied <= most) {
    const auto got = archive_read_data(reading, bytes, sizeof bytes);
    if (got <= 0) return got == 0;
    out.write({bytes, static_cast<std::size_t>(got)});
    copied += static_cast<std::uintmax_t>(got);
  }
  return true;
}

}  // namespace

Unpacked unpack(int descriptor, std::string_view name, const std::filesystem::path& into,
                const std::function<std::uintmax_t(std::string_view)>& most_of, Budget& budget) {
  Unpacked result;
  const std::uintmax_t most_unpacked = budget.bytes;
  const auto too_large = [&] {
    return "unpacks to more than " + std::to_string(most_unpacked >> 20) +
           " MB, and was not read to its end: pack your own files alone";
  };
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || static_cast<std::uintmax_t>(status.st_size) > budget.bytes)
    return {{}, too_large()};
  const ArchiveReading reading = open_archive(descriptor, name, result.complaint);
  std::size_t entries = 0;
  while (result.complaint.empty()) {
    struct archive_entry* next = nullptr;
    const int got = archive_read_next_header(reading.get(), &next);
    if (got == ARCHIVE_EOF) break;
    if (got < ARCHIVE_WARN) return {std::move(result.entries), damaged_archive(reading.get())};
    ArchiveEntry entry = described(next);
    const std::uintmax_t most = std::min(most_of(entry.path), budget.bytes);
    if (++entries > kMostEntries || (most > 0 && budget.files == 0))
      return {std::move(result.entries),
              "holds too many files, and was not read to its end: pack your own alone"};
    if (most > 0) --budget.files;
    std::uintmax_t copied = 0;
    if (entry.kind == ArchiveEntry::Kind::kFile && most > 0 && entry.size <= most) {
      entry.stored = std::to_string(result.entries.size());
      if (!copy_out(reading.get(), into / entry.stored, most, copied))
        result.complaint = damaged_archive(reading.get());
    }
    const std::uintmax_t bytes = std::max(entry.size, copied) + entry.path.size();
    if (bytes > budget.bytes) result.complaint = too_large();
    budget.bytes -= std::min(bytes, budget.bytes);
    const bool names_other = most == 0 && entry.kind != ArchiveEntry::Kind::kFolder;
    const bool listed = !names_other || budget.others > 0;
    if (names_other && listed) --budget.others;
    if (result.complaint.empty() && listed && entry.path.size() <= kLongestPath)
      result.entries.push_back(std::move(entry));
  }
  return result;
}

#else

Unpacked unpack(int, std::string_view, const std::filesystem::path&,
                const std::function<std::uintmax_t(std::string_view)>&, Budget&) {
  return {
      {},
      "is an archive, and this ringcraft is built without libarchive: install the package libarchive-dev and "
      "build again, or unpack it by hand"};
}

#endif

}  // namespace ringcraft::grade
