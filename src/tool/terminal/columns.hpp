#pragma once
// Text in the columns of a terminal: its width, lines folded or cut to a width. Colours (ESC [ ... m) take no
// column and letters of UTF-8 take one each.

#include <cstddef>
#include <string>
#include <string_view>

namespace ringcraft::tool {

// Columns that one line takes.
std::size_t columns_of(std::string_view line);

// The line, or as much of it as fits, followed by "...".
std::string cut(std::string_view line, std::size_t width);

// Every line of the text folded at blanks. A folded line continues below the last column of a table's line,
// or below its first word; a compiler's lines of code ("  12 | int x") stay whole, or their markers would
// shift.
std::string folded(std::string_view text, std::size_t width);

// The number of lines of a text.
std::size_t lines_of(std::string_view text);

// A page of Markdown for a terminal: formulas without dollars and backslashes, emphasis and links as plain
// words, paragraphs and lists filled to the width, code as it stands.
std::string plain_of_markdown(std::string_view page, std::size_t width);  // plain_markdown.cpp

}  // namespace ringcraft::tool
