// Resolves addresses to places in a kernel's source.
#include "host/checker/places.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace ringcraft::simt {
namespace {

// Machine code is counted from here, in steps of two; odd places number sites.
constexpr int kMostPath = 4096;
const char* code_anchor() {
  return reinterpret_cast<const char*>(reinterpret_cast<std::uintptr_t>(&code_anchor));
}

std::mutex mutex;
std::vector<Site> sites;
std::map<std::pair<const char*, int>, Place> numbers;
std::map<Place, CodePlace> known;

std::string without_folders(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string this_program() {
  char path[kMostPath];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : program_invocation_name;
}

// The file that holds this code, and the code's place in it.
struct Origin {
  std::uintptr_t code = 0;
  std::string path = {};
  std::uintptr_t offset = 0;
};
int look_into(dl_phdr_info* file, std::size_t, void* asked) {
  Origin& origin = *static_cast<Origin*>(asked);
  const std::uintptr_t offset = origin.code - file->dlpi_addr;
  const bool inside = std::any_of(file->dlpi_phdr, file->dlpi_phdr + file->dlpi_phnum, [=](const auto& part) {
    return part.p_type == PT_LOAD && offset >= part.p_vaddr && offset - part.p_vaddr < part.p_memsz;
  });
  if (!inside) return 0;
  origin.path = *file->dlpi_name != '\0' ? file->dlpi_name : this_program();
  origin.offset = offset;
  return 1;
}
Origin origin_of(const char* code) {
  Origin origin{reinterpret_cast<std::uintptr_t>(code)};
  dl_iterate_phdr(look_into, &origin);
  return origin;
}

const char* code_of(Place place) { return code_anchor() + (static_cast<std::int32_t>(place) >> 1); }

// "path:line (discriminator 3)" to "file:line".
std::string shortened(std::string line) {
  return without_folders(line.substr(0, line.find_first_of(" \n", line.rfind(':'))));
}
bool in_header(const std::string& name) {
  const std::string file = name.substr(0, name.rfind(':'));
  const auto ends = [&](const char* suffix) {
    const std::size_t n = std::strlen(suffix);
    return file.size() >= n && file.compare(file.size() - n, n, suffix) == 0;
  };
  return !ends(".cu") && !ends(".cpp");
}

// From the innermost of inlined functions outwards.
std::string chosen(const std::vector<std::string>& frames) {
  std::size_t outer = 0;
  while (outer + 1 < frames.size() && in_header(frames[outer])) ++outer;
  return frames[outer] + (outer > 0 ? " (" + frames[0] + ")" : "");
}

// Asks addr2line for the places of one file that are not known yet.
void look_up(const std::vector<Place>& places) {
  std::string command;
  std::vector<Place> asked;
  for (const Place place : places) {
    if (known.count(place) > 0) continue;
    const Origin origin = origin_of(code_of(place) - 1);  // the call, not the instruction after it
    char text[32];
    std::snprintf(text, sizeof text, " 0x%zx", static_cast<std::size_t>(origin.offset));
    if (command.empty()) command = "addr2line -a -i -e '" + origin.path + "'";
    command += text;
    known[place] = {"", origin.offset};
    asked.push_back(place);
  }
  if (asked.empty() || !settings().name_lines) return;
  FILE* const answer = popen((command + " 2>/dev/null").c_str(), "r");
  if (answer == nullptr) return;
  std::vector<std::vector<std::string>> frames;  // of each address
  char line[kMostPath];
  while (std::fgets(line, sizeof line, answer) != nullptr)
    if (std::strncmp(line, "0x", 2) == 0)
      frames.emplace_back();
    else if (line[0] != '?' && !frames.empty())
      frames.back().push_back(shortened(line));
  pclose(answer);
  for (std::size_t i = 0; i < frames.size() && i < asked.size(); ++i)
    if (!frames[i].empty()) known[asked[i]].line = chosen(frames[i]);
}

}  // namespace

Place place_of(const void* return_address) {
  return static_cast<Place>(static_cast<const char*>(return_address) - code_anchor()) << 1;
}

Place place_of(Site site) {
  const std::lock_guard lock(mutex);
  const auto [found, is_new] =
      numbers.try_emplace({site.file, site.line}, static_cast<Place>(sites.size() << 1 | 1));
  if (is_new) sites.push_back(site);
  return found->second;
}

CodePlace code_place(const Site& site) {
  return {without_folders(site.file) + ":" + std::to_string(site.line)};
}

CodePlace resolved(Place place) { return resolved(std::vector{place})[0]; }

std::vector<CodePlace> resolved(const std::vector<Place>& places) {
  const std::lock_guard lock(mutex);
  std::vector<Place> code;
  for (const Place place : places)
    if (place % 2 == 0) code.push_back(place);
  look_up(code);
  std::vector<CodePlace> result;
  for (const Place place : places)
    result.push_back(place % 2 == 0 ? known[place] : code_place(sites[place >> 1]));
  return result;
}

namespace {

std::atomic<int> program_descriptor{-1};

std::string program_image() {
  if (const int descriptor = program_descriptor; descriptor >= 0) {
    std::string image;
    char part[1 << 14];
    for (ssize_t got; (got = pread(descriptor, part, sizeof part, static_cast<off_t>(image.size()))) > 0;)
      image.append(part, static_cast<std::size_t>(got));
    return image;
  }
  std::ifstream file(this_program(), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// "kernel(int)::tile" is the variable tile of the function kernel(int).
StaticArray array_of(const Elf64_Sym& symbol, const char* mangled) {
  const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr),
                                                     std::free);
  const std::string whole = plain ? plain.get() : mangled;
  const std::size_t colons = whole.rfind("::");
  const bool scoped = colons != std::string::npos;
  return {scoped ? whole.substr(colons + 2) : whole, scoped ? whole.substr(0, colons) : "",
          std::strncmp(mangled, "_ZZ", 3) == 0, symbol.st_value, symbol.st_size};
}

// Reads the location of each thread_local variable from the program's symbol table.
std::vector<StaticArray> arrays_in(const std::string& image) {
  Elf64_Ehdr header;
  if (image.size() < sizeof header) return {};
  std::memcpy(&header, image.data(), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  if (header.e_shoff + sections.size() * sizeof(Elf64_Shdr) > image.size()) return {};
  std::memcpy(sections.data(), image.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  std::vector<StaticArray> arrays;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB) continue;
    for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, image.data() + section.sh_offset + at, sizeof symbol);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_TLS || symbol.st_shndx == SHN_UNDEF) continue;
      arrays.push_back(array_of(symbol, image.data() + sections[section.sh_link].sh_offset + symbol.st_name));
    }
  }
  const auto is_gap = [](const StaticArray& array) { return array.name.find("ringcraft_gap") == 0; };
  std::set<std::string> shared;  // scopes
  for (const StaticArray& array : arrays)
    if (is_gap(array)) shared.insert(array.scope);
  arrays.erase(std::remove_if(
                   arrays.begin(), arrays.end(),
                   [&](const StaticArray& array) { return is_gap(array) || shared.count(array.scope) == 0; }),
               arrays.end());
  std::sort(arrays.begin(), arrays.end(),
            [](const StaticArray& a, const StaticArray& b) { return a.first < b.first; });
  return arrays;
}

// "void ringcraft::kernels::(anonymous namespace)::scores<8>(float*)" is scores.
std::string short_name(std::string function) {
  const std::string anonymous = "(anonymous namespace)::";
  for (std::size_t at; (at = function.find(anonymous)) != std::string::npos;)
    function.erase(at, anonymous.size());
  function.erase(std::min(function.find_first_of("(<"), function.size()));
  return function.substr(function.find_last_of(": ") + 1);
}

}  // namespace

void read_program_from(int descriptor) { program_descriptor = descriptor; }

const std::vector<StaticArray>& static_arrays() {
  static const std::vector<StaticArray> arrays = arrays_in(program_image());
  return arrays;
}

std::optional<Finding> too_much_shared(const std::vector<StaticArray>& arrays) {
  std::size_t everyones = 0;
  std::map<std::string, std::size_t> bytes{{"", 0}};
  for (const StaticArray& array : arrays) (array.local ? bytes[array.scope] : everyones) += array.bytes;
  for (const auto& [function, own] : bytes)
    if (own + everyones > kUsualShared) {
      Finding finding;
      finding.mistake = Mistake::kTooMuchShared;
      finding.name = function.empty() ? "" : short_name(function);
      finding.bytes = own + everyones;
      return finding;
    }
  return {};
}

}  // namespace ringcraft::simt
