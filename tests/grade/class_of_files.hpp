#pragma once
// A class's folder in a temporary one, with what students hand in, and archives of any contents.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "grade/intake/class_folder.hpp"
#include "io/files.hpp"
#include "support/catch.hpp"

#ifdef RINGCRAFT_HAS_LIBARCHIVE
#include <archive.h>
#include <archive_entry.h>
#endif

namespace ringcraft::grade {

inline const std::vector<Exercise> kExercises{
    {"103.predict", "Predict", "103_online_softmax", "predict.txt"},
    {"104", "Merge", "104_merge", "merge.cpp"},
    {"105", "Blockwise", "105_blockwise", "blockwise_forward.cpp"},
    {"205", "Carrying", "205_carrying", "01_merge.cu"},
    {"303", "Ring", "303_ring_forward", "forward.cpp"},
    {"401.predict", "Predict", "401_causal_skipping", "predict.txt"}};

inline const std::string kWork = "int answer() { return 42; }\n";

class ClassOfFiles {
 public:
  ClassOfFiles() { std::filesystem::create_directory(folder()); }
  std::filesystem::path folder() const { return root_ / "class"; }
  std::filesystem::path scratch() const { return root_ / "scratch"; }

  // The place of a file that is not there yet, with the folders above it.
  std::filesystem::path place(const std::string& path) const {
    const std::filesystem::path file = folder() / path;
    std::filesystem::create_directories(file.parent_path());
    return file;
  }
  void hand_in(const std::string& path, const std::string& text = kWork) const {
    test::write_bytes(place(path), text);
  }

  ClassFolder read(const IntakeLimits& limits = {}) const { return read(folder(), limits); }
  ClassFolder read(const std::filesystem::path& from, const IntakeLimits& limits = {}) const {
    std::filesystem::remove_all(scratch());
    std::filesystem::create_directory(scratch());
    return read_class(from, scratch(), kExercises, limits);
  }

 private:
  test::Scratch root_;
};

// "ada: 104 merge.cpp, 104 merge-1.cpp late; bob: nothing"
inline std::string summary(const ClassFolder& all) {
  std::string text;
  for (const Student& student : all.students) {
    text += (text.empty() ? "" : "; ") + student.key + ":";
    for (std::size_t i = 0; i < student.hand_ins.size(); ++i) {
      const HandIn& one = student.hand_ins[i];
      text += (i == 0 ? " " : ", ") + one.exercise + " " + one.name + (one.late ? " late" : "") +
              (one.refusal_code.empty() ? "" : " (" + one.refusal_code + ")");
    }
    if (student.hand_ins.empty()) text += " nothing";
  }
  return text;
}

inline const Student& student_of(const ClassFolder& all, const std::string& key) {
  for (const Student& student : all.students)
    if (student.key == key) return student;
  FAIL("no student " << key << " in " << summary(all));
  throw Error("not reached");
}

inline std::string remarks_of(const std::vector<std::string>& remarks) {
  std::string text;
  for (const std::string& remark : remarks) text += remark + "\n";
  return text;
}

#ifdef RINGCRAFT_HAS_LIBARCHIVE
// One entry of an archive that is made; `link` makes it one.
struct Packed {
  std::string path;
  std::string text = kWork;
  std::string link = {};
  bool hard = false;
  unsigned type = AE_IFREG;
};

// A zip, or a tar of whatever compression its name says.
inline void pack(const std::filesystem::path& file, const std::vector<Packed>& entries) {
  struct archive* writing = archive_write_new();
  const std::string name = file.filename().string();
  const std::string extension = file.extension().string();
  if (extension == ".zip")
    archive_write_set_format_zip(writing);
  else
    archive_write_set_format_pax_restricted(writing);
  if (extension == ".gz" || extension == ".tgz") archive_write_add_filter_gzip(writing);
  if (extension == ".xz") archive_write_add_filter_xz(writing);
  REQUIRE(archive_write_open_filename(writing, file.c_str()) == ARCHIVE_OK);
  for (const Packed& one : entries) {
    struct archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, one.path.c_str());
    archive_entry_set_filetype(entry, one.link.empty() || one.hard ? one.type : unsigned(AE_IFLNK));
    archive_entry_set_perm(entry, 0644);
    const bool plain = one.link.empty() && one.type == AE_IFREG;
    archive_entry_set_size(entry, plain ? static_cast<la_int64_t>(one.text.size()) : 0);
    if (!one.link.empty() && one.hard) archive_entry_set_hardlink(entry, one.link.c_str());
    if (!one.link.empty() && !one.hard) archive_entry_set_symlink(entry, one.link.c_str());
    REQUIRE(archive_write_header(writing, entry) >= ARCHIVE_WARN);
    if (plain) archive_write_data(writing, one.text.data(), one.text.size());
    archive_entry_free(entry);
  }
  REQUIRE(archive_write_free(writing) == ARCHIVE_OK);
}
#endif

}  // namespace ringcraft::grade
