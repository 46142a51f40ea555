// Children have limits, inherit nothing, never block their parent, and end when they should; a locked one is
// locked before its first constructor.
#include "process/child.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "support/catch.hpp"
#include "support/errors.hpp"

namespace ringcraft::process {
namespace {

Command shell(const std::string& script) {
  Command command;
  command.arguments = {"/bin/sh", "-c", script};
  command.environment = {"PATH=/usr/bin:/bin"};
  return command;
}

}  // namespace

TEST_CASE("a command's output and ending are told") {
  const Finished finished = run_command(shell("echo out; echo err >&2; exit 3"), std::chrono::seconds(30));
  CHECK(finished.printed == "out\nerr\n");
  CHECK_FALSE(finished.good());
  CHECK(described(finished.ending) == "ended itself with exit code 3");
  CHECK(run_command(shell("true"), std::chrono::seconds(30)).good());
  const Finished killed = run_command(shell("kill -SEGV $$"), std::chrono::seconds(30));
  CHECK(described(killed.ending) == "crashed (segmentation fault)");
  CHECK(run_command({.arguments = {"/no/such/program"}}, std::chrono::seconds(30)).ending.number == 127);
}

TEST_CASE("a child inherits no environment and no descriptor") {
  const Descriptor open_file(::dup(0));
  ::setenv("RINGCRAFT_SECRET", "42", 1);
  const Finished finished =
      run_command(shell("env | grep -c SECRET; ls /proc/self/fd | wc -l"), std::chrono::seconds(30));
  ::unsetenv("RINGCRAFT_SECRET");
  CHECK(finished.printed == "0\n4\n");  // the three standard ones, and the one that ls reads the folder with
}

TEST_CASE("a command that hangs is killed with all that it started") {
  const auto begun = Clock::now();
  const Finished finished = run_command(shell("sleep 1000 & echo $!; sleep 1000"), std::chrono::seconds(1));
  CHECK(finished.timed_out);
  CHECK(Clock::now() - begun < std::chrono::seconds(20));
  const int grandchild = std::stoi(finished.printed);
  for (int i = 0; i < 100 && ::kill(grandchild, 0) == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  // Gone, or a zombie that its new parent has not collected yet.
  const Finished state =
      run_command(shell("cat /proc/" + std::to_string(grandchild) + "/stat 2>/dev/null || echo 'x () Z'"),
                  std::chrono::seconds(30));
  CHECK(testing::contains(state.printed, ") Z"));
}

TEST_CASE("output beyond the limit ends a command") {
  const Finished finished = run_command(shell("yes"), std::chrono::seconds(60));
  CHECK(finished.printed.size() == std::size_t{64} << 10);
  CHECK_FALSE(finished.good());
  CHECK_FALSE(finished.timed_out);
}

TEST_CASE("limits hold") {
  Command command = shell("head -c 100000 /dev/zero > limited; ulimit -c");
  command.folder = RINGCRAFT_BINARY_DIR;
  command.limits.file_bytes = 1 << 12;
  const Finished finished = run_command(command, std::chrono::seconds(30));
  CHECK(std::filesystem::file_size(command.folder / "limited") == 1 << 12);
  CHECK(testing::contains(finished.printed, "0\n"));
  Command endless = shell("while :; do :; done");
  endless.limits.cpu_seconds = 1;
  CHECK(described(run_command(endless, std::chrono::seconds(60)).ending).find("processor time") !=
        std::string::npos);
}

TEST_CASE("a limit of the shell that leaves no room is not taken for a fault of the child") {
  const std::string files = std::to_string(std::size_t{1} << 12);
  const pid_t narrow = ::fork();  // limits cannot be taken back
  if (narrow == 0) {
    const rlimit small{1 << 10, 1 << 10};
    ::setrlimit(RLIMIT_FSIZE, &small);
    Command command = shell("true");
    command.limits.file_bytes = 1 << 12;
    const std::string said =
        testing::outcome_of([&] { (void)run_command(command, std::chrono::seconds(30)); }).sentence;
    ::_exit(said == "judge: expected " + files +
                        " bytes for a file, got a limit of 1024; lift the limit of this "
                        "shell (ulimit -f), or use another one"
                ? 0
                : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(narrow, &status, 0) == narrow);
  CHECK(status == 0);
}

#ifdef RINGCRAFT_LOCKED_PROBE
TEST_CASE("a locked child is locked before its first constructor") {
  const auto tried = [](const char* what, bool locked, std::size_t threads = 0) {
    Command command;
    command.arguments = {RINGCRAFT_LOCKED_PROBE, what};
    command.folder = RINGCRAFT_BINARY_DIR;
    command.limits.locked = locked;
    command.limits.threads = threads;
    command.sees_itself = std::string(what) == "again";
    return run_command(command, std::chrono::seconds(30));
  };
  for (const char* what :
       {"open", "create", "stat", "link", "folder", "judge", "signal", "outlive", "thread"}) {
    INFO(what);
    CHECK(tried(what, true).printed == "refused\n");
    CHECK(tried(what, false).printed == "done\n");
  }
  for (const char* what : {"socket", "fork", "vfork", "exec", "again"}) {
    INFO(what);
    const Finished finished = tried(what, true);
    CHECK(finished.printed.empty());
    CHECK(testing::contains(described(finished.ending), "asked the system for a socket or another process"));
  }
  CHECK(tried("nothing", true).printed == "done\n");
  CHECK(tried("itself", true).printed == "Bad file descriptor\n");  // it was closed when the program began
  const Finished finished = tried("threads", true, 10);
  CHECK(finished.crowded);
  CHECK_FALSE(finished.good());
}
#endif

TEST_CASE("a child opens by name what is within its reach, and so does all that it starts") {
  if (!reach_is_held()) {
    WARN("this kernel has no Landlock: no child is held to its reach");
    return;
  }
  const std::filesystem::path folder = std::filesystem::path(RINGCRAFT_BINARY_DIR) / "reach";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "may");
  std::ofstream(folder / "secret") << "secret";
  std::ofstream(folder / "given") << "given";
  const Reach reach{{"/usr", "/bin", "/lib", "/lib64", folder / "given", "/no/such/file"},
                    {folder / "may", "/dev/null"}};
  const auto printed = [&](const std::string& script, std::optional<Reach> within) {
    Command command = shell(script);
    command.folder = folder;
    command.reach = std::move(within);
    return run_command(command, std::chrono::seconds(30)).printed;
  };
  CHECK(printed("cat given; cat secret 2> /dev/null || echo no", reach) == "givenno\n");
  CHECK(printed("cat given secret", std::nullopt) == "givensecret");
  CHECK(printed("exec /bin/sh -c 'cat secret 2> /dev/null || echo no'", reach) == "no\n");
  CHECK(printed("ls . 2> /dev/null || echo no", reach) == "no\n");
  CHECK(printed("echo x > may/new && cat may/new && rm may/new && echo x >> given || echo no", reach)
            .starts_with("x\n"));
  CHECK(printed("(echo x > new) 2> /dev/null || echo no; (echo x > given) 2> /dev/null || echo no; "
                "ln -s ../secret may/link 2> /dev/null || echo no",
                reach) == "no\nno\nno\n");
  CHECK(printed("cat given", reach) == "given");
}

TEST_CASE("a child has the files that it was given") {
  const std::filesystem::path folder = RINGCRAFT_BINARY_DIR;
  std::ofstream(folder / "asked") << "a question";
  std::ofstream(folder / "answered", std::ios::trunc);
  Command command = shell("cat; echo an answer >&3");
  command.input = folder / "asked";
  command.wire = Wire::kFile;
  command.reply = folder / "answered";
  CHECK(run_command(command, std::chrono::seconds(30)).printed == "a question");
  std::string answer;
  std::getline(std::ifstream(folder / "answered"), answer);
  CHECK(answer == "an answer");
}

}  // namespace ringcraft::process
