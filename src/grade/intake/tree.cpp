// Lists and reads by open descriptors.
#include "grade/intake/tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "grade/intake/names.hpp"
#include "grade/intake/writing.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::grade {
namespace {

namespace fs = std::filesystem;
using process::Descriptor;
using OpenFolder = std::shared_ptr<const Descriptor>;

constexpr std::size_t kMostNames = 200'000;  // of one folder: a bound for time and memory
constexpr int kOtherRank = 2;
constexpr std::size_t kDeepest = 64;  // folders in folders of an archive
constexpr int kOpenPlainly =
    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;  // a pipe would be waited for

constexpr const char* kPackOwn = "hand in your own files alone";

std::string system_reason(int error) { return std::strerror(error); }

Descriptor open_plainly(int parent, const std::string& name, int more_flags) {
  const int got = ::openat(parent, name.c_str(), kOpenPlainly | more_flags);
  return got < 0 ? Descriptor() : Descriptor(got);
}

Node::Kind kind_of_mode(mode_t mode) {
  return S_ISDIR(mode)   ? Node::Kind::kFolder
         : S_ISREG(mode) ? Node::Kind::kFile
         : S_ISLNK(mode) ? Node::Kind::kLink
                         : Node::Kind::kOther;
}

// Names that matter come first, then folders, then the rest.
int rank_of(std::string_view name, bool folder, const std::vector<Exercise>& exercises) {
  return may_matter(name, exercises) ? 0 : folder ? 1 : kOtherRank;
}

using RankedName = std::pair<int, std::string>;

// Names of a folder's entries; false if there are more than kMostNames.
bool read_folder_names(const Descriptor& folder, const std::vector<Exercise>& exercises,
                       std::vector<RankedName>& names) {
  const int again = ::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(again < 0 ? nullptr : ::fdopendir(again), ::closedir);
  if (!stream) return false;
  while (const dirent* entry = ::readdir(stream.get())) {
    if (is_passed_over(entry->d_name)) continue;
    if (names.size() == kMostNames) return false;
    names.emplace_back(
        rank_of(entry->d_name, entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN, exercises),
        entry->d_name);
  }
  return true;
}

// A folder of an archive while its entries come in, in any order.
struct GrowingFolder {
  std::map<std::string, GrowingFolder> folders;
  std::vector<Node> others;

  std::vector<Node> nodes(const std::vector<Exercise>& exercises) const;
};

void sort_archive_nodes(std::vector<Node>& nodes, const std::vector<Exercise>& exercises) {
  std::ranges::stable_sort(nodes, {}, [&](const Node& node) {
    return RankedName(rank_of(node.name, node.kind == Node::Kind::kFolder, exercises), node.name);
  });
}

std::vector<Node> GrowingFolder::nodes(const std::vector<Exercise>& exercises) const {
  std::vector<Node> all = others;
  for (const auto& [name, folder] : folders)
    all.push_back({.name = name,
                   .kind = Node::Kind::kFolder,
                   .inside = std::make_shared<std::vector<Node>>(folder.nodes(exercises))});
  sort_archive_nodes(all, exercises);
  return all;
}

// Puts an entry in its place; its name is the last part of its path.
void place_entry(GrowingFolder& root, const ArchiveEntry& entry, const OpenFolder& unpacked) {
  GrowingFolder* folder = &root;
  bool astray = entry.path.starts_with('/');
  std::string name;
  std::size_t depth = 0;
  for (const fs::path& part : fs::path(entry.path).relative_path()) {
    if (part == "..") astray = true;
    if (part.empty() || part == "." || part == "..") continue;
    if (is_passed_over(part.string()) || ++depth > kDeepest) return;
    if (!name.empty()) folder = &folder->folders[name];
    name = part.string();
  }
  if (name.empty()) return;
  if (entry.kind == ArchiveEntry::Kind::kFolder && !astray) {
    folder->folders[name];
    return;
  }
  using Kind = ArchiveEntry::Kind;
  const Node::Kind kind = astray                      ? Node::Kind::kAstray
                          : entry.kind == Kind::kFile ? Node::Kind::kFile
                          : entry.kind == Kind::kLink ? Node::Kind::kLink
                                                      : Node::Kind::kOther;
  folder->others.push_back({.name = name,
                            .kind = kind,
                            .size = entry.size,
                            .folder = entry.stored.empty() ? nullptr : unpacked,
                            .stored = entry.stored});
}

}  // namespace

bool Node::opens() const { return kind == Kind::kFolder || (kind == Kind::kFile && stem_of_archive(name)); }

Node Tree::at(const fs::path& path) {
  std::error_code failed;
  const fs::path whole = fs::canonical(path, failed);
  Descriptor parent;
  struct stat status {};
  if (!failed) parent = open_plainly(AT_FDCWD, whole.parent_path().string(), O_DIRECTORY);
  const std::string name = whole.has_filename() ? whole.filename().string() : ".";
  const bool there =
      parent.open() && ::fstatat(parent.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  const std::string why = failed ? failed.message() : there ? "" : system_reason(errno);
  Node node{.name = name,
            .kind = kind_of_mode(status.st_mode),
            .size = static_cast<std::uintmax_t>(status.st_size),
            .folder = std::make_shared<const Descriptor>(std::move(parent)),
            .stored = name};
  if (!there || !node.opens())
    throw Error("grade", "a folder or an archive with what a class has handed in",
                path.string() + (there ? ", which is neither" : " (" + why + ")"), "check the path");
  return node;
}

Listing Tree::list(const Node& node, Budget& budget) {
  if (node.inside != nullptr) return {*node.inside, {}};
  return node.kind == Node::Kind::kFolder ? list_folder(node, budget) : list_archive(node, budget);
}

Listing Tree::list_folder(const Node& node, Budget& budget) const {
  const auto folder =
      std::make_shared<const Descriptor>(open_plainly(node.folder->get(), node.stored, O_DIRECTORY));
  if (!folder->open()) return {{}, "cannot be opened (" + system_reason(errno) + ")"};
  std::vector<RankedName> names;
  bool all = read_folder_names(*folder, exercises_, names);
  std::ranges::sort(names);
  Listing result;
  for (const auto& [rank, name] : names) {
    struct stat status {};
    std::size_t& left = rank == kOtherRank ? budget.others : budget.files;
    if (left == 0) {
      all = false;
      break;
    }
    --left;
    if (::fstatat(folder->get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;  // it is gone
    result.nodes.push_back({.name = name,
                            .kind = kind_of_mode(status.st_mode),
                            .size = static_cast<std::uintmax_t>(status.st_size),
                            .folder = folder,
                            .stored = name});
  }
  if (!all)
    result.complaint = std::string("holds too many files, of which not all were looked at: ") + kPackOwn;
  return result;
}

Listing Tree::list_archive(const Node& node, Budget& budget) {
  if (!node.folder)
    return {{}, "is larger than " + std::to_string(limits_.total_bytes >> 20) + " MB: " + kPackOwn};
  const Descriptor archive = open_plainly(node.folder->get(), node.stored, 0);
  if (!archive.open()) return {{}, "cannot be opened (" + system_reason(errno) + ")"};
  const fs::path into = scratch_ / kUnpacked / std::to_string(archives_++);
  make_folder(into);
  const auto folder = std::make_shared<const Descriptor>(open_plainly(AT_FDCWD, into.string(), O_DIRECTORY));
  const auto most_of = [&](std::string_view path) {
    const std::string name = fs::path(path).filename().string();
    if (!may_matter(name, exercises_)) return std::uintmax_t(0);
    return stem_of_archive(name) || name == kGradescopeMetadata ? limits_.total_bytes : limits_.file_bytes;
  };
  const Unpacked unpacked = unpack(archive.get(), node.name, into, most_of, budget);
  GrowingFolder root;
  for (const ArchiveEntry& entry : unpacked.entries) place_entry(root, entry, folder);
  return {root.nodes(exercises_), unpacked.complaint};
}

bool Tree::is_repository(const Node& node) {
  if (node.kind != Node::Kind::kFolder || !node.folder) return false;
  const Descriptor folder = open_plainly(node.folder->get(), node.stored, O_DIRECTORY);
  struct stat status {};
  return folder.open() && ::fstatat(folder.get(), ".git", &status, AT_SYMLINK_NOFOLLOW) == 0;
}

Contents Tree::read(const Node& node, std::uintmax_t most_bytes) {
  const auto large = [&] {
    return Contents{
        {}, {"large", "is larger than " + std::to_string(most_bytes >> 10) + " KB: hand in your code alone"}};
  };
  switch (node.kind) {
    case Node::Kind::kLink:
      return {{}, {"link", "is a link, and no link is followed: hand in the file itself"}};
    case Node::Kind::kAstray:
      return {{}, {"path", "has a path that leads out of its archive: pack it again, in your own folder"}};
    case Node::Kind::kFile:
      break;
    default:
      return {{}, {"no-file", "is no regular file: hand in a file of text"}};
  }
  if (node.size > most_bytes) return large();
  const Descriptor file = node.folder ? open_plainly(node.folder->get(), node.stored, 0) : Descriptor();
  struct stat status {};
  if (!file.open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    if (!file.open() && errno == EACCES)
      return {{},
              {"unreadable",
               "cannot be read (" + system_reason(EACCES) + "): change its permissions and grade again"}};
    return {{}, {"changed", "was replaced or removed while it was read: grade again"}};
  }
  Contents result;
  char bytes[1 << 14];
  for (ssize_t got; (got = ::read(file.get(), bytes, sizeof bytes)) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return {{}, {"unreadable", "cannot be read (" + system_reason(errno) + "): grade again"}};
    result.bytes.append(bytes, static_cast<std::size_t>(got));
    if (result.bytes.size() > most_bytes) return large();
  }
  return result;
}

}  // namespace ringcraft::grade
