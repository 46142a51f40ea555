#pragma once
/// @file
/// Turns a random problem that fails into a case that anyone can run: the smallest recipe that still fails,
/// its tensors in a file, and two command lines.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "ringcraft/ring/ring.hpp"
#include "support/recipe.hpp"

namespace ringcraft::testing {

/// The fault of a recipe, in a sentence; nothing if it is right.
using Check = std::function<std::optional<std::string>(const Recipe&)>;

/// The simplest recipe that can be reached from a failing one by steps that all fail.
Recipe shrunk(Recipe failing, const Check& check);

/// The files and commands that repeat a failure.
struct Reproduction {
  std::filesystem::path input;  ///< q, k, v, dout
  std::string attend;           ///< "attend --input ... --trace ...": computes, and proves the schedule
  std::string verify;           ///< "verify --input ... --claim ...": judges what it computed
};

/// Writes the inputs of a recipe into a new file of this folder and returns the commands, without the name of
/// the program.
Reproduction reproduction(const Recipe& recipe, Schedule schedule, const std::filesystem::path& folder);

/// The whole text for a person: what fails, and what to type.
std::string report(const Recipe& recipe, const std::string& sentence, const Reproduction& how);

}  // namespace ringcraft::testing
