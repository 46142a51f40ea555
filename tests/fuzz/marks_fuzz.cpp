// Any text as a source file with marks: an Error with file and line, or regions that a second look at the
// lines confirms, and skeletons without a mark.
#include <sstream>

#include "fuzz/target.hpp"
#include "judge/tree/marks.hpp"

namespace ringcraft::fuzz {
namespace {

const std::set<int> kLessons{104, 303};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The form of a BEGIN and an END, spelled out.
std::string begin_of(const judge::Region& r) {
  return r.indent + "// BEGIN SOLUTION " + std::to_string(r.lesson) + " [" + r.name + "]";
}

void check_regions(const std::string& text, const std::vector<judge::Region>& regions) {
  const std::vector<std::string> lines = lines_of(text);
  std::size_t marks = 0;
  int last = 0;
  for (const judge::Region& r : regions) {
    require(kLessons.contains(r.lesson) && last < r.begin && r.begin + 1 < r.end &&
                r.end <= static_cast<int>(lines.size()),
            "a region out of order");
    last = r.end;
    require(lines[static_cast<std::size_t>(r.begin) - 1] == begin_of(r),
            "a region that does not begin with its mark");
    require(lines[static_cast<std::size_t>(r.end) - 1].ends_with("// END SOLUTION [" + r.name + "]"),
            "a region that does not end with its mark");
  }
  for (const std::string& line : lines)
    marks += line.find(" SOLUTION") != line.npos && line.find("//") != line.npos;
  require(marks >= 2 * regions.size(), "more regions than marks");
  for (const int lesson : kLessons) {
    bool has = false;
    for (const judge::Region& r : regions) has = has || r.lesson == lesson;
    if (!has) continue;
    const std::string made = judge::skeleton(text, "a.cpp", kLessons, lesson);
    require(made.find("BEGIN SOLUTION") == made.npos && made.find("END SOLUTION") == made.npos,
            "a skeleton with a mark");
    std::size_t expected = lines.size() - 2 * regions.size();
    for (const judge::Region& r : regions)
      if (r.lesson == lesson) expected += 2 - static_cast<std::size_t>(r.lines());
    require(lines_of(made).size() == expected, "a skeleton with other lines");
  }
}

}  // namespace

std::vector<std::string> seeds() {
  return {"int f() {\n  // BEGIN SOLUTION 104 [f]\n  return 1;\n  // END SOLUTION [f]\n}\n",
          "// BEGIN SOLUTION 303 [g_2]\nint two = 2;\nreturn two;\n// END SOLUTION [g_2]\nint x;\n// BEGIN "
          "SOLUTION 104 "
          "[h]\n\n// END SOLUTION [h]",
          "int main() {}\n", std::string(600, ' ') + "// BEGIN SOLUTION 104 [f]\nx\n// END SOLUTION [f]\n"};
}

std::vector<std::string> words() {
  return {"// BEGIN SOLUTION 104 [f]\n",
          "// END SOLUTION [f]\n",
          "// BEGIN SOLUTION 303 [g]\n",
          "// END SOLUTION [g]\n",
          "BEGIN SOLUTION",
          "END SOLUTION",
          "[f]",
          "104",
          "303",
          "105",
          "\n",
          "  ",
          "//",
          "\r\n",
          "\t",
          std::string(1, '\0'),
          std::string(3000, ' '),
          "[" + std::string(500, 'a') + "]"};
}

}  // namespace ringcraft::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringcraft;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    fuzz::check_regions(text, judge::parse_marks(text, "a.cpp", fuzz::kLessons));
  } catch (const Error& error) {
    fuzz::require_sentence(error);
    fuzz::require(std::string_view(error.what()).starts_with("a.cpp:"), "an error without its place");
  }
  return 0;
}
