#pragma once
/// @file
/// A small class with every kind of result, and names that try to become markup, formulas and escapes.

#include "grade/record/record.hpp"

namespace ringcraft::grade {

/// 12 students and 6 exercises.
ClassResults example_class();

}  // namespace ringcraft::grade
