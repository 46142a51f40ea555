#pragma once
/// @file
/// The files of a grading run, from which the next one goes on: the secret that all inputs come
/// from, and the verdict on each file. A verdict is written once, whole or not at all.

#include <array>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>

#include "grade/record/record.hpp"
#include "process/descriptor.hpp"

namespace ringcraft::grade {

/// 128 bits from which the inputs of every check follow. Nobody can foresee them, and no two files, students
/// or exercises have the same.
class Secret {
 public:
  /// One that the system's random numbers give.
  static Secret drawn();
  /// 32 hexadecimal digits. Throws Error for anything else; `from` says where they stand.
  explicit Secret(const std::string& digits, const std::string& from = "grade --seed");
  /// Its 32 digits.
  std::string text() const;
  /// 16 hexadecimal digits for a text. Nobody without the secret can find two texts that have the same.
  std::string fingerprint_of(const std::string& text) const;
  /// The seed for a student's file, of this fingerprint, for an exercise: 1 to 10^15.
  std::uint64_t seed_for(const std::string& student, const std::string& exercise,
                         const std::string& digest) const;
  bool operator==(const Secret&) const = default;

 private:
  Secret() = default;
  std::uint64_t mixed_with(std::initializer_list<const std::string*> parts) const;
  std::array<std::uint32_t, 4> words_{};
};

/// The verdict on a file, without what only the hand-in knows.
struct Verdict {
  State state = State::kUnjudged;
  std::string sentence = {};
  verify::Report report = {};
};

/// The ledger of a class in a folder. One process at a time has it.
class Ledger {
 public:
  /// Opens or makes it. Throws Error if another process has it, if it cannot be written, or if it was begun
  /// with another secret.
  Ledger(std::filesystem::path folder, const std::optional<Secret>& secret);

  /// Whether a folder has one.
  static bool is_in(const std::filesystem::path& folder);

  const Secret& secret() const { return secret_; }
  /// The verdict on a student's file; empty if there is none.
  std::optional<Verdict> find(const std::string& student, const std::string& exercise,
                              const std::string& digest) const;
  /// Keeps it. Of a file that has one already, rows that end alike stay as they were first, and so do those
  /// that rest on measured time.
  void keep(const std::string& student, const std::string& exercise, const std::string& digest,
            Verdict verdict);

 private:
  std::filesystem::path place(const std::string& student, const std::string& exercise,
                              const std::string& digest) const;

  std::filesystem::path folder_;
  process::Descriptor lock_;
  Secret secret_;
};

/// Writes a file, whole or not at all. Throws Error if it cannot be written.
void write_whole(const std::filesystem::path& file, const std::string& text);

}  // namespace ringcraft::grade
