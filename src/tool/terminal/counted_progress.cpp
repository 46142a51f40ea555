// Draws the share of the work that is done.
#include "tool/terminal/counted_progress.hpp"

#include <algorithm>
#include <utility>

namespace ringcraft::tool {

CountedProgress::CountedProgress(std::string what) : what_(std::move(what)), ticker_([this] { draw(); }) {}

void CountedProgress::draw() {
  const auto done = static_cast<double>(done_.load());
  bar_.at(done / static_cast<double>(std::max<Index>(total_.load(), 1)), what_);
}

}  // namespace ringcraft::tool
