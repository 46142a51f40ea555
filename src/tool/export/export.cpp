// export: a tree for students, without the solutions of the lessons that they have before them. The bodies
// are sealed: compressed into one file that the build unpacks, or compiled for one platform.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "judge/build/toolchain.hpp"
#include "judge/verdict/judge.hpp"
#include "process/child.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "tool/commands/course_commands.hpp"
#include "tool/course/lesson_list.hpp"
#include "tool/course/student_texts.hpp"
#include "tool/export/seal.hpp"

namespace ringcraft::tool {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = RINGCRAFT_SOURCE_DIR;

// ---- refusals

// The folder to write, absolute; its parent is there, and nothing is in it.
fs::path checked_folder(const std::string& typed) {
  fs::path folder = fs::weakly_canonical(fs::absolute(typed));
  if (!folder.has_filename()) folder = folder.parent_path();  // "course/"
  if (is_inside(folder, fs::weakly_canonical(kRoot)))
    throw Error("export", "a folder outside of " + kRoot.string(), shown(folder.string(), 200),
                "name one beside it: ../course");
  if (fs::exists(folder) && (!fs::is_directory(folder) || !fs::is_empty(folder)))
    throw Error("export", "a folder that is not there, or is empty", shown(folder.string(), 200),
                "name a new one; nothing is ever overwritten");
  if (!fs::is_directory(folder.parent_path()))
    throw Error("export", "a folder to make it in", shown(folder.parent_path().string(), 200),
                "make that folder first");
  return folder;
}

// ---- writing

void write(const fs::path& path, const std::string& text) {
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  std::ofstream file(path, std::ios::binary);
  if (failed || !(file << text) || !file.flush())
    throw Error("export", "a file that can be written", path.string(), "is the disk full?", Code::kMissing);
}

// A folder that becomes the wanted one when it is whole, and vanishes otherwise.
class Partial {
 public:
  explicit Partial(fs::path wanted) : wanted_(std::move(wanted)), path_(wanted_.string() + ".partial") {
    std::error_code failed;
    if (!fs::create_directory(path_, failed))
      throw Error("export", "a new folder", path_.string(),
                  failed ? "check the permissions of the folder around it"
                         : "another export may be writing it; if not, remove it");
  }
  ~Partial() {
    std::error_code ignored;
    if (!done_) fs::remove_all(path_, ignored);
  }
  Partial(const Partial&) = delete;
  Partial& operator=(const Partial&) = delete;

  const fs::path& path() const { return path_; }
  void finish() {
    fs::rename(path_, wanted_);  // also onto an empty folder
    done_ = true;
  }

 private:
  fs::path wanted_, path_;
  bool done_ = false;
};

void write_files(const StudentTree& tree, const fs::path& folder) {
  for (const auto& [path, text] : tree.files) {
    write(folder / path, text);
    fs::permissions(folder / path, fs::status(kRoot / path).permissions());
  }
  write(folder / "AGENTS.md", kAgents);
  write(folder / ".gitignore", kStudentIgnores);
}

// ---- sealing

// Runs a program of the build's toolchain. Throws Error (kMissing) if it fails.
void call(std::vector<std::string> arguments, const fs::path& folder) {
  const char* path = std::getenv("PATH");
  const std::string program = arguments.front();
  const process::Finished finished =
      process::run_command({.arguments = std::move(arguments),
                            .environment = {"LC_ALL=C", std::string("PATH=") + (path != nullptr ? path : "")},
                            .folder = folder},
                           std::chrono::seconds(300));
  if (!finished.good())
    throw Error("export", program + " to end well", shown(finished.printed, 500), "build the tree again",
                Code::kMissing);
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

constexpr const char* kListHead =
    "# The files whose bodies are sealed; src/cmake/RingcraftSealed.cmake reads this. Written by ./ringcraft "
    "export.\n";

std::string list_of(const StudentTree& tree, const std::string& platform) {
  std::string text = kListHead + (platform.empty() ? "" : "platform: " + platform + "\n");
  for (const std::string& path : tree.sealed) text += path + "\n";
  return text;
}

// The original files, compressed.
void seal_sources(const StudentTree& tree, const fs::path& folder) {
  std::vector<std::string> arguments{
      RINGCRAFT_CMAKE,      "-E", "tar", "cJf", folder / "src" / "sealed.tar.xz", "--format=gnutar",
      "--mtime=1970-01-01", "--"};
  arguments.insert(arguments.end(), tree.sealed.begin(), tree.sealed.end());
  call(std::move(arguments), kRoot);
  write(folder / "src" / "sealed.txt", list_of(tree, ""));
}

// The flags of one object of a sealed file; `more` follows those of the build.
std::vector<std::string> compile_flags(const std::string& path, const std::string& more) {
  std::vector<std::string> flags{"-std=c++20", "-I.", "-Isrc", "-pthread"};
  for (const std::string& flag : words_of(RINGCRAFT_RELEASE_FLAGS)) flags.push_back(flag);
  if (path.ends_with(".cu"))  // as ringcraft_device_code() has it
    for (const char* flag : {"-Ikernels/host", "-Ikernels", "-include", "host/device.hpp",
                             "-Wno-unknown-pragmas", "-fno-strict-aliasing", "-xc++"})
      flags.emplace_back(flag);
  for (const std::string& flag : words_of(more)) flags.push_back(flag);
  return flags;
}

// The original files, compiled for any processor of this machine's kind; kernels for the CPU, plain and
// checked.
void seal_objects(const StudentTree& tree, const fs::path& folder) {
  const judge::WorkFolder work;
  std::vector<std::string> archive{RINGCRAFT_AR, "rcsD", folder / "src" / "sealed.a"};
  const auto add = [&](const std::string& path, const std::string& ending, const std::string& flags) {
    const std::string member = replaced(path + ending, "/", "__");
    std::vector<std::string> arguments = compile_flags(path, flags);
    arguments.insert(arguments.begin(), RINGCRAFT_CXX);
    arguments.insert(arguments.end(), {"-c", path, "-o", work.path() / member});
    call(std::move(arguments), kRoot);
    archive.push_back(member);
  };
  const std::string instrumentation = RINGCRAFT_INSTRUMENTATION;
  for (const std::string& path : tree.sealed) {
    add(path, ".o", "");
    if (path.ends_with(".cu") && !instrumentation.empty()) add(path, ".checked.o", instrumentation);
  }
  call(std::move(archive), work.path());
  write(folder / "src" / "sealed.txt", list_of(tree, RINGCRAFT_PLATFORM));
}

// ---- the command

void tell(const ExportRequest& request, const StudentTree& tree, const std::set<int>& sealed,
          const std::set<int>& solved, const std::set<int>& known) {
  std::printf("%s: %s for students\n", shown(request.folder, 200).c_str(),
              counted(tree.files.size(), "file").c_str());
  std::printf("  sealed     %s\n", listed_lessons(sealed, known).c_str());
  std::printf("  with body  %s\n", listed_lessons(solved, known).c_str());
  if (request.objects) std::printf("  prebuilt   for %s\n", RINGCRAFT_PLATFORM);
  std::printf("  left out   git history, exercises, and every test that shows a solution\n");
  std::printf(
      "Sealed is not encrypted: students can unpack it. Next: try ./ringcraft run there, then hand "
      "it out.\n");
}

}  // namespace

int export_tree(const ExportRequest& request) {
  refuse_exported_tree("export", kRoot);
  const std::set<int> known = lessons_with_exercise();
  const std::set<int> solved = lessons_listed("--solved", request.solved, known);
  std::set<int> sealed;
  std::ranges::set_difference(known, solved, std::inserter(sealed, sealed.end()));
  const fs::path folder = checked_folder(request.folder);
  const StudentTree tree = student_tree(kRoot, sealed, known);
  Partial partial(folder);
  write_files(tree, partial.path());
  if (!tree.sealed.empty())
    request.objects ? seal_objects(tree, partial.path()) : seal_sources(tree, partial.path());
  partial.finish();
  tell(request, tree, sealed, solved, known);
  return 0;
}

}  // namespace ringcraft::tool
