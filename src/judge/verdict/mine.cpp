// Compiles the student's files for the ladder, and runs each stage in a process with them.
#include "judge/verdict/mine.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "judge/run/round.hpp"
#include "judge/run/team.hpp"
#include "judge/tree/config.hpp"
#include "judge/verdict/judge.hpp"
#include "judge/wire/stage_wire.hpp"
#include "process/child.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::judge {
namespace {

constexpr std::size_t kShownText = 1000;     // bytes of what a student's program printed
constexpr std::size_t kMostText = 64 << 10;  // bytes after which it is ended

// Compiled with the library's flags: the times in the ladder's table are to be compared.
// The gate knows the symbols of the CPU, so a kernel for a GPU is compiled for both.
BuildStep built(const Lesson& lesson, const std::filesystem::path& file, const WorkFolder& folder,
                Device device) {
  Lesson fast = lesson;
  fast.timed = true;
  OwnSource source = take_source(file, lesson.name);
  BuildStep step = compile(fast, source, folder);
  if (step.sentence.empty()) step = gate(fast, source, folder);
  if (step.sentence.empty() && lesson.is_kernel() && device == Device::kGpu)
    step = compile(fast, source, folder, device);
  return step;
}

// Environment variables that the CUDA driver uses.
std::vector<std::string> stage_environment(Device device) {
  std::vector<std::string> environment = worker_environment();
  if (device == Device::kCpu) return environment;
  process::inherit(environment,
                   {"PATH", "LD_LIBRARY_PATH", "HOME", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"});
  return environment;
}

// Room for every stage, the whole score matrix of the first one included, and for a stack per rank; a loop
// that allocates forever ends with a sentence, and does not exhaust the machine. Sanitizers reserve
// terabytes.
rlim_t address_limit(const Problem& problem, const verify::Inputs& inputs) {
  if (kSanitized) return 0;
  const auto bytes_of = [](const Buffer& tensor) { return static_cast<rlim_t>(tensor.bytes().size()); };
  const auto seqlen = static_cast<rlim_t>(problem.shape.seqlen);
  return (rlim_t{4} << 30) + 64 * (bytes_of(inputs.q) + bytes_of(inputs.k)) + 4 * seqlen * seqlen * 8 +
         static_cast<rlim_t>(problem.world_size) * (rlim_t{128} << 20);
}

// An answer has no more numbers than the inputs, plus some for its cost.
rlim_t reply_limit(const verify::Inputs& inputs) {
  const rlim_t elements = inputs.q.bytes().size() + inputs.k.bytes().size() + inputs.v.bytes().size();
  return (rlim_t{64} << 20) + 8 * elements;
}

// A GPU's driver reserves terabytes of addresses, and starts threads of its own.
process::Limits stage_limits(Device device, const Problem& problem, const verify::Inputs& inputs) {
  if (device == Device::kGpu) return {};
  return {.address_bytes = address_limit(problem, inputs),
          .file_bytes = reply_limit(inputs),
          .threads = kMostThreads + static_cast<std::size_t>(problem.world_size),
          .locked = kLockable};
}

std::string with_printed(std::string sentence, const std::string& printed) {
  if (!printed.empty()) sentence += "\nyour program printed:\n" + cleaned(printed, kShownText);
  return sentence;
}

std::string about_exception(const StageReply& reply, const std::vector<OwnFile>& files) {
  if (std::ranges::find(files, reply.not_written, &OwnFile::lesson) != files.end())
    return "your lesson " + std::to_string(reply.not_written) +
           " is not written yet: write its body, and take the throw away";
  return "it ended with an exception: " + cleaned(reply.thrown, kShownText);
}

}  // namespace

Mine::Mine(const std::filesystem::path& workspace, Device device, std::optional<int> only) : device_(device) {
  for (const Lesson& lesson : all_lessons()) {
    if (only && lesson.number != *only) continue;
    const auto path = exercise_file(lesson.number, workspace);
    if (!std::filesystem::is_regular_file(path)) continue;
    OwnFile file{lesson.number, path, ""};
    try {
      if (untouched(lesson.number, path)) {
        unwritten_.push_back(lesson.number);
        continue;
      }
    } catch (const Error& error) {  // too large, or unreadable
      file.obstacle = error.what();
    }
    files_.push_back(std::move(file));
  }
  if (files_.empty() && !unwritten_.empty())
    throw Error("run --mine", "an exercise that you have written in",
                listed(unwritten_) + " as given by start", "write a body; ./ringcraft check judges it");
  if (files_.empty())
    throw Error("run --mine", "a started exercise in " + workspace.string(), "none",
                "begin with ./ringcraft start 101");
  for (OwnFile& file : files_) {
    if (!file.obstacle.empty()) continue;
    file.obstacle = built(lesson_numbered(file.lesson), file.path, folder_, device).sentence;
    if (file.obstacle.empty()) std::filesystem::rename(folder_.path() / "student.o", object_of(file.lesson));
  }
}

std::filesystem::path Mine::object_of(int lesson) const {
  return folder_.path() / (std::to_string(lesson) + ".o");
}

// Linked once for all stages that run the same files.
std::filesystem::path Mine::program_of(const verify::Stage& stage) const {
  std::filesystem::path program = folder_.path() / "stage";
  std::vector<std::string> objects;
  for (const int lesson : lessons_in(stage)) {
    program += "-" + std::to_string(lesson);
    objects.push_back(object_of(lesson));
  }
  if (std::filesystem::exists(program)) return program;
  const BuildStep linked = link_program(
      program, objects, device_ == Device::kGpu ? kGpuStageLinkInputs : kStageLinkInputs, folder_);
  if (!linked.sentence.empty())
    throw Misbehaviour(Misbehaviour::Kind::kNonsense, "not-linked",
                       "your " + listed(lessons_in(stage)) +
                           " compile, but do not link with the library and with "
                           "each other:\n" +
                           linked.sentence);
  return program;
}

bool Mine::takes_part(int lesson) const {
  return std::ranges::any_of(
      files_, [=](const OwnFile& file) { return file.lesson == lesson && file.obstacle.empty(); });
}

std::vector<int> Mine::lessons_in(const verify::Stage& stage) const {
  std::vector<int> result;
  std::ranges::copy_if(stage.lessons, std::back_inserter(result), [&](int n) { return takes_part(n); });
  return result;
}

std::vector<int> Mine::unused() const {
  std::vector<int> result;
  for (const OwnFile& file : files_)
    if (file.obstacle.empty() &&
        !lesson_numbered(file.lesson).is_kernel() &&  // kernels have stages of their own
        std::ranges::none_of(verify::ladder(), [&](const verify::Stage& stage) {
          return std::ranges::find(stage.lessons, file.lesson) != stage.lessons.end();
        }))
      result.push_back(file.lesson);
  return result;
}

verify::StageResult Mine::climb(const verify::Stage& stage, const Problem& shared,
                                const verify::Inputs& inputs, std::chrono::seconds limit) {
  const std::filesystem::path program = program_of(stage);
  const auto request = folder_.path() / "request", reply_file = folder_.path() / "reply";
  write_request(request, {shared, verify::clone(inputs)});
  std::ofstream(reply_file, std::ios::trunc);  // empty
  const std::string who = "the stage runs your " + listed(lessons_in(stage)) + "; ";
  const auto misbehaved = [&](Misbehaviour::Kind kind, const std::string& what, const std::string& printed) {
    throw Misbehaviour(kind, "stage", with_printed(who + what, printed));
  };

  const process::Finished finished = process::run_command({.arguments = {program, stage.name},
                                                           .environment = stage_environment(device_),
                                                           .folder = "/",
                                                           .limits = stage_limits(device_, shared, inputs),
                                                           .input = request,
                                                           .wire = process::Wire::kFile,
                                                           .reply = reply_file,
                                                           .output_limit = kMostText},
                                                          limit);
  using Kind = Misbehaviour::Kind;
  if (finished.timed_out)
    misbehaved(Kind::kSilent,
               "it did not come back within " + std::to_string(limit.count()) +
                   " s: which loop, or which wait, may never come to an end?",
               finished.printed);
  if (finished.crowded) misbehaved(Kind::kNonsense, "it starts threads without end", finished.printed);
  if (finished.printed.size() >= kMostText)
    misbehaved(Kind::kNonsense, "it prints without end", finished.printed);
  std::error_code none;
  const auto replied = std::filesystem::file_size(reply_file, none);
  if (!finished.good() || none || replied == 0)
    misbehaved(Kind::kEnded, "it " + described(finished.ending), finished.printed);
  StageReply reply;
  try {
    reply = read_reply(reply_file);
  } catch (const Error& error) {
    misbehaved(Kind::kNonsense, std::string("its answer cannot be read: ") + error.what(), finished.printed);
  }
  if (!reply.thrown.empty()) misbehaved(Kind::kThrew, about_exception(reply, files_), finished.printed);
  return std::move(reply.result);
}

}  // namespace ringcraft::judge
