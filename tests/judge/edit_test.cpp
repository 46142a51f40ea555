// Submissions that are stored as edits of the library's files.
#include "misconceptions/edit.hpp"

#include "judge/tree/text_file.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace ringcraft::judge {
namespace {

const std::string kLibrary =
    "// A file.\n// Two lines of it.\n#include <cmath>\n\nvoid f() {\n  // BEGIN SOLUTION 104\n  g();\n  "
    "h();\n"
    "  // END SOLUTION\n}\n\nvoid k() {\n  g();\n}\n";

}  // namespace

TEST_CASE("an edit replaces lines, and its own first lines go in front") {
  CHECK(applied("// Wrong.\n@@\n void f() {\n-  g();\n   h();\n+  h();\n", kLibrary) ==
        "// Wrong.\n#include <cmath>\n\nvoid f() {\n  h();\n  h();\n}\n\nvoid k() {\n  g();\n}\n");
  CHECK(applied("@@\n-#include <cmath>\n\n@@\n void k() {\n-  g();\n", kLibrary) ==
        "\nvoid f() {\n  g();\n  h();\n}\n\nvoid k() {\n}\n");
  CHECK(applied("// Right.\n", "a\n") == "// Right.\na\n");
}

TEST_CASE("an edit of lines that are not there, or not only there, is refused") {
  const auto refused = [](const std::string& edit, const std::string& fragment) {
    testing::check_refused([&] { (void)applied(edit, kLibrary); }, fragment);
  };
  refused("@@\n-  i();\n", "these, which do not stand there:\n  i();");
  refused("@@\n-  g();\n", "these, which stand there more than once:\n  g();");
  refused("@@\n+  g();\n", "lines that stand once");
  refused("@@\n-  h();\n@@\n-#include <cmath>\n", "in the order of the library's file");
  refused("@@\n-// A file.\n", "do not stand there");
}

TEST_CASE("an edit may name the file that it changes") {
  const std::filesystem::path corpus = std::filesystem::path(RINGCRAFT_SOURCE_DIR) / "tests/misconceptions";
  const HandedIn of_another(304, corpus / "304_ring_backward/skips_masked");
  CHECK(read_text(of_another.file()).find("modulo(rank - exchanges)") != std::string::npos);
  const HandedIn of_the_library(303, corpus / "303_ring_forward/never_divided");
  CHECK(read_text(of_the_library.file()).find("route.onward(t)") != std::string::npos);
}

}  // namespace ringcraft::judge
