#pragma once
/// @file
/// The symbol gate: the names that a student's object may define and call. The rule is derived from the
/// library's own objects with nm, so that it cannot become outdated: the object defines what the library's
/// object of the same file defines, and calls core, problem, the methods of a block engine, what that object
/// calls, and what a lesson declares beyond it.

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ringcraft::judge {

/// One line of nm.
struct Symbol {
  std::string object;  ///< path of the object file
  std::string name;    ///< mangled
  char kind;           ///< nm's letter: U undefined, T t code, W weak ...

  bool undefined() const { return kind == 'U' || kind == 'w' || kind == 'v'; }
  bool weak() const { return kind == 'W' || kind == 'V' || kind == 'u'; }
  bool local() const { return kind >= 'a' && kind <= 'z' && !undefined() && kind != 'u'; }
};

/// Parses the output of `nm -A -P`. Lines of another form are skipped.
std::vector<Symbol> parse_nm(std::string_view text);

/// Whether a mangled name belongs to namespace ringcraft: a function, a variable, or the vtable, type
/// information or guard of one.
bool is_ringcraft(std::string_view mangled);

/// "ringcraft::merge": the readable name of a function or variable, without types; "vtable for
/// ringcraft::Error" is left as it is.
std::string readable(const std::string& mangled);
/// "ringcraft::merge<float>": the same with the types that a template was made for.
std::string readable_with_types(const std::string& mangled);

/// A variable that lives as long as the program, or as a thread of it.
struct Kept {
  std::string name;         ///< "buffers"
  bool per_thread = false;  ///< one for each thread; so is a `__shared__` variable on the CPU
  std::string scope = {};   ///< the function or namespace that declares it
  std::string symbol = {};  ///< its mangled name
};

/// The variables of a student's object that can change, from the output of `nm -f sysv`. Those of the
/// standard library are left out.
std::vector<Kept> parse_kept(std::string_view text);

/// A sentence for the first of these that a lesson's file may not have, or nothing. `constants`: names of
/// variables that the source declares const (constants_in, gate/source.hpp).
std::string complaint_about_kept(const std::vector<Kept>& variables, const std::set<std::string>& constants,
                                 bool kernel);

/// A sentence about the first call that no exercise needs, and that reaches nothing where it is judged: of one
/// that opens files, starts programs, sends signals or looks into other processes. Empty: there is none.
std::string remark_about_calls(const std::vector<Symbol>& student);

/// A sentence if the object of a checked kernel is not instrumented, or calls functions whose accesses no
/// checker sees: of the C library it may call only functions of numbers.
std::string complaint_about_unseen(const std::vector<Symbol>& student);

/// The input of the symbol gate.
struct GateInput {
  std::vector<Symbol> student;    ///< of the student's object
  std::vector<Symbol> library;    ///< of all objects of the library
  std::string source;             ///< the library's own file below src or kernels, "forward/01_naive.cu"
  std::set<std::string> allowed;  ///< names like "ringcraft::exchange_odd_even" that may be called besides
  int lesson = 0;                 ///< for the sentence
};

/// Every complaint as a sentence; none: the object may be linked.
std::vector<std::string> complaints(const GateInput& input);

}  // namespace ringcraft::judge
