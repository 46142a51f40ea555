// Splits the text of a schedule into lines, and dispatches them: header lines, steps, and the operations of a
// rank.
#include "verify/schedule/schedule_text.hpp"

#include <sstream>

#include "verify/schedule/schedule_text_detail.hpp"

namespace ringcraft::verify {
namespace {

class Parser {
 public:
  explicit Parser(const std::string& file) : place_{file} {}

  WrittenSchedule parse(std::string_view text) {
    std::istringstream stream{std::string(text)};
    for (std::string line; std::getline(stream, line);) {
      ++place_.line;
      read(line.substr(0, line.find('#')));
    }
    if (!result_) place_.refuse("'step 0' and what the ranks do in it", "");
    return std::move(*result_);
  }

 private:
  void read(const std::string& line) {
    const Words words = words_of(line);
    if (words.empty()) return;
    const auto colon = line.find(':');
    if (words[0] == "step") {
      begin_step(words);
    } else if (colon != line.npos) {
      rank_line(words_of(line.substr(0, colon)), line.substr(colon + 1));
    } else if (result_) {
      place_.refuse("'step N' or what a rank does, '0: ...'", words[0]);
    } else {
      head_.read(place_, words);
    }
  }

  void begin_step(const Words& words) {
    if (!result_) begin();
    const Index step = place_.number(words.size() > 1 ? words[1] : "", step_ + 1, step_ + 1, "a step");
    if (words.size() > 2) place_.refuse("the end of the line", words[2]);
    step_ = static_cast<int>(step);
    told_.clear();
  }

  void begin() {
    const Problem problem = head_.problem(place_);
    const auto ranks = static_cast<std::size_t>(problem.world_size);
    result_.emplace(WrittenSchedule{problem, head_.goal(), Trace(problem.world_size), ScheduleNotes(ranks)});
    for (int rank = 0; rank < problem.world_size; ++rank)
      ranks_.emplace_back(result_->problem, head_, rank, result_->trace.rank(rank),
                          result_->notes[static_cast<std::size_t>(rank)]);
  }

  void rank_line(const Words& name, const std::string& operations) {
    const std::string first = name.empty() ? "" : name[0];
    if (!result_) place_.refuse("'step 0' before the first line of a rank", first + ":");
    if (name.size() > 1) place_.refuse("one rank before the colon", name[1]);
    const Index rank = place_.number(first, 0, result_->problem.world_size - 1, "a rank");
    if (const auto [before, is_new] = told_.emplace(rank, place_.line); !is_new)
      place_.refuse("one line for each rank in a step",
                    first + ": after line " + std::to_string(before->second));
    ranks_[static_cast<std::size_t>(rank)].line(place_, step_, operations);
  }

  Place place_;
  ScheduleHeader head_;
  std::optional<WrittenSchedule> result_;
  std::vector<RankWriter> ranks_;
  int step_ = -1;
  std::map<Index, int> told_;  // ranks that have a line in this step, and its number
};

}  // namespace

WrittenSchedule parse_schedule(std::string_view text, const std::string& file) {
  return Parser(file).parse(text);
}

}  // namespace ringcraft::verify
