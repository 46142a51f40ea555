// Restricts a process to some folders by rules of Landlock.
#include "process/reach.hpp"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace ringcraft::process {
namespace {

// Access rights of Landlock's first version; every later one has them.
constexpr std::uint64_t kReadFile = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE;
constexpr std::uint64_t kChangeFile = kReadFile | LANDLOCK_ACCESS_FS_WRITE_FILE;
constexpr std::uint64_t kRead = kReadFile | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kChange = kRead | kChangeFile | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                  LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                  LANDLOCK_ACCESS_FS_MAKE_REG;
constexpr std::uint64_t kAll = kChange | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                               LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
                               LANDLOCK_ACCESS_FS_MAKE_SYM;

void add(const Descriptor& rules, const std::filesystem::path& path, std::uint64_t to_folder,
         std::uint64_t to_file) {
  const int fd = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) return;
  const Descriptor place(fd);
  struct stat status {};
  if (::fstat(place.get(), &status) != 0) return;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = S_ISDIR(status.st_mode) ? to_folder : to_file;
  rule.parent_fd = place.get();
  ::syscall(SYS_landlock_add_rule, rules.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

}  // namespace

bool reach_is_held() {
  static const bool held =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
  return held;
}

Descriptor rules_of(const Reach& reach) {
  if (!reach_is_held()) return {};
  landlock_ruleset_attr handled{};
  handled.handled_access_fs = kAll;
  const long fd = ::syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
  if (fd < 0) return {};
  Descriptor rules(static_cast<int>(fd));
  for (const auto& path : reach.reads) add(rules, path, kRead, kReadFile);
  for (const auto& path : reach.writes) add(rules, path, kChange, kChangeFile);
  return rules;
}

bool hold_to(int rules) {
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_landlock_restrict_self, rules, 0) == 0;
}

}  // namespace ringcraft::process
