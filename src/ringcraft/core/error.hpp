#pragma once
/// @file
/// The one exception type of the library. The library neither prints nor exits: it throws an Error that says
/// what was expected, what came and what to try; the tool turns the error's Code into its exit code.

#include <stdexcept>
#include <string>

namespace ringcraft {

/// The kind of failure, seen by the caller; the numbers are the tool's exit codes.
enum class Code {
  kWrongAnswer = 1,  ///< The computation ran and its result, or its behaviour (a deadlock, say), is wrong.
  kWrongCall = 2,    ///< An argument, a flag, a shape or a file is invalid.
  kMissing = 3,  ///< Something that is needed is not there: a package, a device, a file of the installation.
};

/// Every failure of ringcraft. what() is one sentence for a person.
class Error : public std::runtime_error {
 public:
  /// A failure in one sentence.
  explicit Error(const std::string& sentence, Code code = Code::kWrongCall)
      : std::runtime_error(sentence), code_(code) {}

  /// "WHERE: expected EXPECTED, got ACTUAL; ADVICE". The advice says what to try next.
  Error(const std::string& where, const std::string& expected, const std::string& actual,
        const std::string& advice, Code code = Code::kWrongCall)
      : std::runtime_error(where + ": expected " + expected + ", got " + actual + "; " + advice),
        code_(code) {}

  /// The kind of failure.
  Code code() const { return code_; }

 private:
  Code code_;
};

/// Thrown by skeletons: the body of an exercise is not written yet.
class NotWritten : public Error {
 public:
  /// "lesson 104 is not written yet"
  explicit NotWritten(int lesson)
      : Error("lesson " + std::to_string(lesson) + " is not written yet", Code::kWrongAnswer),
        lesson_(lesson) {}

  /// The number of the lesson.
  int lesson() const { return lesson_; }

 private:
  int lesson_;
};

}  // namespace ringcraft
