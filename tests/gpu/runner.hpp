#pragma once
/// @file
/// A test runner of a few lines, for machines that have a compiler and nothing else: named checks, one line
/// each, and a JSON record of their results.

#include <cuda_runtime_api.h>  // on the CPU it says where ringcraft::kernels lies

#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace ringcraft::kernels {

/// The result of a check. Figures go into the record whether it passed or not.
struct Verdict {
  std::string failure;  ///< empty: passed; else a sentence
  std::vector<std::pair<std::string, double>> figures = {};
};

/// Runs checks and remembers their verdicts.
class Runner {
 public:
  /// Runs one check and prints its line. An exception is a failure.
  void check(const std::string& name, const std::function<Verdict()>& body) {
    Verdict verdict;
    try {
      verdict = body();
    } catch (const std::exception& error) {
      verdict.failure = error.what();
    }
    std::printf("%s  %s", verdict.failure.empty() ? "ok    " : "FAILED", name.c_str());
    for (const auto& [figure, value] : verdict.figures) std::printf(", %s %.4g", figure.c_str(), value);
    std::printf("%s%s\n", verdict.failure.empty() ? "" : "\n        ", verdict.failure.c_str());
    std::fflush(stdout);
    failed_ += verdict.failure.empty() ? 0 : 1;
    verdicts_.emplace_back(name, std::move(verdict));
  }

  /// Number of checks that failed.
  int failed() const { return failed_; }
  /// Number of checks run.
  int total() const { return static_cast<int>(verdicts_.size()); }

  /// [{"check": name, "passed": true, figures...}, ...]. Names hold no character that JSON would escape.
  std::string json() const {
    std::string text = "[";
    for (const auto& [name, verdict] : verdicts_) {
      text += text.size() > 1 ? ",\n    {" : "\n    {";
      text += "\"check\": \"" + name + "\", \"passed\": " + (verdict.failure.empty() ? "true" : "false");
      for (const auto& [figure, value] : verdict.figures) text += ", \"" + figure + "\": " + number(value);
      text += "}";
    }
    return text + "\n  ]";
  }

 private:
  static std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", value);
    const bool finite = value - value == 0;
    return finite ? text : "null";
  }

  std::vector<std::pair<std::string, Verdict>> verdicts_;
  int failed_ = 0;
};

}  // namespace ringcraft::kernels
