// The program. Exit codes: 0 good, 1 the answer is wrong, 2 the call is wrong, 3 something needed is missing.
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>

#include "process/child.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "tool/commands/command_line.hpp"

namespace {

// A sentence may repeat typed words or the name of a file: none of it moves the cursor.
int report(const std::string& sentence, ringcraft::Code code) {
  std::fprintf(stderr, "ringcraft: %s\n", ringcraft::shown(sentence, 4000).c_str());
  return static_cast<int>(code);
}

}  // namespace

int main(int argc, char** argv) {
  ringcraft::process::end_children_on_signals();
  std::signal(SIGXFSZ, SIG_IGN);  // a write to a file that may not grow fails, and is reported
  try {
    const int code = ringcraft::tool::parse_command_line(argc, argv)();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      return report("standard output takes no more: is the disk full?", ringcraft::Code::kMissing);
    return code;
  } catch (const ringcraft::Error& error) {
    return report(error.what(), error.code());
  } catch (const std::filesystem::filesystem_error& error) {
    return report(error.path1().string() + ": " + error.code().message(), ringcraft::Code::kWrongCall);
  } catch (const std::bad_alloc&) {
    return report("out of memory; try a shorter sequence", ringcraft::Code::kMissing);
  } catch (const std::exception& error) {
    return report(error.what(), ringcraft::Code::kWrongAnswer);
  }
}
