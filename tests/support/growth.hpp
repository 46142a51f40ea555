#pragma once
// Growth of work with its size. Seconds depend on the machine and on what else runs there; how many times as
// long a larger input takes does not.

#include <algorithm>
#include <ctime>
#include <limits>

namespace ringcraft::testing {

// Processor time that work(large) takes, over that of work(small): the fastest of `runs` each, in turns.
template <class Work>
double growth(int small, int large, const Work& work, int runs = 3) {
  const auto clocks = [&](int size) {
    const std::clock_t begin = std::clock();
    work(size);
    return static_cast<double>(std::clock() - begin);
  };
  double least_small = std::numeric_limits<double>::infinity(), least_large = least_small;
  for (int run = 0; run < runs; ++run) {
    least_small = std::min(least_small, clocks(small));
    least_large = std::min(least_large, clocks(large));
  }
  return least_large / std::max(least_small, 1.0);
}

}  // namespace ringcraft::testing
