// The flags of the commands that grade a class: grade, gradescope, doctor.
#include <CLI/CLI.hpp>

#include "tool/commands/commands.hpp"
#include "tool/commands/grade_commands.hpp"

namespace ringcraft::tool {

void add_grading(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("grade", "Judge what a class has handed in: points, pages, a gradebook");
  auto request = std::make_shared<GradeRequest>();
  command
      ->add_option("DIR", request->folder, "A folder or archive with one folder, archive or file per student")
      ->required()
      ->type_name("");
  command->add_option("--out", request->out, "The folder of verdicts and reports; a later call goes on there")
      ->type_name("DIR")
      ->capture_default_str();
  command->add_option("--lessons", request->lessons, "101-103,201; default: those that anyone has handed in")
      ->type_name("LESSONS");
  command->add_flag("--side-exercises", request->side_exercises, "Also the side exercises of these lessons");
  command->add_option("--title", request->title, "The name of the class on its pages; default: the folder's")
      ->type_name("TEXT");
  command
      ->add_option("--roster", request->roster,
                   "Everyone in the class, as your system exports them; written again with points")
      ->type_name("CSV");
  command->add_option("--seed", request->seed, "32 hexadecimal digits; default: the folder's, or new ones")
      ->type_name("X");
  command
      ->add_option("--jobs", request->jobs,
                   "Files that are judged at a time; default: one for each processor")
      ->type_name("N")
      ->check(CLI::Range(1, 256));
  command
      ->add_option("--seed-file", request->seed_file,
                   "A file with the 32 digits, which no other user sees as they see a command's arguments")
      ->type_name("FILE")
      ->excludes("--seed");
  command->add_option("--without", request->without, "Layers of protection that may be missing (see doctor)")
      ->type_name("LAYER")
      ->delimiter(',');
  command->add_flag("--again", request->again, "Judge also what has a verdict already");
  command
      ->add_option("--explain", request->explain,
                   "Run one check again and show all that is known: ada:104.identity")
      ->type_name("STUDENT:CHECK");
  CLI::Option* submission =
      command
          ->add_option("--submission", request->submission,
                       "DIR is one student's; Gradescope's submission_metadata.json about it")
          ->type_name("FILE");
  command
      ->add_option("--results", request->results, "Gradescope's results.json, written again after each file")
      ->type_name("FILE")
      ->needs(submission);
  command->footer("Example: ./ringcraft grade ../handed-in --out ../grades --lessons 101-104");
  command->callback([&action, request] { action = [request] { return grade(*request); }; });

  CLI::App* package =
      app.add_subcommand("gradescope", "Write the archive of an autograder for these lessons");
  auto wanted = std::make_shared<GradescopeRequest>();
  package->add_option("LESSONS", wanted->lessons, "101-103,201")->required()->type_name("");
  package->add_option("--out", wanted->out, "The archive to write; nothing is overwritten")
      ->type_name("FILE")
      ->capture_default_str();
  package->add_option("--seed", wanted->seed, "32 hexadecimal digits; default: drawn where it is set up")
      ->type_name("X");
  package->footer("Example: ./ringcraft gradescope 104-106 --out ../autograder.zip");
  package->callback([&action, wanted] { action = [wanted] { return gradescope(*wanted); }; });

  app.add_subcommand("doctor", "The layers between a judged file and this machine: which ones are here")
      ->footer("Example: ./ringcraft doctor")
      ->callback([&action] { action = doctor; });
}

}  // namespace ringcraft::tool
