// Watch mode: one loop over keys, signals, saved files and the running check. It never advances by itself:
// the student decides what is next.

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "tool/commands/course_commands.hpp"
#include "tool/course/course.hpp"
#include "tool/course/hints.hpp"
#include "tool/course/own_and_library.hpp"
#include "tool/course/reset.hpp"
#include "tool/terminal/columns.hpp"
#include "tool/terminal/output.hpp"
#include "tool/terminal/terminal.hpp"
#include "tool/watch/file_watch.hpp"
#include "tool/watch/verdict.hpp"

namespace ringcraft::tool {
namespace {

using Clock = process::Clock;

constexpr std::chrono::milliseconds kQuiet{50};  // an editor's save is several steps
constexpr std::array kKeys{"n next", "h hint", "c check", "a all", "l list", "d diff", "r reset", "q quit"};

// The keys, as many on a line as fit.
std::string keys_text(std::size_t width) {
  std::string text, line;
  for (const std::string key : kKeys) {
    if (!line.empty() && line.size() + 2 + key.size() > width) text += std::exchange(line, "") + "\n";
    line += (line.empty() ? "" : "  ") + key;
  }
  return text + line + "\n";
}

class Watch {
 public:
  Watch() : files_(workspace(), std::getenv("RINGCRAFT_POLLING") ? Watching::kPolling : Watching::kBest) {}

  int run() {
    welcome();
    while (!ended_) turn();
    check_.reset();
    end_line();
    if (ended_by_ == 0) return 0;
    terminal_.reset();
    end_by(ended_by_);
  }

 private:
  // ---- output

  void say(const std::string& text) { say_whole(folded(text, window_size().columns)); }

  // Source text: folding would destroy its columns.
  void say_whole(const std::string& text) {
    end_line();
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  }

  // A line that is going to be continued.
  void begin_line(const std::string& text) {
    end_line();
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
    open_line_ = true;
  }

  void end_line() {
    if (open_line_) std::fputs("\n", stdout);
    open_line_ = false;
  }

  void say_keys() {
    const std::string keys = keys_text(window_size().columns);
    say(colour() == verify::Colour::kPlain ? keys : "\x1b[2m" + keys + "\x1b[0m");
  }

  void welcome() {
    const Course course;
    current_ = course.latest().value_or(course.next().value_or(judge::road().front().number));
    id_ = std::to_string(current_);
    say(fmt::format("ringcraft: {} of {} lessons done. Every save is checked.\n\n", course.done(),
                    course.here()));
    say_lesson(course);
    say_keys();
  }

  void say_lesson(const Course& course) {
    const bool there = std::filesystem::exists(course.exercise(current_));
    say(lesson_text(course, current_,
                    course.state(current_) == State::kDone ? "n goes on; every save is checked here, too"
                    : there                                ? "write and save; h shows a hint"
                                                           : "press n to get your file"));
  }

  // ---- one turn of the loop

  void turn() {
    std::array<pollfd, 4> ready{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{terminal_->signals(), POLLIN, 0},
                                pollfd{files_.descriptor(), POLLIN, 0},
                                pollfd{check_ ? check_->descriptor() : -1, POLLIN, 0}};
    ::poll(ready.data(), ready.size(), static_cast<int>(patience().count()));
    while (const auto signal = terminal_->signal()) on_signal(*signal);
    if (ended_) return;
    if (ready[0].revents != 0)
      for (const char key : terminal_->keys())
        if (!ended_) on_key(key);
    try {
      on_files();
    } catch (const std::exception& error) {  // a progress file that cannot be read, say
      say("ringcraft: " + shown(error.what(), 4000) + "\n");
    }
    if (due_ && Clock::now() >= *due_) begin_check();
    if (check_ && check_->ended()) finish_check();
  }

  std::chrono::milliseconds patience() const {
    auto wait = files_.pause();
    if (due_) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due_ - Clock::now());
      wait = std::clamp(left, std::chrono::milliseconds(0), wait);
    }
    return wait;
  }

  void on_signal(int signal) {
    switch (signal) {
      case SIGTSTP:
        end_line();
        std::fflush(stdout);
        terminal_->suspend();
        break;
      case SIGCONT:
        terminal_->resume();
        say_keys();
        break;
      case SIGWINCH:
        break;  // the next line asks for the width
      default:
        ended_ = true;
        ended_by_ = signal;
    }
  }

  // ---- files and checks

  void on_files() {
    const auto saved = files_.changed();
    if (saved.empty()) return;
    const Course course;
    for (const auto& file : saved)
      if (const auto id = course.id_of(file)) id_ = *id;
    if (std::ranges::none_of(saved, [&](const auto& file) { return course.id_of(file) == id_; })) return;
    current_ = lesson_of(id_);
    if (check_ && open_line_) std::fputs(" saved again", stdout);
    check_.reset();
    due_ = Clock::now() + kQuiet;
  }

  void begin_check() {
    due_.reset();
    check_.reset();
    begin_line(fmt::format("Checking {} ...", id_));
    check_ = std::make_unique<CheckRun>(id_);
  }

  void finish_check() {
    if (open_line_) std::fputs(fmt::format(" {:.1f} s\n", check_->seconds()).c_str(), stdout);
    open_line_ = false;
    const auto report = check_->report();
    const std::string said = check_->said();
    check_.reset();
    if (!report) {
      say(said.empty() ? "ringcraft: the check ended without output; press c to try again\n" : said);
    } else {
      report_ = report;
      say(brief_text(*report, colour(), window_size()));
      if (report->good()) say_passed();
    }
    say_keys();
  }

  void say_passed() {
    const Course course;
    const auto next = course.next(after(id_));
    say(next ? fmt::format("{} of {} lessons done. n goes on to {}; d shows how the library does it.\n",
                           course.done(), course.here(), title_of(course, std::to_string(*next)))
             : what_next(course, after(id_)));
  }

  // ---- keys

  void on_key(char key) {
    try {
      act(key);
    } catch (const std::exception& error) {
      say("ringcraft: " + shown(error.what(), 4000) + "\n");
      say_keys();
    }
  }

  void act(char key) {
    Course course;
    const WindowSize window = window_size();
    switch (key) {
      case 'q':
        ended_ = true;
        return;
      case 'n':
        next(course);
        break;
      case 'h':
        say(next_hint(course, id_, window.columns));
        break;
      case 'l':
        say(road_text(course, colour()));
        break;
      case 'd':
        say_whole(diff_text(course, current_, colour()));
        break;
      case 'a':
        say(report_ ? verify::text_of(*report_, colour()) : "Nothing has been checked yet; c checks.\n");
        break;
      case 'c':
        due_ = Clock::now();
        return;
      case 'r':
        say(reset(course, current_));
        (void)files_.changed();  // ours, no save of the student
        break;
      case 'u':
        say(undo_reset(course, current_));
        break;
      default:
        break;
    }
    say_keys();
  }

  void next(const Course& course) {
    const bool missing = !std::filesystem::exists(course.exercise(current_));
    const auto lesson = missing ? current_ : course.next(after(id_));
    if (!lesson) return say(what_next(course, after(id_)));
    check_.reset();
    due_.reset();
    report_.reset();
    current_ = *lesson;
    id_ = std::to_string(current_);
    if (!std::filesystem::exists(course.exercise(current_))) judge::start(current_, course.folder());
    (void)files_.changed();
    say_lesson(course);
  }

  std::unique_ptr<Terminal> terminal_ = std::make_unique<Terminal>();
  FileWatch files_;
  int current_ = 0;  // the lesson
  std::string id_;   // the checked exercise: the lesson, or a side exercise of it
  std::unique_ptr<CheckRun> check_;
  std::optional<Clock::time_point> due_;  // when the next check begins
  std::optional<verify::Report> report_;  // the latest
  bool open_line_ = false, ended_ = false;
  int ended_by_ = 0;  // a signal
};

}  // namespace

int watch() { return Watch().run(); }

}  // namespace ringcraft::tool
