// Folders that somebody changes while they are read.
#include <sys/stat.h>

#include "grade/class_of_files.hpp"
#include "grade/intake/tree.hpp"

namespace ringcraft::grade {
namespace fs = std::filesystem;

namespace {

const Node& node_named(const std::vector<Node>& nodes, const std::string& name) {
  for (const Node& node : nodes)
    if (node.name == name) return node;
  FAIL("no " << name);
  throw Error("not reached");
}

// A class whose folder is listed, and nothing in it opened.
struct Listed {
  ClassOfFiles all;
  fs::path secret = all.scratch().parent_path() / "secret";
  IntakeLimits limits;
  Tree tree{all.scratch(), kExercises, limits};
  Budget budget{100, 1 << 20, 100};
  std::vector<Node> nodes;

  Listed() {
    fs::create_directory(secret);
    test::write_bytes(secret / "merge.cpp", "// the solution\n");
    all.hand_in("merge.cpp");
    all.hand_in("ada/merge.cpp");
    nodes = tree.list(Tree::at(all.folder()), budget).nodes;
  }
};

}  // namespace

TEST_CASE("a file that becomes a link, a pipe or a folder before it is read is refused") {
  Listed listed;
  const fs::path file = listed.all.folder() / "merge.cpp";
  const Node& node = node_named(listed.nodes, "merge.cpp");
  CHECK(Tree::read(node, 1000).bytes == kWork);
  fs::remove(file);
  CHECK(Tree::read(node, 1000).refusal.code == "changed");
  fs::create_symlink(listed.secret / "merge.cpp", file);
  CHECK(Tree::read(node, 1000).refusal.code == "changed");
  CHECK(Tree::read(node, 1000).bytes.empty());
  fs::remove(file);
  REQUIRE(::mkfifo(file.c_str(), 0600) == 0);  // nobody writes to it
  CHECK(Tree::read(node, 1000).refusal.code == "changed");
  fs::remove(file);
  fs::create_directory(file);
  CHECK(Tree::read(node, 1000).refusal.code == "changed");
}

TEST_CASE("a file that has grown since it was listed is as large as it is") {
  Listed listed;
  test::write_bytes(listed.all.folder() / "merge.cpp", std::string(2000, 'a'));
  CHECK(Tree::read(node_named(listed.nodes, "merge.cpp"), 1000).refusal.code == "large");
}

TEST_CASE(
    "a folder that becomes a link is not entered, one that is replaced while it is open is read as it was") {
  Listed listed;
  const fs::path folder = listed.all.folder() / "ada", away = listed.secret / "away";
  const Node& node = node_named(listed.nodes, "ada");
  const Listing before = listed.tree.list(node, listed.budget);
  fs::rename(folder, away);
  fs::create_directory_symlink(listed.secret, folder);
  const Listing after = listed.tree.list(node, listed.budget);
  CHECK(after.nodes.empty());
  test::require_fragment(after.complaint, "cannot be opened");
  CHECK(Tree::read(node_named(before.nodes, "merge.cpp"), 1000).bytes == kWork);
}

}  // namespace ringcraft::grade
