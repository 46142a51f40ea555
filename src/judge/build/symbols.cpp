// Compares the symbols of a student's object with those of the library's objects, and words each violation.
#include "judge/build/symbols.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <span>
#include <sstream>

namespace ringcraft::judge {
namespace {

// Returns the name unchanged if it is not mangled.
std::string demangled(const std::string& name) {
  // Repeated substitutions of earlier types would double the length with each of them.
  constexpr std::ptrdiff_t kMostSubstitutions = 40;
  if (std::ranges::count(name, 'S') > kMostSubstitutions || name.size() > 2000) return name.substr(0, 200);
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

bool holds_one_of(std::string_view name, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [=](std::string_view part) { return name.find(part) != name.npos; });
}

bool begins_with_one_of(std::string_view name, std::span<const std::string_view> begins) {
  return std::ranges::any_of(begins, [=](std::string_view begin) { return name.starts_with(begin); });
}

constexpr std::string_view kAllocators[] = {"_Znw", "_Zna", "_Zdl", "_Zda"};  // operator new and its like

bool ends_with_path(std::string_view object, const std::string& source) {
  return object.find(source + ".") != object.npos;  // ".../ringcraft/attention/merge.cpp.o"
}

// Also the methods of a BlockEngine: the engine itself is an argument, which no file can make.
bool is_everyones(std::string_view object) {
  return holds_one_of(object, {"/ringcraft/core/", "/ringcraft/problem/", "/ringcraft/engine/block_engine."});
}

struct Names {
  std::set<std::string> everyones, own, own_strong, own_calls, called_from_outside;
};

// Names that the library's objects allow a file to define and to call.
Names names_of(const GateInput& input) {
  Names names;
  for (const Symbol& symbol : input.library) {
    const bool own = ends_with_path(symbol.object, input.source);
    if (symbol.undefined()) {
      (own ? names.own_calls : names.called_from_outside).insert(symbol.name);
    } else if (!symbol.local()) {
      if (is_everyones(symbol.object)) names.everyones.insert(symbol.name);
      if (own) names.own.insert(symbol.name);
    }
  }
  // The file's own interface: all that it defines except inline functions of a header, which others define,
  // too.
  for (const Symbol& symbol : input.library)
    if (ends_with_path(symbol.object, input.source) && is_ringcraft(symbol.name) &&
        names.own.contains(symbol.name) &&
        (!symbol.weak() || names.called_from_outside.contains(symbol.name)))
      names.own_strong.insert(symbol.name);
  return names;
}

std::string may_not_define(const Symbol& symbol, const Names& names) {
  if (names.own.contains(symbol.name)) return {};
  if (symbol.weak() && !names.called_from_outside.contains(symbol.name)) return {};  // an inline function
  const bool library =
      names.called_from_outside.contains(symbol.name) || names.everyones.contains(symbol.name);
  return "your file defines " + readable(symbol.name) +
         (library
              ? ", which the library defines elsewhere; give your function another name"
              : ", which the lesson's file does not; put helpers of your own into an anonymous namespace");
}

// A name without C++ linkage that the file exports: it would replace a function of the C library.
bool is_of_c(const Symbol& symbol) {
  return !symbol.undefined() && !symbol.local() && !symbol.name.starts_with("_Z") &&
         !symbol.name.starts_with("DW.ref.") && symbol.name != "__clang_call_terminate";  // of compilers' own
}

// The same for C++: operator new and its like, and whatever is no template or inline function of a header.
bool is_of_standard_library(const Symbol& symbol) {
  if (symbol.undefined() || symbol.local()) return false;
  constexpr std::string_view kStandard[] = {"_ZSt", "_ZNSt", "_ZNKSt"};
  return begins_with_one_of(symbol.name, kAllocators) ||
         (begins_with_one_of(symbol.name, kStandard) && !symbol.weak());
}

std::string may_not_call(const Symbol& symbol, const Names& names, const GateInput& input) {
  if (names.everyones.contains(symbol.name) || names.own_calls.contains(symbol.name) ||
      names.own.contains(symbol.name) || input.allowed.contains(readable(symbol.name)))
    return {};
  return "your file calls " + readable(symbol.name) + ", which lesson " + std::to_string(input.lesson) +
         " does not give you; write that part yourself";
}

// With these, host code would compute with the device's data.
bool copies_for_the_host(std::string_view name) {
  constexpr std::string_view kCopies[] = {"cudaMemcpy", "cudaMemset", "cudaMallocHost", "cudaHostAlloc"};
  return begins_with_one_of(name, kCopies);
}

// Symbols that C++ without array accesses needs: memory for objects, types, exceptions with their texts,
// clocks, trees and tables.
// clang-format off
constexpr std::string_view kHarmless[] = {
    "_ZTI", "_ZTS", "_ZTV",
    "_ZNSt9exception", "_ZNKSt9exception", "_ZNSt9bad_alloc", "_ZSt9terminate", "_ZSt17current_exception",
    "_ZNSt11logic_error", "_ZNKSt11logic_error", "_ZNSt12domain_error", "_ZNSt12length_error", "_ZNSt12out_of_range",
    "_ZNSt16invalid_argument",
    "_ZNSt13runtime_error", "_ZNKSt13runtime_error", "_ZNSt11range_error", "_ZNSt14overflow_error",
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE", "_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE",
    "_ZNSt6chrono",
    "_ZSt29_Rb_tree_insert_and_rebalance", "_ZSt28_Rb_tree_rebalance_for_erase", "_ZSt18_Rb_tree_increment",
    "_ZSt18_Rb_tree_decrement", "_ZNKSt8__detail20_Prime_rehash_policy"};
// clang-format on

// Everything else of the standard library that is not part of the file itself may read, write and start
// programs.
bool is_of_cpp(std::string_view name) {
  if (is_ringcraft(name) || begins_with_one_of(name, kAllocators) || begins_with_one_of(name, kHarmless))
    return true;
  if (name.starts_with("_ZSt") && holds_one_of(name, {"__throw_", "__glibcxx_assert_fail"})) return true;
  const std::string_view own = name.substr(std::min(name.find_first_not_of("0123456789", 2), name.size()));
  return own.starts_with("ringcraft") || (own.starts_with("cuda") && !copies_for_the_host(own));
}

// Functions that compilers call implicitly, and functions of C++, ringcraft's among them.
bool is_of_language(std::string_view name) {
  if (name.starts_with("_Z")) return is_of_cpp(name);
  constexpr std::string_view kFamilies[] = {"__tsan_", "__sanitizer_cov_", "__cxa_",
                                            "__gxx_",  "_Unwind_",         "__stack_chk_"};
  return begins_with_one_of(name, kFamilies) || name == "_GLOBAL_OFFSET_TABLE_" || name == "__dso_handle" ||
         name == "__tls_get_addr" || name == "_Exit" || name == "__assert_fail" ||
         name == "__libc_single_threaded";
}

// Functions of the C library whose arguments and results are numbers, and those that a kernel's host side
// prints with; "expf" and "exp" count as one.
bool is_of_numbers(std::string_view name) {
  static const std::set<std::string_view> kFamilies{
      "acos",  "acosh",     "asin",   "asinh", "atan",      "atan2",   "atanh",     "cbrt",
      "ceil",  "copysign",  "cos",    "cosh",  "erf",       "erfc",    "exp",       "exp2",
      "exp10", "expm1",     "fabs",   "fdim",  "floor",     "fma",     "fmax",      "fmin",
      "fmod",  "hypot",     "ilogb",  "ldexp", "lgamma",    "llrint",  "llround",   "log",
      "log10", "log1p",     "log2",   "logb",  "lrint",     "lround",  "nearbyint", "nextafter",
      "pow",   "remainder", "rint",   "round", "roundeven", "scalbln", "scalbn",    "sin",
      "sinh",  "sqrt",      "tan",    "tanh",  "tgamma",    "trunc",   "abs",       "labs",
      "abort", "exit",      "printf", "puts",  "putchar",   "strlen",  "malloc",    "free"};
  if (kFamilies.contains(name)) return true;
  if (name.ends_with("f") || name.ends_with("l")) name.remove_suffix(1);
  return kFamilies.contains(name);
}

// A variable in namespace std, or in a function there.
bool is_of_std(std::string_view mangled) {
  if (!mangled.starts_with("_Z")) return false;
  mangled.remove_prefix(std::min(mangled.find_first_not_of('Z', 2), mangled.size()));
  return mangled.starts_with("St") || mangled.starts_with("NSt") || mangled.starts_with("NKSt");
}

}  // namespace

std::vector<Symbol> parse_nm(std::string_view text) {
  std::vector<Symbol> symbols;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(": ");
    if (colon == line.npos) continue;
    std::istringstream words(line.substr(colon + 2));
    Symbol symbol{line.substr(0, colon), "", 0};
    if (words >> symbol.name >> symbol.kind) symbols.push_back(std::move(symbol));
  }
  return symbols;
}

bool is_ringcraft(std::string_view name) {
  if (!name.starts_with("_Z")) return false;
  name.remove_prefix(2);
  for (const std::string_view special : {"TV", "TI", "TS", "TT", "GV", "Z"})
    if (name.starts_with(special)) {
      name.remove_prefix(special.size());
      break;
    }
  if (name.starts_with("Th") || name.starts_with("Tv")) {  // an adjusting thunk: skip its offsets
    const auto entity = name.find("_N");
    if (entity == name.npos) return false;
    name.remove_prefix(entity + 1);
  }
  if (!name.starts_with("N")) return false;
  name.remove_prefix(1);
  while (!name.empty() && std::string_view("rVKRO").find(name.front()) != std::string_view::npos)
    name.remove_prefix(1);
  return name.starts_with("9ringcraft");
}

std::string readable_with_types(const std::string& mangled) {
  std::string name = demangled(mangled);
  // Kernels for the CPU lie in an inline namespace of their own (kernels/host/cuda_runtime_api.h).
  constexpr std::string_view kOnCpu = "on_cpu::";
  for (std::size_t at; (at = name.find(kOnCpu)) != name.npos;) name.erase(at, kOnCpu.size());
  if (name.find(" for ringcraft::") != name.npos) return name;
  std::size_t start = 0, end = 0;  // after the result type, which a template has; before the parameters
  int depth = 0;                   // of <>
  for (; end < name.size() && (depth > 0 || name[end] != '('); ++end) {
    depth += name[end] == '<' ? 1 : name[end] == '>' ? -1 : 0;
    if (depth == 0 && name[end] == ' ') start = end + 1;
  }
  return name.substr(start, end - start);
}

std::string readable(const std::string& mangled) {
  const std::string name = readable_with_types(mangled);
  return name.find(" for ringcraft::") != name.npos ? name : name.substr(0, name.find('<'));
}

std::vector<Kept> parse_kept(std::string_view text) {
  std::vector<Kept> variables;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> fields;  // name, value, class, type, size, line, section
    std::istringstream columns(line);
    for (std::string field; std::getline(columns, field, '|');) {
      std::erase(field, ' ');
      fields.push_back(std::move(field));
    }
    if (fields.size() != 7) continue;
    const std::string &name = fields[0], &section = fields[6];
    const bool per_thread = section.starts_with(".tbss") || section.starts_with(".tdata");
    const bool constant = section.starts_with(".data.rel");  // addresses, filled in when the program starts
    const bool whole = (section.starts_with(".bss") || section.starts_with(".data")) && !constant;
    if (!per_thread && !whole) continue;
    if (name.starts_with("_ZGV") || name == "__tls_guard" || is_of_std(name)) continue;
    if (name.starts_with("_ZZN5Eigen8internal20manage_caching_sizes"))
      continue;  // sizes of this processor's caches
    std::string whole_name = demangled(name);
    if (const auto tag = whole_name.rfind("[abi:"); tag != whole_name.npos && whole_name.ends_with("]"))
      whole_name.erase(tag);
    const auto colons = whole_name.rfind("::");
    const bool scoped = colons != whole_name.npos;
    variables.push_back({scoped ? whole_name.substr(colons + 2) : whole_name, per_thread,
                         scoped ? whole_name.substr(0, colons) : "", name});
  }
  return variables;
}

std::string complaint_about_kept(const std::vector<Kept>& variables, const std::set<std::string>& constants,
                                 bool kernel) {
  // Scopes: a gap precedes each __shared__ variable (kernels/host/device.hpp).
  std::set<std::string> shared;
  for (const Kept& variable : variables)
    if (variable.name.starts_with("ringcraft_gap")) shared.insert(variable.scope);
  for (const Kept& variable : variables) {
    if (kernel && variable.per_thread && shared.contains(variable.scope)) continue;
    if (constants.contains(variable.name)) continue;
    return "your file keeps " + variable.name + " from call to call, as a static or global variable; " +
           (kernel ? "a checked launch does not look there, and a GPU does not reach a plain one: take "
                     "__shared__ variables and the kernel's arguments"
            : variable.per_thread
                ? "a thread that is called again would find the last call's numbers in it: make it a local "
                  "variable"
                : "ranks are threads of one process, and would share it: make it a local variable, or "
                  "constexpr");
  }
  return {};
}

namespace {

bool is_file_stream(std::string_view name) { return holds_one_of(name, {"fstream", "filebuf"}); }

// Streams and descriptors read and write memory that a checker does not see. (<iostream> alone defines Init.)
bool is_stream(std::string_view name) {
  if (is_file_stream(name) || holds_one_of(name, {"basic_ostream", "basic_istream", "basic_iostream",
                                                  "basic_streambuf", "stringbuf", "stringstream"}))
    return true;
  constexpr std::string_view kBegins[] = {"_ZNSo",  "_ZNSi",  "_ZNSd",     "_ZNKSo",
                                          "_ZNKSi", "_ZNKSd", "_ZSt4cout", "_ZSt4cerr"};
  return begins_with_one_of(name, kBegins);
}

}  // namespace

std::string remark_about_calls(const std::vector<Symbol>& student) {
  static const std::set<std::string_view> kOpens{"fopen", "fopen64", "open", "open64", "openat", "openat64"};
  static const std::set<std::string_view> kOdd{"clone",       "connect", "dlopen",  "execl",
                                               "execle",      "execlp",  "execv",   "execve",
                                               "execvp",      "fork",    "kill",    "mprotect",
                                               "popen",       "prctl",   "ptrace",  "pthread_kill",
                                               "posix_spawn", "raise",   "signal",  "process_vm_readv",
                                               "sigaction",   "socket",  "sysctl",  "syscall",
                                               "system",      "tgkill",  "opendir", "process_vm_writev",
                                               "vfork"};
  for (const Symbol& symbol : student) {
    if (!symbol.undefined()) continue;
    if (is_file_stream(symbol.name) || kOpens.contains(symbol.name))
      return "your file opens files, and here none can be opened: print instead, to std::cerr say; what you "
             "print is shown below a check that failed";
    if (kOdd.contains(symbol.name))
      return "your file calls " + symbol.name + ", which no exercise needs, and which reaches nothing here";
  }
  return {};
}

std::string complaint_about_unseen(const std::vector<Symbol>& student) {
  bool instrumented = false;
  for (const Symbol& symbol : student) {
    if (!symbol.undefined()) continue;
    instrumented = instrumented || symbol.name == "__tsan_init";
    if (is_stream(symbol.name))
      return "your file uses a stream (" + readable(symbol.name) +
             "), and a checked launch does not see what that touches; print with printf";
    if (!is_of_language(symbol.name) && !is_of_numbers(symbol.name))
      return "your file calls " + readable(symbol.name) +
             ", and a checked launch does not see what that touches; write the part of it that you need";
  }
  return instrumented ? ""
                      : "your file was compiled so that no check sees what its kernels touch; take the "
                        "pragma or the attribute away that asks for it";
}

std::vector<std::string> complaints(const GateInput& input) {
  const Names names = names_of(input);
  std::vector<std::string> sentences;
  std::set<std::string> defined, said;  // once for float and double
  for (const Symbol& symbol : input.student) {
    std::string sentence;
    if (!symbol.undefined()) defined.insert(symbol.name);
    if (symbol.name == "main" && !symbol.undefined())
      sentence =
          "your file defines main, but the program around it is the judge's; remove it and let ./ringcraft "
          "check run your function";
    else if (symbol.name.starts_with("__tsan_") && !symbol.undefined())
      sentence = "your file defines " + symbol.name +
                 ", by which a checked launch sees what a kernel touches; remove it";
    else if (is_of_c(symbol))
      sentence = "your file defines " + symbol.name +
                 " for the whole program, the C library included; make it static, or give it C++ linkage";
    else if (is_of_standard_library(symbol))
      sentence = "your file defines " + readable(symbol.name) +
                 " of the standard library for the whole program; give it a name of your own";
    else if (symbol.kind == 'i')
      sentence = "your file chooses " + readable(symbol.name) + " by an ifunc; write a plain function";
    else if (is_ringcraft(symbol.name) && symbol.undefined())
      sentence = may_not_call(symbol, names, input);
    else if (is_ringcraft(symbol.name) && !symbol.local())
      sentence = may_not_define(symbol, names);
    if (!sentence.empty() && said.insert(sentence).second) sentences.push_back(std::move(sentence));
  }
  for (const std::string& name : names.own_strong) {
    const std::string sentence = "your file no longer defines " + readable_with_types(name) +
                                 "; keep its name, its parameters and the lines at the end of the file";
    if (!defined.contains(name) && std::ranges::find(sentences, sentence) == sentences.end())
      sentences.push_back(sentence);
  }
  return sentences;
}

}  // namespace ringcraft::judge
