#pragma once
/// @file
/// Unpacks an archive of a stranger: files get numbers for names, the names that the archive gives remain
/// data.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ringcraft::grade {

/// The rest of what may be read.
struct Budget {
  std::size_t files;     ///< that may matter
  std::uintmax_t bytes;  ///< of archives, unpacked
  std::size_t others;    ///< files that are named although they cannot matter
};

/// One entry of an archive.
struct ArchiveEntry {
  enum class Kind : std::uint8_t { kFolder, kFile, kLink, kOther };
  std::string path;         ///< any bytes
  Kind kind = Kind::kFile;  ///< kOther: a pipe or a device
  std::uintmax_t size = 0;  ///< as the archive says
  std::string stored = {};  ///< the file that it was unpacked to; empty if it was not
};

/// The contents of an archive.
struct Unpacked {
  std::vector<ArchiveEntry> entries = {};
  std::string complaint = {};  ///< why it was not read to its end, to follow its name: "is damaged: ..."
};

/// Unpacks the archive `name`, open for reading as `descriptor`, into the empty folder `into`: of each file
/// at most one byte more than `most_of` says of its path, and nothing if that is 0. Stops where the budget
/// ends, which counts what the entries say of themselves and what they turn out to be. Throws Error
/// (kMissing) if `into` cannot be written.
Unpacked unpack(int descriptor, std::string_view name, const std::filesystem::path& into,
                const std::function<std::uintmax_t(std::string_view path)>& most_of, Budget& budget);

}  // namespace ringcraft::grade
