#pragma once
/// @file
/// Parts of the HTML pages of a class: escaped text, and the frame with its style. The pages hold no
/// script, load nothing, and forbid both to a browser.

#include <string>
#include <string_view>
#include <vector>

#include "grade/record/record.hpp"

namespace ringcraft::grade {

/// Any text as text, also between the quotes of an attribute: nothing in it is markup, and what would move
/// a cursor, turn the order of letters around or is no UTF-8 is a '?'.
std::string escaped(std::string_view text);

/// A person's own words, kept to themselves: a name from right to left turns nothing around beside it.
std::string isolated(std::string_view text);

/// A sentence, and the lines below it as they were printed.
std::string paragraphs(std::string_view words);

/// A bar of `part` of `whole`; `kind` is its class: "good", "bad".
std::string bar(double part, double whole, std::string_view kind);

/// The anchor of an exercise, by its id, on a student's page: "e104".
std::string anchor_of(const std::string& exercise);

/// The page: `title` is any text, `body` is markup; `more_style` is CSS for this page alone.
std::string framed(std::string_view title, std::string_view body, std::string_view more_style = "");

}  // namespace ringcraft::grade
