// Walks through folders and archives of one student.
#include "grade/intake/hand_ins.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "grade/intake/names.hpp"
#include "grade/intake/text_rules.hpp"
#include "grade/intake/writing.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::grade {
namespace {

constexpr std::size_t kMostRemarks = 10;
constexpr std::size_t kMostOthers = 100;   // files that cannot matter
constexpr std::size_t kMostHandIns = 100;  // of one student
constexpr std::size_t kMostOwnHeaders = 50;
constexpr std::size_t kDeepestFolder = 24;
constexpr int kMostNestedArchives = 2;

// A header as it is copied: the name that #include asks for, and its text.
using OwnHeader = std::pair<std::string, std::string>;

bool can_be_included(std::string_view name) { return name == safe_name(name) && is_header_name(name); }

class StudentWalk {
 public:
  StudentWalk(Student& student, Tree& tree, std::filesystem::path folder,
              const std::vector<Exercise>& exercises, const IntakeLimits& limits)
      : student_(student),
        tree_(tree),
        folder_(std::move(folder)),
        exercises_(exercises),
        limits_(limits),
        budget_{limits.files, limits.total_bytes, kMostOthers},
        bytes_for_copies_(limits.total_bytes) {}

  void read(const std::vector<Entry>& entries) {
    Place together;  // files that an export puts side by side
    std::vector<Item> files;
    for (const Entry& entry : entries) {
      if (!entry.own || !entry.node.opens()) files.push_back({entry.node, &entry});
    }
    visit(files, together);
    for (const Entry& entry : entries)
      if (entry.own && entry.node.opens()) open({entry.node, &entry}, {}, entry.node.name);
    finish();
  }

 private:
  struct Item {
    Node node;
    const Entry* entry;  // that it belongs to
  };
  struct Place {
    std::string path = {};                  // with a '/' at its end, as the student knows it
    std::vector<std::string> folders = {};  // the same in parts
    int archives = 0;                       // that it lies in
  };
  struct Attempt {
    HandIn hand_in;
    std::tuple<const Exercise*, std::int64_t, std::uint64_t, int, std::string> order;
  };

  // Folders and archives after the files beside them, so that no open folder has to wait for what others
  // hold.
  void visit(const std::vector<Item>& items, const Place& place) {
    const auto has_folder = [&](std::string_view name) {
      return std::ranges::any_of(items, [&](const Item& item) {
        return item.node.name == name && item.node.kind == Node::Kind::kFolder;
      });
    };
    const bool whole_course = has_folder("lessons") && has_folder("src");
    if (whole_course && !has_folder("exercises"))
      return remark(place.path + "exercises",
                    "is missing, and that folder is what counts in a copy of the course");
    std::vector<const Item*> inner, headers;
    std::vector<std::pair<const Item*, Identified>> works;
    for (const Item& item : items) {
      if (whole_course && item.node.name != "exercises") continue;
      std::vector<std::string> folders = item.entry->folders;
      folders.insert(folders.end(), place.folders.begin(), place.folders.end());
      Identified found = identify(item.node.name, folders, exercises_);
      if (item.node.opens())
        inner.push_back(&item);
      else if (found.exercise != nullptr)
        works.emplace_back(&item, std::move(found));
      else if (found.several)
        remark(place.path + item.node.name,
               "may be the file of several exercises: put it into the folder of its lesson");
      else if (is_header_name(item.node.name))
        headers.push_back(&item);
      else if (!is_passed_over(item.node.name))
        remark(place.path + item.node.name, about_other(item.node));
    }
    std::vector<OwnHeader> copies;
    if (!works.empty()) copies = read_headers(headers, place);
    for (const auto& [item, found] : works) take(*item, found, place, copies);
    if (works.empty())
      for (const Item* header : headers) remark(place.path + header->node.name, "has no exercise beside it");
    for (const Item* item : inner) {
      Place next = place;
      next.path += item->node.name + "/";
      next.folders.push_back(item->node.name);
      open(*item, std::move(next), place.path + item->node.name);
    }
  }

  // `name`: for sentences.
  void open(const Item& item, Place place, const std::string& name) {
    if (item.node.kind != Node::Kind::kFolder && ++place.archives > kMostNestedArchives)
      return remark(name, "is an archive in archives: pack one archive alone");
    if (place.folders.size() > kDeepestFolder) return remark(name, "lies too many folders deep");
    const Listing listing = tree_.list(item.node, budget_);
    if (!listing.complaint.empty()) remark(name, listing.complaint);
    std::vector<Item> items;
    for (const Node& node : listing.nodes) items.push_back({node, item.entry});
    visit(items, place);
  }

  static std::string about_other(const Node& node) {
    switch (node.kind) {
      case Node::Kind::kFile:
        return "is no file of these exercises";
      case Node::Kind::kLink:
        return "is a link, and no link is followed: hand in what it leads to";
      case Node::Kind::kAstray:
        return "has a path that leads out of its archive";
      default:
        return "is no regular file";
    }
  }

  std::vector<OwnHeader> read_headers(const std::vector<const Item*>& headers, const Place& place) {
    std::vector<OwnHeader> copies;
    for (const Item* header : headers) {
      const std::string path = place.path + header->node.name;
      Contents got = Tree::read(header->node, limits_.file_bytes);
      if (!got.refusal) got.refusal = refusal_of_text(got.bytes);
      if (got.refusal)
        remark(path, got.refusal.why);
      else if (!can_be_included(header->node.name))
        remark(path, "has a name that is no name for a header");
      else if (copies.size() >= kMostOwnHeaders)
        remark(path, "is one header too many");
      else
        copies.emplace_back(header->node.name, std::move(got.bytes));
    }
    // mine-1.hpp, as exports call what was uploaded twice, is included as mine.hpp.
    for (std::size_t i = 0, count = copies.size(); i < count; ++i) {
      const std::string plain = without_attempt(copies[i].first);
      if (std::ranges::find(copies, plain, &OwnHeader::first) == copies.end())
        copies.emplace_back(plain, copies[i].second);
    }
    return copies;
  }

  void take(const Item& item, const Identified& found, const Place& place,
            const std::vector<OwnHeader>& headers) {
    const std::string path = place.path + item.node.name;
    HandIn hand_in{.exercise = found.exercise->id, .file = {}, .name = shown(path, 200)};
    hand_in.handed_in = item.entry->handed_in;
    hand_in.late = item.entry->late;
    Contents got = Tree::read(item.node, limits_.file_bytes);
    if (!got.refusal) got.refusal = refusal_of_text(got.bytes);
    std::uintmax_t bytes = got.bytes.size();
    for (const auto& [name, text] : headers) bytes += text.size();
    if (attempts_.size() >= kMostHandIns || bytes > bytes_for_copies_)
      return remark(path, "is one file too many, and is not judged");
    if (got.refusal) {
      hand_in.refusal = sentence(path, got.refusal.why);
      hand_in.refusal_code = got.refusal.code;
    } else {
      const std::filesystem::path folder = folder_ / std::to_string(attempts_.size());
      make_folder(folder);
      bytes_for_copies_ -= bytes;
      hand_in.file = folder / found.exercise->file;
      for (const auto& [name, text] : headers) NewFile(folder / name).write(text);
      NewFile(hand_in.file).write(got.bytes);
      if (found.fit.as_txt) remark(path, "is taken as " + found.exercise->file);
    }
    attempts_.push_back(
        {std::move(hand_in),
         {found.exercise, item.entry->handed_in.value_or(0), item.entry->order, found.fit.attempt, path}});
  }

  static std::string sentence(const std::string& path, const std::string& why) {
    return shown(path, 120) + " " + why;
  }

  void remark(const std::string& path, const std::string& why) {
    if (student_.remarks.size() < kMostRemarks)
      student_.remarks.push_back(sentence(path, why));
    else
      ++more_remarks_;
  }

  void finish() {
    std::ranges::stable_sort(attempts_, {}, &Attempt::order);  // exercises lie in their order in one vector
    for (Attempt& attempt : attempts_) student_.hand_ins.push_back(std::move(attempt.hand_in));
    if (more_remarks_ > 0)
      student_.remarks.push_back("and " + counted(more_remarks_, "more remark") + " like these");
  }

  Student& student_;
  Tree& tree_;
  std::filesystem::path folder_;
  const std::vector<Exercise>& exercises_;
  const IntakeLimits& limits_;
  Budget budget_;
  std::uintmax_t bytes_for_copies_;
  std::vector<Attempt> attempts_;
  std::size_t more_remarks_ = 0;
};

}  // namespace

void read_student(Student& student, const std::vector<Entry>& entries, Tree& tree,
                  const std::filesystem::path& scratch, const std::vector<Exercise>& exercises,
                  const IntakeLimits& limits) {
  StudentWalk(student, tree, scratch / student.key, exercises, limits).read(entries);
}

}  // namespace ringcraft::grade
