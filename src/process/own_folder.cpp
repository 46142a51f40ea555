// Makes the temporary folder of this process, and removes those of killed ones.
#include "process/own_folder.hpp"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "ringcraft/core/error.hpp"

namespace ringcraft::process {

namespace fs = std::filesystem;

std::vector<fs::path> left_by_killed(const fs::path& above, const std::string& begins) {
  std::vector<fs::path> left;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(above, ignored)) {
    const std::string name = entry.path().filename().string();
    const long pid = name.starts_with(begins) ? std::atol(name.c_str() + begins.size()) : 0;
    if (pid > 0 && ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) left.push_back(entry.path());
  }
  return left;
}

std::string own_names(const std::string& prefix) {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  std::string name = prefix + "-";
  for (const char* letter = host; *letter != '\0'; ++letter)
    name += std::isalnum(static_cast<unsigned char>(*letter)) != 0 ? *letter : '-';
  return name + "-";
}

fs::path temporary_place(const OwnFolder::Told& told) {
  std::error_code failed;
  const fs::path place = fs::temp_directory_path(failed);
  if (!failed) return fs::absolute(place);
  const char* named = std::getenv("TMPDIR");
  throw Error(told.where, "a folder to work in", named != nullptr ? named : failed.message(), told.advice,
              Code::kMissing);
}

OwnFolder::OwnFolder(const fs::path& above, const std::string& prefix, const Told& told) {
  const std::string begins = own_names(prefix);
  std::error_code ignored;
  for (const fs::path& left : left_by_killed(above, begins)) fs::remove_all(left, ignored);
  std::string name = (above / (begins + std::to_string(::getpid()) + "-XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr)
    throw Error(told.where, "a folder to work in below " + above.string(), std::strerror(errno), told.advice,
                Code::kMissing);
  path_ = name;
}

OwnFolder::~OwnFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace ringcraft::process
