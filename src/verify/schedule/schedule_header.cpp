// Parses the lines before the first step of a schedule, and builds the problem and the goal that they
// describe.
#include <algorithm>
#include <charconv>
#include <sstream>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "verify/schedule/schedule_text_detail.hpp"

namespace ringcraft::verify {
namespace {

constexpr Index kMostRanks = 64, kMostTokens = 1'000'000;

std::string second(const Words& words) { return words.size() > 1 ? words[1] : ""; }
std::string third(const Words& words) { return words.size() > 2 ? words[2] : ""; }

Layout layout_named(const Place& place, const std::string& name) {
  for (const Layout layout : kLayouts)
    if (name == name_of(layout)) return layout;
  place.refuse("contiguous, striped, zigzag or zigzag-token", name);
}

std::vector<Position> borders(const Place& place, const std::string& list) {
  std::vector<Position> all;
  std::istringstream stream(list);
  for (std::string word; std::getline(stream, word, ',');)
    all.push_back(place.number(word, 0, kMostTokens, "a border"));
  if (all.empty()) place.refuse("borders as in 0,5,12", "");
  return all;
}

}  // namespace

Words words_of(const std::string& text) {
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

void Place::refuse(const std::string& expected, const std::string& actual) const {
  throw Error(file + ":" + std::to_string(line), expected,
              actual.empty() ? "nothing" : "'" + shown(actual) + "'",
              "./ringcraft verify --help shows the form");
}

Index Place::number(const std::string& word, Index low, Index high, const std::string& what) const {
  Index value = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failure != std::errc() || end != word.data() + word.size() || value < low || value > high)
    refuse(what + " from " + std::to_string(low) + " to " + std::to_string(high), word);
  return value;
}

void ScheduleHeader::read(const Place& place, const Words& words) {
  const std::string& key = words[0];
  const std::string value = second(words);
  std::size_t most = 2;  // words of this line
  if (key == "ranks") {
    ranks = place.number(value, 1, kMostRanks, "a number of ranks");
  } else if (!ranks) {
    place.refuse("'ranks N' first", key);
  } else if (key == "tokens") {
    tokens = place.number(value, 1, kMostTokens, "a number of tokens");
  } else if (key == "layout") {
    layout = layout_named(place, value);
  } else if (key == "mask") {
    read_mask(place, words);
    most = value == "window" ? 3 : 2;
  } else if (key == "packed") {
    mask.cu_seqlens = borders(place, value);
    per_sequence = third(words) == "each";
    most = per_sequence ? 3 : 2;
  } else if (key == "pass") {
    read_pass(place, words);
    most = reversed ? 3 : 2;
  } else if (key == "costs") {
    if (value != "ring") place.refuse("ring", value);
    costs = true;
  } else {
    place.refuse("ranks, tokens, layout, mask, packed, pass, costs or step", key);
  }
  if (words.size() > most) place.refuse("the end of the line", words[most]);
}

void ScheduleHeader::read_mask(const Place& place, const Words& words) {
  const std::string kind = second(words);
  const std::vector<Position> packed = std::move(mask.cu_seqlens);
  if (kind == "window") {
    mask = window_mask(place.number(third(words), 0, kMostTokens, "a window"));
  } else if (kind == "causal" || kind == "full") {
    mask = kind == "causal" ? causal_mask() : full_mask();
  } else {
    place.refuse("full, causal or window W", kind);
  }
  mask.cu_seqlens = packed;
}

void ScheduleHeader::read_pass(const Place& place, const Words& words) {
  const std::string pass = second(words), way = third(words);
  if (pass != "forward" && pass != "backward") place.refuse("forward, backward or backward reversed", pass);
  backward = pass == "backward";
  reversed = backward && way == "reversed";
}

Problem ScheduleHeader::problem(const Place& place) const {
  if (!ranks) place.refuse("'ranks N' first", "step");
  try {
    Problem problem = make_problem({.seqlen = tokens.value_or(*ranks), .head_dim = 1}, mask, layout,
                                   static_cast<int>(*ranks));
    problem.per_sequence = per_sequence;
    return problem;
  } catch (const Error& error) {
    throw Error(place.file + ":" + std::to_string(place.line) + ": " + error.what());
  }
}

ScheduleGoal ScheduleHeader::goal() const {
  ScheduleGoal goal{.forward = !backward, .backward = backward, .costs = {}};
  if (costs)
    goal.costs = PassCosts{.pass = backward ? Pass::kBackward : Pass::kForward,
                           .options = {.schedule = reversed ? Schedule::kReversed : Schedule::kForward},
                           .one_message_per_block = true};
  return goal;
}

}  // namespace ringcraft::verify
