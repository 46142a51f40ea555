// The rules for a student's source: tokens, the text, the list of files, the preprocessed text.
#include "judge/build/gate/source.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "judge/build/gate/tokens.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace ringcraft::judge {
namespace {

namespace fs = std::filesystem;

std::string spelled(const std::string& text) {
  std::string all;
  for (const Token& token : tokens_of(text)) all += (all.empty() ? "" : " ") + token.text;
  return all;
}

class Folder {  // a student's, beside a foreign one; removes itself
 public:
  Folder() : root_(fs::path(RINGCRAFT_BINARY_DIR) / ("sources-" + std::to_string(::getpid()))) {
    fs::remove_all(root_);
    fs::create_directories(root_ / "mine");
    write("foreign.hpp", "secret\n");
  }
  ~Folder() { fs::remove_all(root_); }

  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(root_ / name) << text;
    return root_ / name;
  }
  fs::path path(const std::string& name) const { return root_ / name; }
  Places places(bool checked_kernel = false) const {
    return {root_ / "mine", {root_ / "course"}, {"/usr/include"}, checked_kernel};
  }
  std::string on(const std::string& text, bool checked_kernel = false) const {
    OwnSource source = take_source(write("mine/own.cpp", text), "104_merge");
    return complaint_about_text(source, places(checked_kernel));
  }

 private:
  fs::path root_;
};

std::string expanded(const std::string& text, bool checked_kernel = false) {
  const Places places{"mine", {}, {"/usr/include"}, checked_kernel};
  return complaint_about_expanded("# 0 \"own.cpp\"\n# 1 \"own.cpp\"\n" + text, "own.cpp", places);
}

}  // namespace

TEST_CASE("tokens are those of a preprocessor, in any spelling") {
  CHECK(spelled("a/* asm */b // asm\nc") == "a b c");
  CHECK(spelled("a // goes on \\\n asm\nb") == "a b");
  CHECK(spelled("as\\\nm as\\ \t\nm") == "asm asm");
  CHECK(spelled("%: %:%: <: :> <% %>") == "# ## [ ] { }");
  CHECK(spelled(R"("as\"m" 'a' L"x" u8'y')") == R"("as\"m" 'a' L"x" u8'y')");
  CHECK(spelled("R\"x(asm \" )y\" \\\n)x\" b") == "R\"x(asm \" )y\" \\\n)x\" b");
  CHECK(spelled("1'000'000 0x1p+3 .5e-3f 'a'") == "1'000'000 0x1p+3 .5e-3f 'a'");
  CHECK(spelled("#include <a/*b>\n#include \"c\\\" d\n// */ e") == "# include <a/*b> # include \"c\\\" d");
  CHECK(spelled("#error don't\nasm") == "# error don 't asm");
  const auto tokens = tokens_of("a\n\n /* \n */ # b\n");
  REQUIRE(tokens.size() == 3);
  CHECK(tokens[1].line == 4);
  CHECK(tokens[1].begins_line);
  CHECK_FALSE(tokens[2].begins_line);
}

TEST_CASE("ordinary sources pass") {
  const Folder folder;
  folder.write("mine/helper.hpp", "#pragma once\n#include <vector>\ninline int two() { return 2; }\n");
  CHECK(folder
            .on("#include <cmath>\n#include \"helper.hpp\"\n#include \"ringcraft/core/error.hpp\"\n"
                "#if defined(__has_include)\n#if __has_include(<list>)\r\n#endif\n#endif\n"
                "#define SQUARE(x) ((x) * (x))\n#define NAME(x) x##_name\n#pragma GCC unroll 8\n"
                "// asm, # 1 \"merge.hpp\" 3\nconst char* kText = \"asm # 1\"; int n = 1'000;\n"
                "[[nodiscard]] [[gnu::always_inline]] inline int f() { return SQUARE(n); }\n")
            .empty());
  CHECK(expanded("[[gnu::always_inline]] inline int f(int (&a)[3]) { return a[(1)]; }\n"
                 "__attribute__((used, aligned(16))) static int section;\n"
                 "[[deprecated(\"asm\")]] int alias();\n#pragma GCC unroll 8\n")
            .empty());
  CHECK(expanded("# 1 \"/usr/include/math.h\" 1 3 4\nint f() __asm__(\"g\");\n# 2 \"own.cpp\" 2\nint a;\n")
            .empty());
}

TEST_CASE("line markers, asm and foreign files are refused in the text, in each spelling") {
  const Folder folder;
  const auto refused = [&](const std::string& text, const std::string& fragment) {
    const std::string sentence = folder.on(text);
    INFO(text << "\n" << sentence);
    CHECK(testing::contains(sentence, fragment));
  };
  for (const char* marker : {"# 1 \"x\" 3\n", "#line 1 \"x\"\n", "%: 1 \"x\"\n", " /* */ # /* */ 1\n",
                             "#li\\\nne 1\n", "\n\\\n#\\\n1 \"x\"\n", "R\"(x)\";\n# 1 \"x\"\n"})
    refused(marker, "says that another line of another file comes next");
  for (const char* code : {"asm(\"\");", "int a; __asm__ volatile(\"\");", "#define A __asm\n",
                           "a\\\nsm(\"\");", "#if 0\n asm\n#endif"})
    refused(code, "uses asm");
  for (const char* target : {"\"/etc/passwd\"", "</etc/passwd>", "\"../foreign.hpp\"", "<../../etc/passwd>",
                             "\"../../../../../../../etc/passwd\""}) {
    refused("#include " + std::string(target) + "\n", "own.cpp:1 reaches for");
    refused("\n#if __has_include(" + std::string(target) + ")\n#endif\n", "own.cpp:2 reaches for");
  }
  refused("\xEF\xBB\xBF# 1 \"x\" 3\n", "says that another line");
  refused("const char* s = \"a\r\"; asm(\"\");//\"\n", "own.cpp holds a control character");
  refused("#define ASK __has_include\n#if ASK(\"/etc/passwd\")\n#endif\n",
          "own.cpp:1 includes what a macro says");
  folder.write("mine/pastes.hpp", "#define PASTE(a, b) a##b\n");
  refused("#include \"pastes.hpp\"\n#include <list>\n", "put the includes first");
  refused("#if 1\nint a = f(\n#else\n#endif\n#include <list>\n",
          "own.cpp:5 includes a header between brackets");
  refused("#if 1\nint a = f(\n#elif 0\n)\n#endif\n#include <list>\n",
          "own.cpp:6 includes a header between brackets");
  refused("#if 0\n#else\nint a = f(\n#endif\n#include <list>\n",
          "own.cpp:5 includes a header between brackets");
  CHECK(folder.on("#if 1\nint f(\n#else\nint g(\n#endif\n);\n#include <list>\n").empty());
  refused("#define X \"x\"\n#include X\n", "own.cpp:2 includes what a macro says");
  refused("#define X(a) a##b\n#include <list>\n", "put the includes first");
  refused("#ident \"x\"\n", "writes a text of its own into the object");
  refused("auto s = R\"(\n # 1 \"/usr/include/x.h\"\n)\";\n", "has a raw string");
  folder.write("mine/helper.hpp", "\nasm(\"\");\n");
  refused("#include \"helper.hpp\"\n", "helper.hpp:2 uses asm");
  fs::create_symlink(folder.path("foreign.hpp"), folder.path("mine/link.hpp"));
  refused("#include \"link.hpp\"\n", "reaches for link.hpp");
  CHECK(folder.on("void f() __attribute__((no_sanitize_thread));").empty());
  CHECK(testing::contains(folder.on("#undef no_sanitize_thread\n", true),
                          "would not see what the kernel touches"));
}

TEST_CASE("code that macros hide is refused in the preprocessed text") {
  const auto refused = [](const std::string& text, const std::string& fragment, bool checked_kernel = false) {
    const std::string sentence = expanded(text, checked_kernel);
    INFO(text << "\n" << sentence);
    CHECK(testing::contains(sentence, fragment));
  };
  refused("\nasm(\"nop\");\n", "own.cpp:2 uses asm");
  refused("# 1 \"/usr/include/math.h\" 1 3 4\nint a;\n# 9 \"own.cpp\" 2\nint f() __asm__(\"g\");\n",
          "own.cpp:9 uses asm");
  for (const char* attribute : {"section(\".interp\")", "alias(\"f\")", "__ifunc__(\"f\")", "weakref(\"f\")",
                                "symver(\"f@1\")", "weak", "target_clones(\"avx\")", "novel(\"text\")"}) {
    refused("__attribute__((used, " + std::string(attribute) + ")) int x;\n",
            "which speaks to assembler or linker");
    refused("[[gnu::" + std::string(attribute) + "]] int x;\n", "which speaks to assembler or linker");
    refused("[[using gnu: " + std::string(attribute) + "]] int x;\n", "which speaks to assembler or linker");
  }
  refused("#pragma redefine_extname f g\n", "the pragma redefine_extname");
  refused("#pragma weak f = g\n", "the pragma weak");
  refused("#pragma GCC pch_preprocess \"own.hpp.gch\"\n", "includes a precompiled header");
  refused("__attribute__((no_sanitize(\"thread\"))) void f();\n", "would not see", true);
  refused("int x = __builtin_ia32_crc32qi(1, 2);\n", "would not see", true);
  CHECK(expanded("__attribute__((no_sanitize(\"thread\"))) void f();\n").empty());
}

// A path as make writes it.
std::string for_make(const fs::path& path) {
  std::string text;
  for (const char c : path.string()) text += c == ' ' ? "\\ " : std::string(1, c);
  return text;
}

TEST_CASE("every file that should not have been read is named") {
  const Folder folder;
  const fs::path file = folder.path("mine/own.cpp");
  const auto sentence_on = [&](const std::string& list) {
    return complaint_about_read("own.o: " + list, file, folder.places());
  };
  fs::create_directories(folder.path("course/ringcraft"));
  CHECK(sentence_on("own.cpp /usr/include/math.h \\\n helper.hpp my\\ helper.hpp \\\n " +
                    for_make(folder.path("course/ringcraft/merge.hpp")) + "\n")
            .empty());
  CHECK(sentence_on("own.cpp " + for_make(folder.path("course/merge.cpp"))) ==
        "own.cpp includes merge.cpp, a source file: include headers, and write the body yourself");
  for (const char* foreign :
       {"/etc/passwd", "../foreign.hpp", "/usr/include/../../etc/passwd", "own.hpp.gch"})
    CHECK(testing::contains(sentence_on("own.cpp " + std::string(foreign)),
                            "which is no header of the course"));
  CHECK(testing::contains(sentence_on("own.cpp " + for_make(folder.path("course/CMakeLists"))),
                          "no header of the course"));
}

TEST_CASE("a text of nothing but brackets takes no time") {
  CHECK(testing::contains(expanded(std::string(1 << 20, '[')), "begins an attribute that does not end"));
  CHECK(expanded(std::string(1 << 20, '(')).empty());
}

TEST_CASE("constants are declared const, of types that refer to nothing else") {
  const auto constants = [](const std::string& text) {
    std::string all;
    for (const std::string& name : constants_in(text)) all += (all.empty() ? "" : " ") + name;
    return all;
  };
  CHECK(constants("static const std::string a = \"x\"; const std::vector<std::pair<int, double>> b{};") ==
        "a b");
  CHECK(constants("std::string const a = \"x\", b(\"y, z\"), c{};") == "a b c");
  CHECK(constants("using namespace std; const static string a = f(1, 2); namespace { const Own b; }") ==
        "a b");
  CHECK(constants("constexpr std::array a{1, 2}; inline constexpr int* b = nullptr; constexpr auto c = 3;") ==
        "a b c");
  CHECK(constants("static const auto a = std::vector<double>{1, 2}; static const std::regex b(\"a+\");") ==
        "a b");
  CHECK(constants("const std::vector<const char*> a = {\"x\"}; const std::optional<std::string> b = c;") ==
        "a b");
  CHECK(constants("int f() { for (int i = 0; i < 4; ++i) g(); } const auto a = f(); const T& b = f();") ==
        "a b");
  CHECK(constants("const double* const a = b.data();") == "a");
  CHECK(constants("const" + std::string(100000, '=')).empty());  // in no time
  CHECK(constants("void f() { static const Eigen::Matrix3d a = Eigen::Matrix3d::Identity(); }") == "a");
  for (const char* changes :
       {"static std::string a;", "const std::vector<int*> a;", "const int* a;",
        "static const std::unique_ptr<int> a;", "const auto a = std::make_unique<double[]>(9);",
        "static const auto a = new int(1);", "const std::function<int()> a = [] { return 1; };",
        "static const std::span<double> a = b;", "const char* a = b;"}) {
    INFO(changes);
    CHECK(constants(changes).empty());
  }
}

TEST_CASE("a file is a student's own, or a link to one") {
  const Folder folder;
  const fs::path library = folder.write("merge.cpp", "solution\n"),
                 own = folder.write("mine/own.cpp", "mine\n");
  fs::create_symlink("own.cpp", folder.path("mine/to_own.cpp"));
  fs::create_symlink("../merge.cpp", folder.path("mine/to_library.cpp"));
  fs::create_hard_link(library, folder.path("mine/is_library.cpp"));
  const auto sentence_on = [&](const char* name) {
    return complaint_about_file(take_source(folder.path(name), "104_merge"), library);
  };
  CHECK(sentence_on("mine/own.cpp").empty());
  CHECK(sentence_on("mine/to_own.cpp").empty());
  CHECK(sentence_on("mine/to_library.cpp") ==
        "to_library.cpp is a link to a file outside of your folder: put a file of your own there");
  CHECK(sentence_on("mine/is_library.cpp") ==
        "is_library.cpp is a link to the library's own file: put a file of your own there");
  folder.write("mine/-w.cpp", "mine\n");
  CHECK(testing::contains(sentence_on("mine/-w.cpp"), "-w.cpp is no name for a file"));
  CHECK(take_source(own, "mine").folder == folder.path("mine").parent_path());
  CHECK(take_source(own, "104_merge").folder == folder.path("mine"));
}

TEST_CASE("the judge uses the bytes that it read, even if the files change") {
  const Folder folder;
  folder.write("mine/more.hpp", "#include \"deep/most.inc\"\n");
  fs::create_directories(folder.path("mine/deep"));
  folder.write("mine/deep/most.inc", "int most;\n");
  OwnSource source = take_source(folder.write("mine/own.cpp", "#include \"more.hpp\"\n"), "104_merge");
  CHECK(complaint_about_text(source, folder.places()).empty());
  const auto written = fs::last_write_time(folder.path("mine/own.cpp"));
  for (const char* name : {"mine/own.cpp", "mine/more.hpp", "mine/deep/most.inc"}) {
    fs::remove(folder.path(name));
    fs::create_symlink("../foreign.hpp", folder.path(name));
  }
  const fs::path copy = source.write_below(folder.path("copies"));
  CHECK(copy == folder.path("copies/own.cpp"));
  const auto text = [&](const char* name) { return read_text_file("test", folder.path(name), 100); };
  CHECK(text("copies/own.cpp") == "#include \"more.hpp\"\n");
  CHECK(text("copies/more.hpp") == "#include \"deep/most.inc\"\n");
  CHECK(text("copies/deep/most.inc") == "int most;\n");
  CHECK(fs::last_write_time(copy) == written);
}

TEST_CASE("endless files, pipes and folders are not read") {
  const Folder folder;
  const fs::path huge = folder.write("mine/huge.cpp", "");
  fs::resize_file(huge, std::uintmax_t{1} << 40);
  testing::check_refused([&] { (void)take_source(huge, "104_merge"); }, "at most 262144 bytes");
  REQUIRE(::mkfifo(folder.path("mine/pipe.hpp").c_str(), 0600) == 0);
  testing::check_refused([&] { (void)take_source(folder.path("mine/pipe.hpp"), "104_merge"); },
                         "a regular file");
  testing::check_refused([&] { (void)take_source(folder.path("mine"), "104_merge"); }, "a regular file");
  fs::rename(huge, folder.path("mine/huge.hpp"));
  for (const char* name : {"huge.hpp", "pipe.hpp"})
    CHECK(testing::contains(folder.on("#include \"" + std::string(name) + "\"\n"),
                            "which is no small file of your own"));
}

}  // namespace ringcraft::judge
