#pragma once
/// @file
/// What a student's source may ask of a compiler. Three readings, each of which sees what the others cannot:
/// the text itself, before any compiler opens what it names; the list of the files that the preprocessor has
/// read; and the preprocessed text, in which macros hide nothing. An empty sentence: nothing to say against
/// it.

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ringcraft::judge {

/// Where a source may take headers from.
struct Places {
  std::filesystem::path folder;                  ///< the student's own
  std::vector<std::filesystem::path> headers;    ///< the course's headers, and those that it has precompiled
  std::vector<std::filesystem::path> toolchain;  ///< headers of compiler and system
  bool checked_kernel = false;                   ///< compiled so that a checker sees every access
};

/// The student's own folder: that of the file, or, where `start` has given each lesson a folder of this name,
/// the workspace around it.
std::filesystem::path own_folder(const std::filesystem::path& file, const std::string& lesson_name);

/// Whether the file may be read at all: no link out of the student's folder, and not the library's file by
/// another name.
std::string complaint_about_file(const std::filesystem::path& file, const std::filesystem::path& library,
                                 const Places& places);

/// The names of variables that a source declares as `static const std::string name` and the like: values of
/// the standard library's plain types, which are made when the program starts and do not change.
std::set<std::string> constants_in(std::string_view text);

/// The file's own text, and that of its own headers: what they include, line markers, asm.
std::string complaint_about_text(const std::filesystem::path& file, const Places& places);

/// What the preprocessor has read, as `-MD` lists it for make.
std::string complaint_about_read(std::string_view list, const std::filesystem::path& file,
                                 const Places& places);

/// What `-E` printed: asm, attributes that speak to assembler or linker, and what hides accesses.
std::string complaint_about_expanded(std::string_view text, const std::string& name, const Places& places);

}  // namespace ringcraft::judge
