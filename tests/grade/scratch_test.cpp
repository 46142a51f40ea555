// Where a grading run works: what such a folder must give, and what is left of it.
#include "grade/run/scratch.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "io/files.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace ringcraft::grade {
namespace {

namespace fs = std::filesystem;

// TMPDIR, for the length of a test.
class Tmpdir {
 public:
  explicit Tmpdir(const fs::path& folder) {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", folder.c_str(), 1);
  }
  ~Tmpdir() { before_.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before_.c_str(), 1); }
  Tmpdir(const Tmpdir&) = delete;
  Tmpdir& operator=(const Tmpdir&) = delete;

 private:
  std::string before_;
};

Sight sight_in(const fs::path& folder) {
  fs::create_directories(folder / "work");
  fs::create_directories(folder / "out");
  return {{}, {folder / "out"}, folder / "work", folder / "work"};
}

// The id of a process that has ended.
pid_t nobody_is() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

}  // namespace

TEST_CASE("a run's folder has a whole path, goes with the run, and takes those of killed runs along") {
  const test::Scratch folder;
  const Tmpdir there(fs::relative(folder / "."));
  const std::string begins = process::own_names("ringcraft-grade"),
                    killed = begins + std::to_string(nobody_is()) + "-abcdef",
                    running = begins + std::to_string(::getppid()) + "-abcdef",
                    elsewhere = "ringcraft-grade-elsewhere-" + std::to_string(nobody_is()) + "-abcdef";
  for (const std::string& name : {killed, running, elsewhere, begins + "x", std::string("mine")})
    fs::create_directories(folder / name / "hand-ins");
  fs::path own;
  {
    const process::OwnFolder scratch = scratch_folder();
    own = scratch.path();
    CHECK(own.is_absolute());
    CHECK(fs::is_directory(own));
    CHECK((fs::status(own).permissions() & (fs::perms::group_all | fs::perms::others_all)) ==
          fs::perms::none);
  }
  CHECK(!fs::exists(own));
  CHECK(!fs::exists(folder / killed));
  CHECK(fs::exists(folder / running));
  CHECK(fs::exists(folder / elsewhere));
  CHECK(fs::exists(folder / (begins + "x")));
  CHECK(fs::exists(folder / "mine"));
}

TEST_CASE("a TMPDIR that is not there is named") {
  const test::Scratch folder;
  const Tmpdir there(folder / "nothing");
  testing::check_refused([] { scratch_folder(); }, "nothing", Code::kMissing);
}

TEST_CASE("where judged programs cannot be written and started, or have no room, nothing is graded") {
  const test::Scratch folder;
  const std::vector<Layer> all = layers("/");
  const Sight good = sight_in(folder / "good");
  fs::permissions(folder / ".", fs::perms::all);
  give(folder / "good", all);
  require_work(good, all);
  CHECK(fs::is_empty(good.work));

  const Sight full{{}, {}, "/proc", "/proc"};  // of no size
  CHECK(!has_room(full, all));
  testing::check_refused([&] { require_work(full, all); }, "room for the judges' files in /proc",
                         Code::kMissing);

  if (::geteuid() == 0 && !(has(all, "namespaces") && has(all, "user"))) return;  // who may write everywhere
  const Sight closed = sight_in(folder / "closed");
  give(folder / "closed", all);
  fs::permissions(closed.work, fs::perms::owner_read | fs::perms::owner_exec);
  testing::check_refused([&] { require_work(closed, all); }, "closed/work and started there", Code::kMissing);
}

}  // namespace ringcraft::grade
