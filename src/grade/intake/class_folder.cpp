// Finds out whose the entries of a class's folder are, and reads each student's.
#include "grade/intake/class_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "grade/intake/hand_ins.hpp"
#include "grade/intake/names.hpp"
#include "grade/intake/tree.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/hash.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::grade {
namespace {

constexpr std::size_t kMostRemarksOfClass = 20;
constexpr std::size_t kLargestClass = 20;  // times what one student may hand in
constexpr int kMostWrappers = 8;           // folders around the only folder
constexpr std::string_view kClassroomEnding = "-submissions";

// An entry, and whose it is.
struct Owned {
  std::string identity;  // the same in every export of a class
  std::string name;
  std::vector<Person> people;
  Entry entry;
};

class ClassReader {
 public:
  ClassReader(Tree& tree, const std::vector<Exercise>& exercises, const IntakeLimits& limits)
      : tree_(tree),
        exercises_(exercises),
        budget_{kLargestClass * limits.files, kLargestClass * limits.total_bytes,
                kLargestClass * limits.files},
        most_metadata_(limits.total_bytes) {}

  std::vector<Owned> entries_of(const Node& folder) { return level(folder, list(folder)); }
  std::vector<std::string> remarks() const { return remarks_; }

 private:
  // The contents of a folder: students, or exports that hold them, or one folder that holds either.
  std::vector<Owned> level(const Node& folder, const std::vector<Node>& nodes) {
    if (std::ranges::any_of(nodes, [](const Node& node) { return exported_name(node.name).has_value(); }))
      return of_export(nodes, folder.name);
    if (std::vector<Owned> all; are_exports(nodes, all)) return all;
    if (is_workspace(nodes)) return {plain(folder, folder.name)};
    if (nodes.size() == 1 && nodes[0].opens() && !is_of_one_student(nodes[0]))
      return level(nodes[0], list(nodes[0]));
    return of_students(nodes, folder.name);
  }

  // Whether folders with one thing in each lead to somebody's work, or to nothing.
  bool is_of_one_student(const Node& node, int depth = 0) {
    const std::vector<Node> inner = list(node);
    if (inner.empty() || is_workspace(inner) || holds_work(inner)) return true;
    return inner.size() == 1 && inner[0].opens() && depth < kMostWrappers &&
           is_of_one_student(inner[0], depth + 1);
  }

  // Whether all nodes are exports, as several assignments give them; their entries.
  bool are_exports(const std::vector<Node>& nodes, std::vector<Owned>& all) {
    for (const Node& node : nodes) {
      if (!node.opens()) return false;
      const std::vector<Node> inner = list(node);
      const bool by_form = !inner.empty() && std::ranges::all_of(inner, [](const Node& one) {
        return one.name == kGradescopeMetadata || exported_name(one.name).has_value();
      });
      if (!by_form && classroom_prefix_of(node.name, inner).empty()) return false;
      std::vector<Owned> found = by_form ? of_export(inner, node.name) : of_students(inner, node.name);
      std::ranges::move(found, std::back_inserter(all));
    }
    return !nodes.empty();
  }

  std::vector<Owned> of_export(const std::vector<Node>& nodes, const std::string& folder) {
    std::map<std::string, Submission> metadata;
    std::map<std::string, std::set<std::string>> ids;  // of each name: two students may have the same
    for (const Node& node : nodes) {
      if (node.name == kGradescopeMetadata) metadata = read_metadata(Tree::read(node, most_metadata_).bytes);
      if (const auto found = exported_name(node.name)) ids[found->student].insert(found->id);
    }
    std::vector<Owned> all;
    std::vector<Node> others;
    for (const Node& node : nodes) {
      const auto found = exported_name(node.name);
      if (node.name == kGradescopeMetadata) continue;
      if (!found) {
        others.push_back(node);
        continue;
      }
      const bool needs_id = found->id_stays || ids[found->student].size() > 1;
      const bool has_name = found->student != found->id;
      Owned one{found->student + (needs_id ? "\n" + found->id : ""),
                found->student,
                {{has_name ? found->student : "", found->id}},
                {.node = node}};
      if (const auto known = metadata.find(node.name);
          known != metadata.end() && !known->second.name.empty()) {
        one.identity = known->second.identity;
        one.name = known->second.name;
        one.people = known->second.people;
        one.entry.handed_in = known->second.handed_in;
      }
      one.entry.own = found->rest.empty();
      if (!one.entry.own) one.entry.node.name = found->rest;
      one.entry.late = found->late;
      one.entry.order = found->order;
      one.entry.folders = {folder};
      all.push_back(std::move(one));
    }
    std::ranges::move(of_students(others, folder), std::back_inserter(all));
    return all;
  }

  // A folder or an archive for each student, or files with the student's name in front.
  std::vector<Owned> of_students(const std::vector<Node>& nodes, const std::string& folder) {
    const std::string prefix = classroom_prefix(nodes, folder);
    std::vector<Owned> all;
    for (const Node& node : nodes) {
      if (node.opens()) {
        const std::string name = node.kind == Node::Kind::kFolder ? node.name : *stem_of_archive(node.name);
        all.push_back(plain(node, name.starts_with(prefix) ? name.substr(prefix.size()) : name));
      } else if (std::string name = owner_of_file(node.name); !name.empty()) {
        all.push_back(plain(node, name));
        all.back().entry.own = false;
        all.back().entry.node.name = node.name.substr(name.size() + 1);
      } else if (node.kind == Node::Kind::kLink) {
        all.push_back(plain(node, node.name));
      } else {
        remark(node);
      }
    }
    return all;
  }

  static Owned plain(const Node& node, const std::string& name) {
    return {name, name, {{name, ""}}, {.node = node}};
  }

  // "ada" of "ada_merge.cpp".
  std::string owner_of_file(const std::string& name) const {
    const Identified found = identify(name, {}, exercises_);
    if (found.exercise == nullptr || found.fit.before.empty()) return {};
    return found.fit.before.substr(0, found.fit.before.size() - 1);
  }

  // GitHub Classroom calls its folders by the assignment and the student, in a folder of the assignment.
  static std::string classroom_prefix_of(const std::string& folder, const std::vector<Node>& nodes) {
    if (!folder.ends_with(kClassroomEnding) || nodes.empty()) return {};
    const std::string prefix = folder.substr(0, folder.size() - kClassroomEnding.size()) + "-";
    const bool all = std::ranges::all_of(nodes, [&](const Node& node) {
      return node.name.size() > prefix.size() && node.name.starts_with(prefix);
    });
    return all ? prefix : std::string();
  }

  // The same in a folder of any name: repositories, all of which begin alike.
  static std::string classroom_prefix(const std::vector<Node>& nodes, const std::string& folder) {
    if (std::string known = classroom_prefix_of(folder, nodes); !known.empty()) return known;
    std::vector<const Node*> repositories;
    for (const Node& node : nodes)
      if (node.kind == Node::Kind::kFolder) repositories.push_back(&node);
    if (repositories.size() < 2) return {};
    std::string prefix = repositories[0]->name;
    for (const Node* node : repositories) {
      const auto differ = std::ranges::mismatch(prefix, node->name);
      prefix.erase(differ.in1, prefix.end());
    }
    prefix.resize(prefix.find_last_of('-') + 1);  // to nothing if there is none
    if (prefix.empty() || !std::ranges::all_of(repositories, [&](const Node* node) {
          return node->name.size() > prefix.size() && Tree::is_repository(*node);
        }))
      return {};
    return prefix;
  }

  // One student's own folder, and no class's.
  bool is_workspace(const std::vector<Node>& nodes) const {
    return std::ranges::any_of(nodes, [&](const Node& node) {
      return node.kind == Node::Kind::kFolder &&
             (node.name == "exercises" ||
              std::ranges::find(exercises_, node.name, &Exercise::folder) != exercises_.end());
    });
  }

  bool holds_work(const std::vector<Node>& nodes) const {
    return std::ranges::any_of(nodes, [&](const Node& node) {
      const Identified found = identify(node.name, {}, exercises_);
      return !node.opens() && (found.several || (found.exercise != nullptr && found.fit.before.empty()));
    });
  }

  std::vector<Node> list(const Node& node) {
    Listing listing = tree_.list(node, budget_);
    if (!listing.complaint.empty()) remarks_.push_back(shown(node.name, 120) + " " + listing.complaint);
    return std::move(listing.nodes);
  }

  void remark(const Node& node) {
    if (remarks_.size() < kMostRemarksOfClass)
      remarks_.push_back(shown(node.name, 120) + " belongs to no student");
  }

  Tree& tree_;
  const std::vector<Exercise>& exercises_;
  Budget budget_;
  std::uintmax_t most_metadata_;
  std::vector<std::string> remarks_;
};

// The entries of one student.
struct Owner {
  std::string name;
  std::vector<Person> people;
  std::vector<Entry> entries;
};

// Keys that no two students share, on file systems that do not tell "Ada" from "ada" either. A key follows
// from the student alone, and not from the rest of the class, unless a namesake comes: then those that had
// the name get their ids, and nobody gets the key of another.
class Keys {
 public:
  explicit Keys(const std::map<std::string, Owner>& owners) {
    for (const auto& [identity, owner] : owners) ++same_[lowered(safe_name(owner.name))];
  }

  std::string of(const std::string& identity, const Owner& owner) {
    const std::string safe = safe_name(owner.name);
    const bool is_name = same_.at(lowered(safe)) == 1 && safe != kNoName;
    const std::string wanted = is_name ? safe : safe + "-" + number_of(identity, owner);
    std::string key = wanted;
    for (int next = 2; !taken_.insert(lowered(key)).second; ++next) key = wanted + "-" + std::to_string(next);
    return key;
  }

 private:
  static std::string number_of(const std::string& identity, const Owner& owner) {
    const bool has_id = owner.people.size() == 1 && !owner.people[0].id.empty();
    const std::string id = has_id ? safe_name(owner.people[0].id) : std::string(kNoName);
    return id != kNoName ? id : fmt::format("{:08x}", fnv1a<std::uint32_t>(identity));
  }

  std::map<std::string, int> same_;
  std::set<std::string> taken_;
};

void remove_unpacked(const std::filesystem::path& scratch) {
  std::error_code ignored;
  std::filesystem::remove_all(scratch / kUnpacked, ignored);
}

}  // namespace

ClassFolder read_class(const std::filesystem::path& folder, const std::filesystem::path& scratch,
                       const std::vector<Exercise>& exercises, const IntakeLimits& limits) {
  Tree tree(scratch, exercises, limits);
  ClassReader reader(tree, exercises, limits);
  std::map<std::string, Owner> by_identity;
  for (Owned& one : reader.entries_of(Tree::at(folder))) {
    Owner& owner = by_identity[one.identity];
    if (owner.entries.empty()) owner.name = one.name, owner.people = one.people;
    owner.entries.push_back(std::move(one.entry));
  }
  ClassFolder result{.students = {}, .remarks = reader.remarks()};
  if (by_identity.empty())
    throw Error("grade", "a folder with a folder, a file or an archive for each student",
                shown(folder.string(), 200) + ", which holds none", "see docs/pages/grading.md");
  Keys keys(by_identity);
  for (const auto& [identity, owner] : by_identity) {
    Student student{.key = keys.of(identity, owner), .name = shown(owner.name, 120), .people = owner.people};
    read_student(student, owner.entries, tree, scratch, exercises, limits);
    result.students.push_back(std::move(student));
  }
  std::ranges::sort(result.students, {}, &Student::key);
  remove_unpacked(scratch);
  return result;
}

ClassFolder read_one(const std::filesystem::path& folder, const Submission& whose,
                     const std::filesystem::path& scratch, const std::vector<Exercise>& exercises,
                     const IntakeLimits& limits) {
  Tree tree(scratch, exercises, limits);
  Student student{.key = safe_name(whose.identity), .name = shown(whose.name, 120), .people = whose.people};
  const Entry entry{.node = Tree::at(folder), .late = whose.late, .handed_in = whose.handed_in};
  read_student(student, {entry}, tree, scratch, exercises, limits);
  remove_unpacked(scratch);
  return {.students = {std::move(student)}};
}

}  // namespace ringcraft::grade
