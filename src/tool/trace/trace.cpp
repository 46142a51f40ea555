// trace: draws a recorded run, sums it up, and proves its schedule.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <string>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "ringcraft/io/text_file.hpp"
#include "tool/commands/commands.hpp"
#include "tool/terminal/columns.hpp"
#include "tool/terminal/output.hpp"
#include "tool/terminal/phases.hpp"
#include "tool/terminal/terminal.hpp"
#include "tool/trace/drawing.hpp"
#include "tool/trace/record.hpp"
#include "tool/trace/time_axis.hpp"

namespace ringcraft::tool {
namespace {

using verify::TraceClock;

struct TraceOptions {
  std::string file, svg, clock = "wall", rows = "24";
};

constexpr std::size_t kMostRows = 4096;

std::size_t rows_of(const std::string& text) {
  std::size_t rows = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rows);
  if (error != std::errc() || end != text.data() + text.size() || rows < 1 || rows > kMostRows)
    throw Error("--rows", "a whole number from 1 to " + std::to_string(kMostRows), "'" + shown(text) + "'",
                "leave it out for 24 of the ranks, which are typical for all");
  return rows;
}

bool keeps_virtual_time(const Trace& trace) {
  for (int rank = 0; rank < trace.world_size(); ++rank)
    if (std::ranges::any_of(trace.rank(rank).events(),
                            [](const TraceEvent& e) { return e.end.virtual_ > 0; }))
      return true;
  return false;
}

TraceClock clock_of(const std::string& name, const Trace& trace) {
  if (name == "wall") return TraceClock::kWall;
  if (name != "virtual") throw Error("--clock", "wall or virtual", shown(name), "leave it out for wall");
  if (!keeps_virtual_time(trace))
    throw Error("--clock", "wall for a trace without virtual time", "virtual",
                "only simulated links and computations have one");
  return TraceClock::kVirtual;
}

// "t.json: 3 ranks (mpi), forward and backward, causal, 29 tokens, zigzag, 12.3 ms"
std::string title_of(const std::string& file, const verify::TracedRun& run, TraceClock clock,
                     double seconds) {
  const Problem& p = run.problem;
  return shown(file) + ": " + (run.method == &kRing ? "" : std::string(run.method->name) + ", ") +
         counted(p.world_size, "rank") + " (" + shown(run.backend) + "), " +
         (run.last == Pass::kBackward ? "forward and backward" : "forward") + ", " + described(p.mask) +
         ", " + counted(p.shape.seqlen, "token") + ", " + described(p.sharding()) + ", " +
         TimeAxis(seconds).words(seconds) + (clock == TraceClock::kVirtual ? " of virtual time" : "");
}

int trace(const TraceOptions& options) {
  constexpr std::uintmax_t kLargestTrace = std::uintmax_t{1} << 30;  // bytes
  const std::size_t rows = rows_of(options.rows);
  require_other_file("--svg", options.svg, options.file);
  require_writable("--svg", options.svg);
  auto phases = std::make_unique<Phases>();
  phases->begin("reading the trace");
  const verify::TracedRun run =
      verify::read_trace(read_plain_text_file("trace", options.file, kLargestTrace), options.file);
  const TraceClock clock = clock_of(options.clock, run.trace);
  const verify::Timeline timeline = verify::timeline_of(run.trace, clock);
  phases->begin("proving the schedule");
  const verify::ScheduleProof proof = verify::prove_run(run);
  phases.reset();

  const Drawing drawing{timeline, verify::typical_ranks(timeline, rows),
                        title_of(options.file, run, clock, timeline.seconds)};
  const std::size_t width = window_size().columns;
  std::string text = lanes_text(drawing, width, colour()) + "\n" + sums_text(drawing) + "\n";
  if (clock == TraceClock::kWall && run.clock_error > 0)
    text += "The clocks of two ranks differ by at most " + TimeAxis(run.clock_error).words(run.clock_error) +
            ".\n";
  text += folded(verdict_text(proof, run.goal()), width);
  std::fputs(text.c_str(), stdout);
  if (!options.svg.empty()) {
    write_text("--svg", options.svg, svg_text(drawing));
    std::printf("%s: the same as a picture\n", shown(options.svg).c_str());
  }
  return proof.good() ? 0 : static_cast<int>(Code::kWrongAnswer);
}

}  // namespace

void add_trace(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("trace", "Draw what every rank of a recorded run did when, and prove its schedule");
  auto options = std::make_shared<TraceOptions>();
  command->add_option("file", options->file, "The file that attend --trace has written")
      ->required()
      ->type_name("F");
  command->add_option("--svg", options->svg, "Also draw it as SVG")->type_name("G");
  command
      ->add_option("--clock", options->clock,
                   "Time axis: wall, or virtual where links and computations were simulated")
      ->capture_default_str()
      ->type_name("C");
  command->add_option("--rows", options->rows, "Draw at most so many ranks, from 1 to 4096")
      ->capture_default_str()
      ->type_name("N");
  command->footer(
      "Exit code 1: the schedule is wrong; what is wrong is said by rank and step.\n"
      "https://ui.perfetto.dev draws the same file, with the name of every block.\n"
      "Example: ./ringcraft attend --input qkv.safetensors --output out.safetensors --causal --trace t.json\n"
      "         ./ringcraft trace t.json --svg t.svg");
  command->callback([&action, options] { action = [options] { return trace(*options); }; });
}

}  // namespace ringcraft::tool
