// Text from outside in a sentence.
#include "ringcraft/core/shown.hpp"

#include <cstring>
#include <vector>

#include "support/catch.hpp"

namespace ringcraft {
namespace {

TEST_CASE("shown text moves no cursor and is UTF-8") {
  CHECK(shown("plain text") == "plain text");
  CHECK(shown("a\x1b[2Jb\r\n\x7f") == "a?[2Jb???");
  CHECK(shown("gr\xC3\xBC\xC3\x9F \xE2\x88\x9E \xF0\x9F\x92\xA1") ==
        "gr\xC3\xBC\xC3\x9F \xE2\x88\x9E \xF0\x9F\x92\xA1");
  CHECK(shown("\xFFz\xC3") == "?z?");  // no letter begins with it; cut off by its author
  CHECK(shown("\xC3z") == "?z");       // the second byte is none
  CHECK(shown("\xC2\x9B"
              "31m") == "??31m");    // a control character of two bytes
  CHECK(shown("\xC0\xAF") == "??");  // '/' in two bytes
}

TEST_CASE("shown text keeps the order in which it is written") {
  for (const char* letter :
       {"\xC2\xAD", "\xF3\xA0\x80\x81", "\xF3\xA0\x81\xA1", "\xE2\x80\x8B", "\xE2\x81\xA0", "\xE2\x80\xAE",
        "\xE2\x80\xAA", "\xE2\x81\xA6", "\xE2\x81\xA9", "\xE2\x80\x8F", "\xE2\x80\xA8", "\xEF\xBB\xBF"})
    CHECK(shown("a" + std::string(letter) + "b") == "a" + std::string(std::strlen(letter), '?') + "b");
  CHECK(shown("\xD8\x9C") == "??");
  CHECK(shown("\xE2\x80\x9C \xE2\x81\xB0") == "\xE2\x80\x9C \xE2\x81\xB0");  // neighbours of these
  for (const char* wrong : {"\xE0\x80\xAF", "\xED\xA0\x80"}) CHECK(shown(wrong) == "???");
  for (const char* wrong : {"\xF0\x80\x80\xAF", "\xF4\x90\x80\x80"}) CHECK(shown(wrong) == "????");
}

TEST_CASE("lines stay lines, and nothing else gets through") {
  CHECK(shown_lines("a\n\tb\r\n\x1b[2J\xC2\x9B\xE2\x80\xAE\xFF") == "a\n\tb?\n?[2J??????");
  CHECK(shown_lines("ab\xC3\xBC", 3) == "ab");
}

TEST_CASE("shortened text ends after a whole letter, with dots") {
  CHECK(shown("abcdef", 6) == "abcdef");
  CHECK(shown("abcdef", 5) == "abcde...");
  CHECK(shown("ab\xC3\xBC"
              "d",
              3) == "ab...");
  CHECK(shown("ab\xC3\xBC"
              "d",
              4) == "ab\xC3\xBC...");
  CHECK(shown("", 0).empty());
}

TEST_CASE("counts and lists read as people write them") {
  CHECK(counted(1, "score") == "1 score");
  CHECK(counted(0, "score") == "0 scores");
  CHECK(listed(std::vector<int>{101, 104}) == "101, 104");
  CHECK(listed(std::vector<int>{}).empty());
}

}  // namespace
}  // namespace ringcraft
