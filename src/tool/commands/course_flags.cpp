// The flags of the course's commands: lessons, start, check, watch, next, hint, diff, export.
#include <CLI/CLI.hpp>

#include "tool/commands/commands.hpp"
#include "tool/commands/course_commands.hpp"

namespace ringcraft::tool {
namespace {

// The parser itself would wrap -1 around, and truncate large values.
std::string complaint_about_seed(const std::string& text) {
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  return digits && text.size() < 20 ? ""
                                    : "--seed: expected a whole number of at most 19 digits, got " + text;
}

void add_check(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("check", "Judge your file: what is wrong, and why");
  auto request = std::make_shared<CheckRequest>();
  command
      ->add_option("id", request->id,
                   "A lesson or a side exercise: 104, 301.deadlock; default: what you changed last")
      ->type_name("ID");
  command
      ->add_option("--seed", request->seed,
                   "Of all inputs; -: it stands in the standard input; default: another one each time")
      ->type_name("X")
      ->check([](const std::string& text) { return text == "-" ? "" : complaint_about_seed(text); });
  command->add_option("--json", request->json, "Also write the verdict for programs")->type_name("F");
  command->add_flag("--all", request->all, "Show every check whole, not only the first that failed");
  command->add_option("--file", request->file, "Judge this file; default: yours in exercises/")
      ->type_name("F");
  command->add_flag("--confidential", request->confidential,
                    "Repeat nothing that the file prints or throws, which may hold its inputs");
  command
      ->add_option("--children-as", request->children_as,
                   "The user that compiles and runs it, if you are root")
      ->type_name("UID");
  command->add_flag("--debug", request->debug, "Run the checks in one process that a debugger can look into");
  command->footer("Example: ./ringcraft check 104");
  command->callback([&action, request] { action = [request] { return check(*request); }; });
}

void add_start(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("start", "Write the file of a lesson or a side exercise into exercises/");
  auto id = std::make_shared<std::string>();
  auto seed = std::make_shared<std::optional<std::uint64_t>>();
  command->add_option("id", *id, "A lesson's number, or a side exercise: 104, 301.deadlock")
      ->required()
      ->type_name("ID");
  command->add_option("--seed", *seed, "Of a side exercise whose numbers are chosen; default: your own")
      ->type_name("X")
      ->check(complaint_about_seed);
  command->footer("Example: ./ringcraft start 104");
  command->callback([&action, id, seed] { action = [id, seed] { return start(*id, *seed); }; });
}

void add_export(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("export", "Write a tree for students: the course without its solutions");
  auto request = std::make_shared<ExportRequest>();
  command->add_option("DIR", request->folder, "A new folder outside of this tree")->required()->type_name("");
  command->add_option("--solved", request->solved, "Lessons that keep their body: 101-103,201")
      ->type_name("LESSONS");
  command->add_flag("--objects", request->objects,
                    "Seal the bodies as objects for this platform, instead of compressed");
  command->footer("Example: ./ringcraft export ../course --solved 101-103");
  command->callback([&action, request] { action = [request] { return export_tree(*request); }; });
}

}  // namespace

void add_course(CLI::App& app, Action& action) {
  app.add_subcommand("lessons", "The road: all lessons, and what you have started")->callback([&action] {
    action = show_lessons;
  });
  add_start(app, action);
  add_check(app, action);

  app.add_subcommand("watch", "Check at every save, with single keys for the rest; ./ringcraft alone")
      ->footer("Example: ./ringcraft watch")
      ->callback([&action] { action = watch; });

  app.add_subcommand("next", "Go on: the lesson under way, which you started last, or the next one")
      ->footer("Example: ./ringcraft next")
      ->callback([&action] { action = next; });

  CLI::App* help = app.add_subcommand("hint", "One more hint for a lesson, below those before");
  auto id = std::make_shared<std::string>();
  help->add_option("lesson", *id, "Its number; default: the one you changed last")->type_name("N");
  help->footer("Example: ./ringcraft hint 104");
  help->callback([&action, id] { action = [id] { return hint(*id); }; });

  CLI::App* compare = app.add_subcommand("diff", "Your file beside the library's, once it has passed");
  auto number = std::make_shared<int>(0);
  compare->add_option("lesson", *number, "Its number: 104")->required()->type_name("N");
  compare->footer("Example: ./ringcraft diff 104");
  compare->callback([&action, number] { action = [number] { return diff(*number); }; });

  add_export(app, action);
}

}  // namespace ringcraft::tool
