// Runs compiler, nm, objcopy and linker under limits, in a temporary folder.
#include "judge/build/toolchain.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <future>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <tuple>
#include <utility>

#include "judge/build/gate/object.hpp"
#include "judge/build/gate/source.hpp"
#include "judge/build/symbols.hpp"
#include "judge/run/team.hpp"
#include "judge/tree/config.hpp"
#include "judge/tree/text_file.hpp"
#include "process/child.hpp"
#include "ringcraft/core/error.hpp"

namespace ringcraft::judge {

const std::vector<std::string> kSystemPlaces{"/usr",
                                             "/bin",
                                             "/lib",
                                             "/lib32",
                                             "/lib64",
                                             "/opt",
                                             "/nix/store",
                                             "/etc/ld.so.cache",
                                             "/etc/alternatives"};

namespace {

namespace fs = std::filesystem;
using process::Finished;

constexpr std::chrono::seconds kPatience{120};  // of wall-clock time, for a tool that gets no processor
constexpr std::size_t kShownText = 3000;        // bytes of the compiler's messages

constexpr rlim_t kLargestObject = 256 << 20;  // bytes

constexpr std::size_t kMostPrinted = 16 << 20;  // bytes, of a tool

// The limits of one program, and whether it reads the course's headers.
struct Effort {
  rlim_t cpu_seconds, address_bytes;
  bool reads_headers;
};
constexpr Effort kOfTools{60, rlim_t{4} << 30, false};
constexpr Effort kOfCompilers{60, rlim_t{4} << 30, true};
// The compiler needs less than 2 s and 400 MB for an exercise.
constexpr Effort kOfExercise{12, rlim_t{2} << 30, true};

const std::string kNotExpanded =
    "the preprocessor does not come to an end with your file: does it include or "
    "expand something endless?";

// Compilers look for their parts along PATH and for scratch space in TMPDIR: files that a killed one leaves
// there are removed with the folder. A compiler cache lies in the folder of its user.
std::vector<std::string> tool_environment(const WorkFolder& work) {
  std::vector<std::string> environment{"LC_ALL=C", "CCACHE_DISABLE=1", "TMPDIR=" + work.path().string()};
  process::inherit(environment, {"PATH"});
  return environment;
}

// The folders of the course's headers.
std::vector<fs::path> header_folders() {
  const fs::path root = kSourceRoot;
  return {root / "src/ringcraft", root / "kernels"};
}

// The headers below a folder, one by one: sources lie beside them.
void add_headers(std::vector<fs::path>& files, const fs::path& folder) {
  std::error_code ignored;
  for (fs::recursive_directory_iterator each(folder, ignored), end; !ignored && each != end;
       each.increment(ignored))
    if (is_header(each->path())) files.push_back(each->path());
}

// The folder of a compiler's parts: the one around that of the program, unless this tree lies there, too.
fs::path folder_of_parts(const fs::path& program) {
  std::error_code ignored;
  const fs::path own = fs::weakly_canonical(program, ignored).parent_path();
  return is_within(fs::path(kWorkRoot), own.parent_path()) ? own : own.parent_path();
}

// Paths that a tool may open, independent of the names in a student's file: the system's programs, libraries
// and headers, those of the compiler, the course's headers if it reads any, and its own arguments.
process::Reach reach_of(const std::vector<std::string>& arguments, const WorkFolder& work, bool headers) {
  process::Reach reach{{kSystemPlaces.begin(), kSystemPlaces.end()}, {work.path(), "/dev/null"}};
  for (const char* place : {"/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu"})
    reach.reads.emplace_back(place);
  reach.reads.push_back(folder_of_parts(arguments.front()));
  std::error_code ignored;
  for (const std::string& argument : arguments)
    if (argument.starts_with("/") && fs::is_regular_file(argument, ignored))
      reach.reads.insert(reach.reads.end(), {argument, argument + ".gch"});
  if (!headers) return reach;
  reach.reads.insert(reach.reads.end(), kToolchainHeaders.begin(), kToolchainHeaders.end());
  for (const fs::path& folder : header_folders()) add_headers(reach.reads, folder);
  return reach;
}

Finished run_tool(std::vector<std::string> arguments, const WorkFolder& work,
                  const std::filesystem::path& working_directory, Effort effort = kOfTools) {
  const std::string program = arguments.front();
  const process::Reach reach = reach_of(arguments, work, effort.reads_headers);
  const process::Limits limits{
      .cpu_seconds = effort.cpu_seconds, .address_bytes = effort.address_bytes, .file_bytes = kLargestObject};
  const Finished finished = process::run_command({.arguments = std::move(arguments),
                                                  .environment = tool_environment(work),
                                                  .folder = working_directory,
                                                  .limits = limits,
                                                  .reach = reach,
                                                  .output_limit = kMostPrinted},
                                                 kPatience);
  if (!finished.ending.signalled && finished.ending.number == 127)
    throw Error("judge", "the program " + program, "no such program",
                "install the compiler that this tree was built with, or build it again", Code::kMissing);
  // Its processor time is limited as well: if the clock runs out first, the machine is overloaded.
  if (finished.timed_out)
    throw Error("judge", program + " to end within " + std::to_string(kPatience.count()) + " s", "no end",
                "the machine is overloaded; try again", Code::kMissing);
  return finished;
}

Finished run_tool(std::vector<std::string> arguments, const WorkFolder& work) {
  return run_tool(std::move(arguments), work, work.path());
}

// Whether the compiler was killed, or crashed, because of a file: gcc reports that for its parts.
bool broke_down(const Finished& finished) {
  if (finished.ending.signalled) return true;
  for (const char* sign :
       {"signal terminated program", "out of memory allocating", "virtual memory exhausted",
        "clang frontend command failed", "internal compiler error"})
    if (finished.printed.find(sign) != std::string::npos) return true;
  return false;
}

// "the first error, and the compiler's text below it"
std::string compiler_sentence(const Finished& finished, const std::string& file) {
  for (const char* sign : {"File size limit exceeded", "File too large"})
    if (finished.printed.find(sign) != std::string::npos)
      return file + " becomes an object of more than " + std::to_string(kLargestObject >> 20) +
             " MB; which array is so large? Make it smaller, or fill it when the function is called";
  if (broke_down(finished))
    return "the compiler did not come to an end with " + file +
           "; does it include or compute something endless?";
  std::string printed = finished.printed;  // a file must not learn whether another exists
  for (const std::string there = ": Permission denied"; printed.find(there) != printed.npos;)
    printed.replace(printed.find(there), there.size(), ": No such file or directory");
  const std::string text = cleaned(printed, kShownText);
  const auto error = text.find("error:");
  const auto start = error == text.npos ? 0 : text.rfind('\n', error) + 1;
  return file + " does not compile:\n" + text.substr(start);
}

}  // namespace

namespace {

// The compiler's warnings about a student's own files, each once: functions for several types repeat them.
// Warnings about other headers, at absolute paths, are left out.
std::string warnings_of(const std::string& printed) {
  std::istringstream lines(printed);
  std::vector<std::string> blocks;
  bool own = false;
  for (std::string line; std::getline(lines, line);) {
    const bool begins = line.find(": warning: ") != line.npos;
    const bool frames = line.find(": In ") != line.npos || line.starts_with("In file included from ") ||
                        line.starts_with("                 from ");
    if (begins || frames) own = begins && !line.starts_with("/");
    if (begins && own) blocks.emplace_back();
    if (own) blocks.back() += line + "\n";
  }
  std::string text;
  std::set<std::string> told;
  for (const std::string& block : blocks)
    if (told.insert(block).second) text += block;
  return text;
}

}  // namespace

WorkFolder::WorkFolder() : own_(kWorkRoot, "check", {"judge", "build the tree again"}) {
  if (const auto user = process::other_user(); user && ::chown(path().c_str(), *user, *user) != 0)
    throw Error("judge", "a folder that another user can write", std::strerror(errno),
                "see ./ringcraft doctor", Code::kMissing);
}

namespace {

// The place of the copies of the student's files: they are written into the folder for each compile.
fs::path copies_in(const WorkFolder& folder) { return folder.path() / "own"; }

// Preprocesses the file and checks the files that it reads and its output; `arguments` are the compiler's.
std::string complaint_when_expanded(std::vector<std::string> arguments, const fs::path& copy,
                                    const Places& places, const WorkFolder& folder) {
  const std::string name = copy.filename().string();
  const fs::path read = folder.path() / "read.txt", expanded = folder.path() / "expanded.ii";
  arguments.insert(arguments.end(), kExpand.begin(), kExpand.end());
  arguments.insert(arguments.end(), {"-MD", "-MF", read, name, "-o", expanded});
  const Finished finished = run_tool(std::move(arguments), folder, copy.parent_path(), kOfExercise);
  if (fs::exists(read))
    if (std::string sentence = complaint_about_read(read_text(read), copy, places); !sentence.empty())
      return sentence;
  return finished.good() ? complaint_about_expanded(read_text(expanded), name, places) : kNotExpanded;
}

// The compiler shows a checker every load and store, but none of these calls: they get names that the checker
// intercepts.
BuildStep show_calls(const WorkFolder& folder) {
  std::vector<std::string> arguments{std::string(kObjcopy)};
  for (const std::string name : {"memcpy", "memmove", "memset"})
    arguments.insert(arguments.end(), {"--redefine-sym", name + "=__tsan_" + name});
  arguments.push_back(folder.path() / "student.o");
  const Finished finished = run_tool(std::move(arguments), folder);
  return {finished.good() ? ""
                          : "objcopy cannot read the compiled file: " + cleaned(finished.printed, kShownText),
          ""};
}

}  // namespace

BuildStep compile(const Lesson& lesson, OwnSource& source, const WorkFolder& folder, Device device) {
  std::vector<std::string> arguments = device == Device::kGpu ? kGpuCompile
                                       : lesson.is_kernel()   ? kKernelCompile
                                                              : kCompile;
  const std::string name = source.name();
  const bool checked = lesson.is_kernel() && !lesson.timed && device == Device::kCpu;
  Places places{
      copies_in(folder), header_folders(), {kToolchainHeaders.begin(), kToolchainHeaders.end()}, checked};
  places.headers.push_back(fs::path(kWorkRoot).parent_path());  // those that the course has precompiled
  for (const std::string& sentence : {complaint_about_file(source, fs::path(kSourceRoot) / lesson.source),
                                      complaint_about_text(source, places)})
    if (!sentence.empty()) return {sentence, ""};
  fs::remove_all(copies_in(folder));
  const fs::path copy = source.write_below(copies_in(folder));
  if (checked) arguments.insert(arguments.end(), kChecked.begin(), kChecked.end());
  if (device == Device::kCpu) arguments.insert(arguments.end(), {"-x", "c++"});  // for every file name
  std::vector<std::string> quick;  // further flags that only save time
  if (!lesson.is_kernel()) {
    if (lesson.timed)
      arguments.insert(arguments.end(), kOptimise.begin(), kOptimise.end());
    else if (lesson.counted && !kCount.front().empty())
      arguments.insert(arguments.end(), kCount.begin(), kCount.end());
    else if (!kPrecompiled.empty())  // it fits the plain flags only
      quick = {"-include", std::string(kPrecompiled)};
  }
  const auto compiled = [&](const std::vector<std::string>& further) -> std::pair<Finished, std::string> {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), further.begin(), further.end());
    // In parallel. A file for a GPU has already been checked for the CPU.
    std::future<std::string> expanded;
    if (device == Device::kCpu)
      expanded = std::async(std::launch::async,
                            [&, all] { return complaint_when_expanded(all, copy, places, folder); });
    all.insert(all.end(), {"-c", name, "-o", folder.path() / "student.o"});
    Finished finished = run_tool(std::move(all), folder, copy.parent_path(),
                                 device == Device::kGpu ? kOfCompilers : kOfExercise);
    return {std::move(finished), expanded.valid() ? expanded.get() : std::string()};
  };
  // The precompiled header declares more than this file includes: if that is in the way, the file is compiled
  // as it stands.
  auto [finished, sentence] = compiled(quick);
  if (!finished.good() && !quick.empty() && !broke_down(finished))
    std::tie(finished, sentence) = compiled({});
  if (!sentence.empty() && (finished.good() || sentence != kNotExpanded)) return {sentence, ""};
  if (!finished.good()) return {compiler_sentence(finished, name), ""};
  if (checked)
    if (BuildStep shown = show_calls(folder); !shown.sentence.empty()) return shown;
  const std::string warnings = cleaned(warnings_of(finished.printed), kShownText);
  return {"", warnings.empty() ? "" : "with warnings:\n" + warnings};
}

BuildStep gate(const Lesson& lesson, const OwnSource& source, const WorkFolder& folder) {
  const std::string object = folder.path() / "student.o";
  const std::string bytes = read_text(object);
  const auto read = read_object(std::as_bytes(std::span(bytes)));
  if (!read) return {"the compiled file is no object that can be read; compile one plain source file", ""};
  if (std::string sentence = complaint_about_object(*read); !sentence.empty()) return {sentence, ""};
  const Finished nm = run_tool({std::string(kNm), "-A", "-P", object}, folder);
  const Finished sections = run_tool({std::string(kNm), "-f", "sysv", object}, folder);
  for (const Finished* finished : {&nm, &sections}) {
    if (finished->printed.size() >= kMostPrinted)
      return {"your file has more symbols than can be looked through: an exercise is one short function", ""};
    if (!finished->good())
      return {"nm cannot read the compiled file: " + cleaned(finished->printed, kShownText), ""};
  }
  const std::string below = lesson.source.substr(lesson.source.find('/') + 1);  // "forward/01_naive.cu"
  const std::vector<Symbol> student = parse_nm(nm.printed);
  std::set<std::string> allowed = lesson.allowed;
  if (lesson.is_kernel())
    allowed.merge(std::set<std::string>{"ringcraft::simt::shared_memory", "ringcraft::simt::add_at_once"});
  std::string symbols = read_text(kLibrarySymbols);
  if (lesson.is_kernel()) symbols += read_text(kKernelSymbols);
  const std::vector<Symbol> library = parse_nm(symbols);
  const auto sentences = complaints({student, library, below, allowed, lesson.number});
  std::set<std::string> constants;
  for (const auto& [place, file] : source.texts) constants.merge(constants_in(file.text));
  std::vector<Kept> kept = parse_kept(sections.printed);
  std::erase_if(kept, [&](const Kept& variable) {  // variables of the course's own headers
    return std::ranges::any_of(
        library, [&](const Symbol& symbol) { return symbol.weak() && symbol.name == variable.symbol; });
  });
  std::string all = complaint_about_kept(kept, constants, lesson.is_kernel());
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < std::min(sentences.size(), kShown); ++i)
    all += (all.empty() ? "" : "\n") + sentences[i];
  if (sentences.size() > kShown)
    all += "\nand " + std::to_string(sentences.size() - kShown) + " more of this kind";
  if (all.empty() && lesson.is_kernel() && !lesson.timed) all = complaint_about_unseen(student);
  return {all, remark_about_calls(student)};
}

// A linker that a signal ended has met a full disk, or a limit: that is not the fault of a file.
BuildStep link_program(const std::filesystem::path& program, const std::vector<std::string>& objects,
                       const std::vector<std::string>& inputs, const WorkFolder& folder) {
  std::vector<std::string> arguments = kLink;
  arguments.insert(arguments.end(), {"-o", program});
  arguments.insert(arguments.end(), objects.begin(), objects.end());
  arguments.insert(arguments.end(), inputs.begin(), inputs.end());
  const Finished finished = run_tool(std::move(arguments), folder);
  if (finished.ending.signalled)
    throw Error("judge", "a linker that comes to its end", described(finished.ending),
                "is the disk full, or memory short?", Code::kMissing);
  return {finished.good() ? "" : cleaned(finished.printed, kShownText), ""};
}

BuildStep link(const Lesson& lesson, const WorkFolder& folder) {
  std::vector<std::string> objects = lesson.is_kernel() ? kFirstKernels : kFirst;
  objects.push_back(kServed.at(lesson.number));
  if (lesson.timed && !link_program(library_program(folder), objects, kLinkInputs, folder).sentence.empty())
    throw Error("judge", "a library that links", "objects that do not", "build the tree again",
                Code::kMissing);
  objects.push_back(folder.path() / "student.o");
  BuildStep done = link_program(worker_program(folder), objects,
                                lesson.is_kernel() ? kKernelLinkInputs : kLinkInputs, folder);
  if (!done.sentence.empty())
    done.sentence = "your file compiles, but does not link with the library:\n" + done.sentence;
  return done;
}

// The student's object, the exercises around it and the library's objects that they need become one object
// that exports a single name. So the checks keep the library's own functions, which a lesson may replace
// elsewhere.
BuildStep link_debug(const Lesson& lesson, const OwnSource& source, const WorkFolder& work,
                     fs::path& program) {
  const fs::path own = copies_in(work), copy = own / source.file;
  const auto run = [&](std::vector<std::string> command, const std::vector<std::string>& rest) {
    command.insert(command.end(), rest.begin(), rest.end());
    const Finished finished = run_tool(std::move(command), work, work.path(), kOfCompilers);
    return finished.good() ? std::string() : cleaned(finished.printed, kShownText);
  };
  std::vector<std::string> compile = kCompile;
  compile.insert(compile.end(), kDebug.begin(), kDebug.end());
  std::string trouble = run(compile, {"-ffile-prefix-map=" + own.string() + "=" + source.folder.string(),
                                      "-c", copy, "-o", "student.o"});
  std::vector<std::string> parts{"-r",    "--force-group-allocation", "-o",
                                 "all.o", kServed.at(lesson.number),  "student.o"};
  parts.insert(parts.end(), kDebugStudent.begin(), kDebugStudent.end());
  if (trouble.empty()) trouble = run({std::string(kLinker)}, parts);
  if (trouble.empty())
    trouble = run({std::string(kObjcopy), "--keep-global-symbol=ringcraft_serve", "all.o"}, {});
  std::vector<std::string> all{"-o", "check", "all.o"};
  all.insert(all.end(), kChecks.at(lesson.number).begin(), kChecks.at(lesson.number).end());
  all.insert(all.end(), kDebugChecks.begin(), kDebugChecks.end());
  if (trouble.empty()) trouble = run(kDebugLink, all);
  if (!trouble.empty()) return {"your file cannot be built for a debugger:\n" + trouble, ""};
  program = std::filesystem::path(kWorkRoot) /
            ("debug-" + std::to_string(lesson.number) + "-" +
             std::to_string(std::hash<std::string>()(source.folder / source.file)));
  std::filesystem::rename(work.path() / "check", program);
  return {};
}

namespace {

// "01_naive.cu:47": of the inlined functions the innermost of this file, or the outermost of all.
std::string chosen_line(const std::vector<std::string>& inwards_out, const std::string& file) {
  for (const std::string& line : inwards_out)
    if (line.starts_with(file + ":")) return line;
  return inwards_out.empty() ? "an unknown line" : inwards_out.back();
}

}  // namespace

// addr2line prints "0x1f2e" and then "/path/01_naive.cu:47 (discriminator 3)", from the inside out.
void name_lines(const std::vector<simt::CodePlace*>& places, const std::string& file,
                const WorkFolder& folder) {
  std::map<std::uint64_t, std::vector<std::string>> frames;  // of each address
  for (const simt::CodePlace* place : places) frames[place->code];
  std::vector<std::string> arguments{std::string(kAddr2line), "-a", "-i", "-e", worker_program(folder)};
  std::ostringstream address;
  for (const auto& [code, none] : frames) {
    address.str("");
    address << "0x" << std::hex << code;
    arguments.push_back(address.str());
  }
  std::istringstream printed(run_tool(std::move(arguments), folder).printed);
  auto asked = frames.end();
  for (std::string line; std::getline(printed, line);) {
    if (line.starts_with("0x")) {
      asked = frames.find(std::stoull(line, nullptr, 16));
    } else if (asked != frames.end()) {
      line.erase(0, line.rfind('/') + 1);
      asked->second.push_back(line.substr(0, line.find(' ')));
    }
  }
  for (simt::CodePlace* place : places) place->line = chosen_line(frames[place->code], file);
}

std::filesystem::path worker_program(const WorkFolder& folder) { return folder.path() / "worker"; }

std::filesystem::path library_program(const WorkFolder& folder) { return folder.path() / "library"; }

}  // namespace ringcraft::judge
