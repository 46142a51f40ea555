// Control groups: where they can be made, and what they bound.
#include "grade/jail/control_group.hpp"

#include <cstdio>
#include <filesystem>
#include <string>

#include "process/child.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace ringcraft::grade {
namespace {

namespace fs = std::filesystem;
using Places = std::vector<fs::path>;

const std::string kRest = "25 30 0:22 / /proc rw - proc proc rw\n",
                  kWhole = "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";

process::Finished run_in(const ControlGroup& group, const std::string& script) {
  return process::run_command({.arguments = {"/bin/sh", "-c", script},
                               .environment = {"PATH=/usr/bin:/bin"},
                               .group = group.folder()},
                              std::chrono::seconds(120));
}

}  // namespace

TEST_CASE("groups are made above the own one, nearest first, or in the root") {
  CHECK(group_places(kRest + kWhole, "0::/\n") == Places{"/sys/fs/cgroup"});
  CHECK(group_places(kRest + kWhole, "4:memory:/x\n0::/a.slice/b.scope\n") ==
        Places{"/sys/fs/cgroup/a.slice", "/sys/fs/cgroup"});
  CHECK(group_places("35 24 0:30 /a.slice /mnt rw - cgroup2 none rw\n", "0::/a.slice/b/c\n") ==
        Places{"/mnt/b", "/mnt"});
}

TEST_CASE("without version 2, or outside of what is mounted, there is no place for groups") {
  CHECK(group_places(kRest + "31 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
                     "4:memory:/\n0::/\n")
            .empty());
  CHECK(group_places(kWhole, "4:memory:/\n").empty());
  CHECK(group_places(kWhole, "0::/../other\n").empty());
  CHECK(group_places("35 24 0:30 /a /mnt rw - cgroup2 none rw\n", "0::/b\n").empty());
}

TEST_CASE("a place that is no control group is refused, and nothing is left there") {
  const fs::path place = fs::temp_directory_path() / "no-control-group";
  testing::check_refused([&] { ControlGroup(place, "x"); }, "a control group below", Code::kMissing);
  CHECK(!fs::exists(place));
}

TEST_CASE("a group bounds memory and processes together, and ends what is left") {
  const GroupPlace place = group_place();
  if (place.folder.empty()) {
    std::printf("skipped: no control groups: %s\n", place.reason.c_str());  // CMakeLists.txt looks for it
    return;
  }
  fs::path folder;
  {
    const ControlGroup group(place.folder, "test", {std::uintmax_t{64} << 20, 20});
    folder = group.folder();
    const auto inside = run_in(group, "cat /proc/self/cgroup; sleep 600 >/dev/null 2>&1 &");
    INFO(inside.printed);
    CHECK(inside.good());
    CHECK(inside.printed.find(folder.filename().string()) != std::string::npos);
    const auto hungry = run_in(group, "head -c 500000000 /dev/zero | tail -c 400000000 | wc -c");
    CHECK(hungry.printed.find("400000000") == std::string::npos);
    const auto crowd =
        run_in(group, "for i in $(seq 30); do sleep 600 >/dev/null 2>&1 & done; echo all of them");
    CHECK(crowd.printed.find("all of them") == std::string::npos);
  }
  CHECK(!fs::exists(folder));
}

}  // namespace ringcraft::grade
