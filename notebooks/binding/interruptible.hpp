#pragma once
/// @file
/// Long computations that Ctrl-C ends.

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <future>

namespace ringcraft::python {

namespace nb = nanobind;

/// Runs work(stop) on a thread of its own, without the lock of the interpreter, and returns its result. Every
/// twentieth of a second it checks for signals: on one that raises an exception (KeyboardInterrupt) it sets
/// `stop`, joins the thread, and throws the exception. `briefly`: the work takes milliseconds, and runs on
/// this thread.
template <class Work>
auto interruptible(bool briefly, Work work) {
  std::atomic<bool> stop = false;
  if (briefly) {
    const nb::gil_scoped_release unlocked;
    return work(&stop);
  }
  auto result = std::async(std::launch::async, [&] { return work(&stop); });
  const auto done = [&] {
    const nb::gil_scoped_release unlocked;
    return result.wait_for(std::chrono::milliseconds(50)) == std::future_status::ready;
  };
  while (!done()) {
    if (PyErr_CheckSignals() == 0) continue;
    stop = true;
    nb::python_error raised;  // takes the exception
    {
      const nb::gil_scoped_release unlocked;
      result.wait();
    }
    throw raised;
  }
  return result.get();
}

}  // namespace ringcraft::python
