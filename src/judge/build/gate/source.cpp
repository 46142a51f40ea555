// Applies the rules for a student's source to its text, its list of included files and its preprocessed text.
#include "judge/build/gate/source.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <set>
#include <system_error>

#include "judge/build/gate/tokens.hpp"
#include "judge/tree/text_file.hpp"
#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::judge {
namespace {

namespace fs = std::filesystem;
using Tokens = std::vector<Token>;

constexpr std::size_t kMostHeaders = 50;          // of a student's own
constexpr std::size_t kLargestOwnText = 4 << 20;  // bytes of it, preprocessed
constexpr std::size_t kLongestValue = 1000;       // tokens, of a constant
constexpr std::size_t kLongestAttribute = 1000;   // tokens

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> known) {
  return std::ranges::find(known, name) != known.end();
}

// The change in the number of open brackets of these kinds at a token.
int brackets(const Token& token, std::string_view opening, std::string_view closing) {
  if (token.text.size() != 1) return 0;
  return opening.find(token.text) != opening.npos ? 1 : closing.find(token.text) != closing.npos ? -1 : 0;
}

bool is_source(const fs::path& path) {
  return is_one_of(path.extension().string(), {".cpp", ".cc", ".cxx", ".c", ".cu", ".txt"});
}

fs::path real(const fs::path& path) {
  std::error_code failed;
  const fs::path found = fs::weakly_canonical(path, failed);
  return failed ? path.lexically_normal() : found;
}

bool is_own(const fs::path& path, const fs::path& folder) { return is_within(real(path), real(folder)); }

bool is_of_course(const fs::path& path, const Places& places) {
  return is_header(path) && std::ranges::any_of(places.headers, [&](const fs::path& folder) {
           return is_within(real(path), real(folder));
         });
}

// By its name: links in /usr/include belong to the system and are not followed.
bool is_of_toolchain(const fs::path& path, const Places& places) {
  return path.is_absolute() && std::ranges::any_of(places.toolchain, [&](const fs::path& folder) {
           return is_within(path.lexically_normal(), folder.lexically_normal());
         });
}

std::string at(const std::string& file, int line) { return file + ":" + std::to_string(line); }

bool is_asm(const Token& token) {
  return token.is_name() && (token.is("asm") || token.is("__asm") || token.is("__asm__"));
}

std::string about_asm(const std::string& where) {
  return where + " uses asm, which no exercise needs and no check sees through: write it in C++";
}

std::string about_asking_pragma(const std::string& where) {
  return where + " asks for a file by a pragma: include a header, or remove the line";
}

std::string about_unseen(const std::string& where, const std::string& word) {
  return where + " uses " + word +
         ", by which a checked launch would not see what the kernel touches: take plain loads and stores";
}

// Macros of the C library's headers that expand to asm.
bool makes_asm(const Token& token) {
  return token.text.starts_with("__REDIRECT") || token.text.starts_with("__LDBL_REDIR") ||
         token.text.starts_with("__ASMNAME");
}

// Names that switch the instrumentation of a function off, in the spelling of any compiler, or introduce
// accesses that have none.
bool hides_accesses(const Token& token) {
  if (is_one_of(token.text,
                {"va_arg", "__builtin_va_arg", "__builtin_memcpy", "__builtin_memmove", "__builtin_memset",
                 "__builtin_mempcpy", "noipa", "__noipa__", "noclone", "__noclone__"}))
    return true;
  return token.is_name() && (token.text.find("no_sanitize") != token.text.npos ||
                             token.text.find("disable_sanitizer") != token.text.npos ||
                             token.text.find("no_address_safety") != token.text.npos);
}

// Names of this processor's instructions, which no function call shows to a checker.
bool is_intrinsic(const Token& token) {
  constexpr std::string_view kBegins[] = {"__builtin_ia32_", "_mm",    "_directstore", "_movdir", "_enqcmd",
                                          "_tile_",          "_xsave", "_fxsave",      "_rdrand", "_rdseed"};
  return std::ranges::any_of(kBegins, [&](std::string_view begin) { return token.text.starts_with(begin); });
}

// Compilers disagree on whether a line ends at these.
bool has_odd_character(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool ends_line = text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
    if ((byte < 0x20 && std::string_view("\t\n\v\f").find(text[i]) == std::string_view::npos && !ends_line) ||
        byte == 0x7F)
      return true;
  }
  return false;
}

// In the preprocessed text such a line would pass for a line marker.
bool holds_directive(const Token& token) {
  if (token.kind != Token::Kind::kString || token.text.front() == '"') return false;
  for (auto line = token.text.find('\n'); line != token.text.npos; line = token.text.find('\n', line + 1)) {
    const auto first = token.text.find_first_not_of(" \t\v\f\r", line + 1);
    if (first != token.text.npos && token.text[first] == '#') return true;
  }
  return false;
}

std::string about_source(const std::string& where, const fs::path& target) {
  return where + " includes " + shown(target.filename().string()) +
         ", a source file: include headers, and write the body yourself";
}

// ---- attributes

// Attributes that may take a string; any other one with a string addresses the assembler or the linker.
bool may_quote(const std::string& attribute) {
  return is_one_of(attribute, {"optimize", "target", "deprecated", "nodiscard", "simd", "warning", "error",
                               "visibility", "no_sanitize"});
}

bool speaks_to_linker(const std::string& attribute) {
  return is_one_of(attribute, {"section", "alias", "ifunc", "weakref", "symver", "naked", "target_clones",
                               "retain", "destructor", "weak", "no_instrument_function", "copy"});
}

std::string without_underscores(std::string name) {
  if (name.size() > 4 && name.starts_with("__") && name.ends_with("__"))
    name = name.substr(2, name.size() - 4);
  return name;
}

// Whether __attribute__(( begins here.
bool begins_attribute(const Tokens& tokens, std::size_t i) {
  return (tokens[i].is("__attribute__") || tokens[i].is("__attribute")) && i + 1 < tokens.size() &&
         tokens[i + 1].is("(");
}

// `first`: the bracket after __attribute__, or the first of [[.
std::string about_attribute(const Tokens& tokens, std::size_t first, const std::string& where) {
  int depth = 0;
  std::string attribute;
  for (std::size_t i = first; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    depth += brackets(token, "([", ")]");
    if (depth <= 0) return {};
    if (i - first > kLongestAttribute)
      return where + " begins an attribute that does not end: close its brackets";
    if (token.is_name() && depth == 2) attribute = without_underscores(token.text);
    const bool quotes = token.kind == Token::Kind::kString && !may_quote(attribute);
    if (quotes || (depth == 2 && token.is_name() && speaks_to_linker(attribute)))
      return where + " has the attribute " + shown(attribute) +
             ", which speaks to assembler or linker: leave it out";
  }
  return {};
}

// ---- the text itself

// One file's text, and the student's own files that it includes.
class Reading {
 public:
  Reading(OwnSource& source, const Places& places) : source_(source), places_(places) {}

  // `file`: below the student's folder, and read.
  std::string of(const fs::path& file) {
    const std::string name = shown(file.filename().string());
    const std::string& text = source_.texts.at(file).text;
    if (has_odd_character(text))
      return name + " holds a control character, which editors show in many ways: save it as plain text";
    const Tokens tokens = tokens_of(text);
    const Place place{tokens, file, name};
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (const std::string sentence = about(place, i); !sentence.empty()) return sentence;
    return {};
  }

 private:
  struct Place {
    const Tokens& tokens;
    const fs::path& file;
    const std::string& name;

    const Token& token(std::size_t i) const {
      static const Token none;
      return i < tokens.size() ? tokens[i] : none;
    }
  };

  std::string about(const Place& place, std::size_t i) {
    const Token& token = place.token(i);
    const std::string where = at(place.name, token.line);
    if (is_asm(token) || makes_asm(token)) return about_asm(where);
    if (places_.checked_kernel && hides_accesses(token)) return about_unseen(where, shown(token.text));
    if (begins_attribute(place.tokens, i))  // in a macro, too, which a header of the system may use
      if (std::string sentence = about_attribute(place.tokens, i + 1, where); !sentence.empty())
        return sentence;
    depth_ += brackets(token, "([", ")]");
    const bool asks = token.kind == Token::Kind::kString ? token.text.find("GCC") != token.text.npos
                                                         : place.token(i == 0 ? 0 : i - 1).is("GCC");
    if (asks && token.text.find("dependency") != token.text.npos && mentions_pragma_)
      return about_asking_pragma(where);
    mentions_pragma_ = mentions_pragma_ || token.is("_Pragma") || token.is("__pragma");
    if (token.is("##")) pastes_ = true;
    if (holds_directive(token))
      return where +
             " has a raw string with a line that begins with #, which looks like the preprocessor's: "
             "write it as several strings";
    if (token.is_name() && asks_for_file(token) && !is_asked_for(place, i))
      return place.token(i + 1).is("(") ? about_header(place, i + 2, where) : about_macro_header(where);
    if (token.is("#") && token.begins_line) return about_directive(place, i + 1, where);
    return {};
  }

  static bool asks_for_file(const Token& token) {
    return token.text.starts_with("__has_include") || token.is("__has_embed");
  }

  // #ifdef __has_include, defined(__has_include)
  static bool is_asked_for(const Place& place, std::size_t i) {
    const auto before = [&](std::size_t back) { return i < back ? Token{} : place.token(i - back); };
    return before(1).is("ifdef") || before(1).is("ifndef") || before(1).is("defined") ||
           (before(1).is("(") && before(2).is("defined"));
  }

  static std::string about_macro_header(const std::string& where) {
    return where + " includes what a macro says: write the header's name there, in <> or \"\"";
  }

  std::string about_directive(const Place& place, std::size_t i, const std::string& where) {
    const Token& word = place.token(i);
    if (word.begins_line) return {};  // a '#' alone
    if (word.kind == Token::Kind::kNumber || word.is("line"))
      return where +
             " says that another line of another file comes next, which only a preprocessor says: "
             "remove the line";
    follow_branch(word);
    const std::string& defined = place.token(i + 1).text;
    if (word.is("define") && (defined.starts_with("EIGEN_") || defined.starts_with("BOOST_")))
      return where + " defines " + shown(defined) + ", by which a library may include files: leave it out";
    if (word.is("ident") || word.is("sccs"))
      return where + " writes a text of its own into the object, which no exercise needs: remove the line";
    if (word.is("pragma") && place.token(i + 1).is("GCC") &&
        (place.token(i + 2).is("dependency") || place.token(i + 2).is("pch_preprocess")))
      return about_asking_pragma(where);
    if (!word.is("include") && !word.is("include_next") && !word.is("import") && !word.is("embed")) return {};
    if (depth_ > 0) return where + " includes a header between brackets: put the includes first";
    return about_header(place, i + 1, where);
  }

  // At most one branch of an #if is compiled: each begins with the same number of open brackets, and after
  // them the number is the largest that any branch leaves open.
  void follow_branch(const Token& word) {
    if (word.text.starts_with("if")) branches_.push_back({depth_, depth_});
    if (branches_.empty()) return;
    Branches& all = branches_.back();
    if (!word.text.starts_with("el") && !word.is("endif")) return;
    all.most = std::max(all.most, depth_);
    depth_ = word.is("endif") ? all.most : all.begin;
    if (word.is("endif")) branches_.pop_back();
  }

  std::string about_header(const Place& place, std::size_t i, const std::string& where) {
    const std::string text = place.token(i).text;
    const bool named = text.size() > 2 && ((text.front() == '<' && text.back() == '>') ||
                                           (text.front() == '"' && text.back() == '"'));
    if (!named) return about_macro_header(where);
    const fs::path target = text.substr(1, text.size() - 2);
    const fs::path beside = (place.file.parent_path() / target).lexically_normal();
    std::error_code none;
    if (text.front() == '"' && fs::exists(source_.folder / beside, none)) return about_own(beside, where);
    if (pastes_)
      return where + " includes a header after a macro that pastes names (##): put the includes first";
    if (target.is_absolute() || std::ranges::find(target, fs::path("..")) != target.end())
      return about_place(where, target);
    if (is_source(target)) return about_source(where, target);
    const bool is_private = std::ranges::any_of(places_.headers, [&](const fs::path& folder) {
      const fs::path found = folder.parent_path() / target;
      return fs::exists(found, none) && !is_of_course(found, places_);
    });
    return is_private ? about_place(where, target) : std::string();
  }

  // `file`: its place relative to the student's folder.
  std::string about_own(const fs::path& file, const std::string& where) {
    if (file.is_absolute() || *file.begin() == "..")
      return is_of_course(source_.folder / file, places_) ? about_course(where) : about_place(where, file);
    if (source_.texts.contains(file)) return {};
    TextFile text;
    try {
      text = take_text_file("include", source_.folder / file, kLargestOwnFile);
    } catch (const Error&) {
    }
    if (text.place.empty() || source_.texts.size() > kMostHeaders)
      return where + " includes " + shown(file.filename().string()) +
             ", which is no small file of your own: expected are at most " + std::to_string(kMostHeaders) +
             ", each of at most " + std::to_string(kLargestOwnFile >> 10) + " KB; leave it out";
    if (!is_own(text.place, source_.folder)) return about_place(where, file);
    source_.texts.emplace(file, std::move(text));
    return of(file);
  }

  static std::string about_course(const std::string& where) {
    return where +
           " includes a header of the course by its place: name it as the course does, "
           "\"ringcraft/core/error.hpp\"";
  }

  static std::string about_place(const std::string& where, const fs::path& target) {
    return where + " reaches for " + shown(target.string()) +
           ", which is no header of the course, of the compiler or of your own folder: include one of those";
  }

  OwnSource& source_;
  const Places& places_;
  bool pastes_ = false;  // '##' has occurred
  bool mentions_pragma_ = false;
  struct Branches {
    int begin, most;  // open brackets
  };
  int depth_ = 0;  // of brackets
  std::vector<Branches> branches_;
};

// ---- the list of files

// The words of a rule of make, after its target.
std::vector<std::string> prerequisites(std::string_view rule) {
  std::vector<std::string> words(1);
  for (std::size_t i = std::min(rule.find(": "), rule.size()); i < rule.size(); ++i) {
    const char c = rule[i], next = i + 1 < rule.size() ? rule[i + 1] : '\0';
    if (c == '\\' && (next == ' ' || next == '#' || next == '\\')) {
      words.back() += next, ++i;
    } else if (c == '$' && next == '$') {
      words.back() += c, ++i;
    } else if (c == ' ' || c == '\n' || c == '\t' || (c == '\\' && next == '\n') ||
               (c == ':' && words.size() == 1 && words.back().empty())) {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  std::erase(words, "");
  return words;
}

// ---- the preprocessed text

std::string about_pragma(const Tokens& tokens, std::size_t i, const std::string& where) {
  const auto word = [&](std::size_t j) { return j < tokens.size() ? tokens[j].text : std::string(); };
  for (const char* known :
       {"redefine_extname", "weak", "ident", "comment", "include_alias", "detect_mismatch"})
    if (word(i) == known)
      return where + " has the pragma " + known + ", which speaks to the linker: leave it out";
  if (word(i) == "GCC" && word(i + 1) == "dependency") return about_asking_pragma(where);
  if (word(i) == "GCC" && word(i + 1) == "pch_preprocess")
    return where + " includes a precompiled header, whose contents no rule can check: remove its .gch file";
  if (word(i) == "clang" && (word(i + 1) == "section" || word(i + 1) == "attribute"))
    return where + " has the pragma clang " + word(i + 1) + ", which speaks to the linker: leave it out";
  return {};
}

std::string about_lines(std::string_view text, const std::string& file, int first_line,
                        const Places& places) {
  const Tokens tokens = tokens_of(text);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    const std::string where = at(file, first_line + token.line - 1);
    const auto next = [&](std::size_t j) {
      return i + j < tokens.size() ? tokens[i + j].text : std::string();
    };
    std::string sentence;
    if (is_asm(token)) sentence = about_asm(where);
    if (places.checked_kernel && (hides_accesses(token) || is_intrinsic(token)))
      sentence = about_unseen(where, shown(token.text));
    if (begins_attribute(tokens, i)) {
      sentence = about_attribute(tokens, i + 1, where);
    } else if (token.is("[") && next(1) == "[") {
      sentence = about_attribute(tokens, i, where);
    } else if (token.is("#") && token.begins_line && next(1) == "pragma") {
      sentence = about_pragma(tokens, i + 2, where);
    }
    if (!sentence.empty()) return sentence;
  }
  return {};
}

// ---- constants

// Types whose objects may be const and refer to something that is not.
bool leads_elsewhere(const Token& token) {
  return token.text.ends_with("_ptr") ||
         is_one_of(token.text, {"*", "&", "function", "span", "mdspan", "reference_wrapper", "any", "Map",
                                "Ref", "ref", "make_unique", "make_shared"});
}

// A declaration's tokens up to the start of its value: `static const std::map<int, int> kNext` of
// `static const std::map<int, int> kNext{{1, 2}};`
class Declaration {
 public:
  Declaration(const Tokens& tokens, std::size_t first) : tokens_(tokens), end_(first) {
    for (int depth = 0; end_ < tokens.size(); ++end_) {
      const Token& token = tokens[end_];
      if (is_one_of(token.text, {";", "{", "}"})) return;  // a < b opens nothing
      if (depth == 0 && is_one_of(token.text, {"=", "(", ")", "[", ":"})) return;
      depth += token.is("<") ? 1 : token.is(">") ? -1 : token.is(">>") ? -2 : 0;
      if (depth < 0) return;
      if (token.is("<") || token.is(",")) to_const_ = false;
      to_const_ |= token.is("const");
      fixed_ |= token.is("constexpr");
      constant_ |= token.is("const") && depth == 0;
      deduced_ |= token.is("auto");
      const bool fixed_pointer = token.is("*") && end_ + 1 < tokens.size() && tokens[end_ + 1].is("const");
      const bool points_to_const = depth > 0 ? to_const_ && (token.is("&") || token.is("*"))
                                             : constant_ && (token.is("&") || fixed_pointer);
      if (leads_elsewhere(token) && !points_to_const) leads_elsewhere_ = true;
      if (token.is_name() && depth == 0 && !token.is("const")) name_ = token.text;
    }
  }

  std::size_t end() const { return end_; }
  // The names that it declares, if they are of objects that do not change.
  std::vector<std::string> constants() const {
    if (!fixed_ && (!constant_ || leads_elsewhere_ || (deduced_ && !deduces_plain()))) return {};
    std::vector<std::string> names{name_};
    int depth = 0;  // `= "a", kSecond = "b";`
    for (std::size_t i = end_; i + 1 < limit() && !(depth == 0 && tokens_[i].is(";")); ++i) {
      depth += brackets(tokens_[i], "({[", ")}]");
      if (depth < 0) break;
      if (depth == 0 && tokens_[i].is(",") && tokens_[i + 1].is_name()) names.push_back(tokens_[i + 1].text);
    }
    return names;
  }

 private:
  // `const auto kTable = make_table(3)`, if its value refers to nothing else.
  bool deduces_plain() const {
    for (std::size_t i = end_; i < limit() && !tokens_[i].is(";"); ++i)
      if (leads_elsewhere(tokens_[i]) || is_one_of(tokens_[i].text, {"new", "malloc", "calloc"}))
        return false;
    return true;
  }
  // Values are short: an endless declaration must not be searched again for each of its words.
  std::size_t limit() const { return std::min(tokens_.size(), end_ + kLongestValue); }

  const Tokens& tokens_;
  std::size_t end_;
  bool fixed_ = false, constant_ = false;  // constexpr, const
  bool deduced_ = false;                   // auto
  bool leads_elsewhere_ = false;
  bool to_const_ = false;  // the current template argument points to something const
  std::string name_;
};

// Headers that define intrinsics under their own names.
bool is_of_vectors(const fs::path& path) {
  return std::ranges::any_of(path, [](const fs::path& part) { return part == "Eigen"; }) ||
         path.filename().string().starts_with("simd");
}

}  // namespace

std::set<std::string> constants_in(std::string_view text) {
  const Tokens tokens = tokens_of(text);
  std::set<std::string> constants;
  for (std::size_t begin = 0; begin < tokens.size();) {
    const Declaration declaration(tokens, begin);
    for (std::string& name : declaration.constants()) constants.insert(std::move(name));
    begin = std::max(declaration.end(), begin) + 1;
  }
  constants.erase("");
  return constants;
}

bool is_header(const fs::path& path) {
  return is_one_of(path.extension().string(), {".hpp", ".cuh", ".h", ".gch"});
}

bool is_within(const fs::path& path, const fs::path& folder) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end() || (end->empty() && std::next(end) == folder.end());
}

fs::path OwnSource::write_below(const fs::path& root) const {
  for (const auto& [place, read] : texts) {
    const fs::path copy = root / place;
    fs::create_directories(copy.parent_path());
    std::ofstream out(copy, std::ios::binary | std::ios::trunc);
    out << read.text;
    out.close();
    // Compilers treat two included files of the same time and text as one file.
    const timespec times[] = {read.modified, read.modified};
    if (!out || ::utimensat(AT_FDCWD, copy.c_str(), times, 0) != 0)
      throw Error("judge", "room for a copy of your file", copy.string(), "is the disk full?",
                  Code::kMissing);
  }
  return root / file;
}

OwnSource take_source(const fs::path& file, const std::string& lesson_name) {
  TextFile text = take_text_file("check", file, kLargestOwnFile);
  const fs::path whole = fs::absolute(file).lexically_normal();
  fs::path folder = whole.parent_path();
  if (folder.filename() == lesson_name) folder = folder.parent_path();
  OwnSource source{whole.lexically_relative(folder), folder, {}};
  source.texts.emplace(source.file, std::move(text));
  return source;
}

std::string complaint_about_file(const OwnSource& source, const fs::path& library) {
  const std::string name = shown(source.name());
  if (name.starts_with("-") || name.starts_with("@"))
    return name +
           " is no name for a file, as compilers take it for an option: give it one that begins with a "
           "letter";
  const TextFile& text = source.texts.at(source.file);
  if (!is_own(text.place, source.folder))
    return name + " is a link to a file outside of your folder: put a file of your own there";
  struct stat own {};
  const bool is_library =
      ::stat(library.c_str(), &own) == 0 && own.st_dev == text.device && own.st_ino == text.inode;
  const fs::path named = source.folder / source.file;
  if (is_library && real(named.parent_path()) / named.filename() != real(library))
    return name + " is a link to the library's own file: put a file of your own there";
  return {};
}

std::string complaint_about_text(OwnSource& source, const Places& places) {
  return Reading(source, places).of(source.file);
}

std::string complaint_about_read(std::string_view list, const fs::path& file, const Places& places) {
  const std::string name = file.filename().string();
  for (const std::string& word : prerequisites(list)) {
    const fs::path path = word;
    if (places.checked_kernel && is_of_vectors(path))
      return shown(name) + " includes " + shown(path.filename().string()) +
             ", whose code takes vectors of this processor, which no check of a kernel sees: leave it out";
    if (word == name || is_of_toolchain(path, places)) continue;
    const fs::path whole = path.is_absolute() ? path : fs::absolute(file).parent_path() / path;
    if (is_own(whole, places.folder) && path.extension() != ".gch") continue;
    if (is_source(path)) return about_source(shown(name), path);
    if (!is_of_course(whole, places))
      return shown(name) + " includes " + shown(word) +
             ", which is no header of the course, of the compiler or of your own folder: include one of "
             "those";
  }
  return {};
}

std::string complaint_about_expanded(std::string_view text, const std::string& name, const Places& places) {
  // Piece by piece, from one line marker, # 12 "merge.cpp" 2, to the next.
  bool mine = false;
  std::size_t own_text = 0;
  std::string file = name;
  int first_line = 1;
  for (std::size_t begin = 0; begin < text.size();) {
    auto end = std::min(text.find("\n# ", begin), text.size());
    if (text.substr(begin, 2) == "# " && begin + 2 < text.size() && text[begin + 2] >= '0' &&
        text[begin + 2] <= '9') {
      const auto line_end = std::min(text.find('\n', begin), text.size());
      const auto quote = text.find('"', begin), closing = text.rfind('"', line_end);
      first_line = 0;
      for (std::size_t i = begin + 2; text[i] >= '0' && text[i] <= '9'; ++i)
        first_line = 10 * first_line + (text[i] - '0');
      if (quote < line_end && closing > quote && closing < line_end) {
        const std::string path(text.substr(quote + 1, closing - quote - 1));
        mine = path != "<built-in>" && path != "<command-line>" && path != "<stdin>" &&
               !is_of_toolchain(path, places);
        file = shown(fs::path(path).filename().string());
      }
      begin = line_end + 1;
      end = std::min(text.find("\n# ", line_end), text.size());
    }
    if (mine && begin < end && (own_text += end - begin) > kLargestOwnText)
      return shown(name) + " becomes more than " + std::to_string(kLargestOwnText >> 20) +
             " MB of text when its macros are expanded: write fewer, or smaller ones";
    if (mine && begin < end) {
      const std::string sentence = about_lines(text.substr(begin, end - begin), file, first_line, places);
      if (!sentence.empty()) return sentence;
    }
    begin = end + 1;
  }
  return {};
}

}  // namespace ringcraft::judge
