#pragma once
/// @file
/// Rules for a student's source. Three readings, each of which sees what the others cannot: the text itself,
/// before any compiler opens the files that it names; the list of the files that the preprocessor has read;
/// and the preprocessed text, in which macros hide nothing. An empty sentence means that the source is
/// allowed.

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ringcraft/io/text_file.hpp"

namespace ringcraft::judge {

/// Folders that a source may include headers from.
struct Places {
  std::filesystem::path folder;                  ///< the student's own
  std::vector<std::filesystem::path> headers;    ///< the course's headers, and those that it has precompiled
  std::vector<std::filesystem::path> toolchain;  ///< headers of compiler and system
  bool checked_kernel = false;                   ///< compiled so that a checker sees every access
};

/// Whether a file is a header by its name, plain or precompiled.
bool is_header(const std::filesystem::path& path);

/// Whether a path, without links, is a folder or lies in it.
bool is_within(const std::filesystem::path& path, const std::filesystem::path& folder);

/// A student's file and their own files that it includes, each read once: the judge uses these bytes even if
/// the files change meanwhile.
struct OwnSource {
  std::filesystem::path file;                       ///< below `folder`
  std::filesystem::path folder;                     ///< the student's own
  std::map<std::filesystem::path, TextFile> texts;  ///< by their places below `folder`

  std::string name() const { return file.filename().string(); }
  const std::string& text() const { return texts.at(file).text; }
  /// Writes all of them below `root`, with their times, and returns where the file is now.
  std::filesystem::path write_below(const std::filesystem::path& root) const;
};

/// Reads the file. The student's own folder is that of the file or, where `start` has given each lesson a
/// folder of this name, the workspace around it. Throws Error unless it is a file of the size that an
/// exercise may have.
OwnSource take_source(const std::filesystem::path& file, const std::string& lesson_name);

/// Whether the file may be judged at all: no link out of the student's folder, and not the library's file by
/// another name.
std::string complaint_about_file(const OwnSource& source, const std::filesystem::path& library);

/// The names of variables that a source declares const, with any initialiser: not those that refer to
/// something that is not const, by a pointer or the like.
std::set<std::string> constants_in(std::string_view text);

/// Checks the file's own text, and the student's own files that it includes, which are read here, once: their
/// includes, line markers, asm.
std::string complaint_about_text(OwnSource& source, const Places& places);

/// Checks the list of files that the preprocessor has read for this one, as `-MD` prints it for make.
std::string complaint_about_read(std::string_view list, const std::filesystem::path& file,
                                 const Places& places);

/// Checks the output of `-E`: asm, attributes that address the assembler or linker, and code that hides
/// accesses.
std::string complaint_about_expanded(std::string_view text, const std::string& name, const Places& places);

}  // namespace ringcraft::judge
