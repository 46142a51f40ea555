// Parses the ELF sections and symbols of a student's object file, and names the first that is not allowed.
#include "judge/build/gate/object.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "ringcraft/core/shown.hpp"

namespace ringcraft::judge {
namespace {

// A piece of the file as a value; nothing if it reaches past the end of the file.
template <class T>
std::optional<T> value_at(std::span<const std::byte> bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return {};
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::optional<std::span<const std::byte>> contents(std::span<const std::byte> bytes,
                                                   const Elf64_Shdr& section) {
  if (section.sh_offset > bytes.size() || bytes.size() - section.sh_offset < section.sh_size) return {};
  return bytes.subspan(section.sh_offset, section.sh_size);
}

std::optional<std::string> text_at(std::span<const std::byte> table, std::uint64_t offset) {
  if (offset >= table.size()) return {};
  const auto rest = table.subspan(offset);
  const auto end = std::ranges::find(rest, std::byte{0});
  if (end == rest.end()) return {};
  return std::string(reinterpret_cast<const char*>(rest.data()),
                     static_cast<std::size_t>(end - rest.begin()));
}

std::optional<std::vector<Elf64_Shdr>> headers_of(std::span<const std::byte> bytes, const Elf64_Ehdr& file) {
  if (file.e_shentsize != sizeof(Elf64_Shdr)) return {};
  const auto first = value_at<Elf64_Shdr>(bytes, file.e_shoff);
  if (!first) return {};
  // More than 65279 sections: their count stands in the first of them.
  const std::uint64_t count = file.e_shnum != 0 ? file.e_shnum : first->sh_size;
  if (count > bytes.size() / sizeof(Elf64_Shdr)) return {};
  std::vector<Elf64_Shdr> headers;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto header = value_at<Elf64_Shdr>(bytes, file.e_shoff + i * sizeof(Elf64_Shdr));
    if (!header) return {};
    headers.push_back(*header);
  }
  return headers;
}

bool read_symbols(std::span<const std::byte> bytes, const std::vector<Elf64_Shdr>& headers,
                  const Elf64_Shdr& table, std::vector<OddSymbol>& odd) {
  if (table.sh_link >= headers.size() || table.sh_entsize != sizeof(Elf64_Sym)) return false;
  const auto names = contents(bytes, headers[table.sh_link]), symbols = contents(bytes, table);
  if (!names || !symbols) return false;
  for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols->size(); at += sizeof(Elf64_Sym)) {
    const auto symbol = *value_at<Elf64_Sym>(*symbols, at);
    const auto name = text_at(*names, symbol.st_name);
    if (!name) return false;
    const auto type = ELF64_ST_TYPE(symbol.st_info);
    if (type == STT_GNU_IFUNC) odd.push_back({*name, OddSymbol::Why::kIfunc});
    if (symbol.st_shndx == SHN_ABS && type != STT_FILE) odd.push_back({*name, OddSymbol::Why::kAbsolute});
    if (symbol.st_shndx == SHN_COMMON) odd.push_back({*name, OddSymbol::Why::kCommon});
  }
  return true;
}

// ---- sections that a compiler writes for ordinary functions

constexpr std::uint32_t kUnwind = 0x70000001;        // SHT_X86_64_UNWIND
constexpr std::uint32_t kOptions = 0x6fff4c01;       // SHT_LLVM_LINKER_OPTIONS
constexpr std::uint32_t kAddressTable = 0x6fff4c03;  // SHT_LLVM_ADDRSIG
constexpr std::uint64_t kLargestNote = 256;          // bytes

bool is_or_below(std::string_view name, std::string_view family) {
  return name.starts_with(family) && (name.size() == family.size() || name[family.size()] == '.');
}

bool is_data(std::string_view name) {
  for (const std::string_view family : {".text", ".rodata", ".data", ".tdata", ".gcc_except_table"})
    if (is_or_below(name, family)) return true;
  return name.starts_with(".debug_") || name == ".comment" || name == ".eh_frame" ||
         name == ".stapsdt.base" || name == ".note.GNU-stack";
}

bool is_usual(const Section& section) {
  const std::string_view name = section.name;
  switch (section.type) {
    case SHT_NULL:
      return name.empty();
    case SHT_PROGBITS:
      return is_data(name);
    case SHT_NOBITS:
      return is_or_below(name, ".bss") || is_or_below(name, ".tbss") || is_or_below(name, ".data");
    case SHT_INIT_ARRAY:  // of <iostream>, and of every object that is compiled for a checker
      return is_or_below(name, ".init_array");
    case SHT_SYMTAB:
      return name == ".symtab";
    case SHT_SYMTAB_SHNDX:
      return name == ".symtab_shndx";
    case SHT_STRTAB:
      return name == ".strtab" || name == ".shstrtab";
    case SHT_RELA:
    case SHT_REL:
      return name.starts_with(".rel");  // the section that they change is checked under its own name
    case SHT_GROUP:
      return name == ".group";
    case SHT_NOTE:  // of -fcf-protection
      return name == ".note.gnu.property" && section.bytes <= kLargestNote;
    case kUnwind:
      return name == ".eh_frame";
    case kOptions:  // clang always writes it
      return name == ".linker-options" && section.bytes == 0;
    case kAddressTable:
      return name == ".llvm_addrsig";
    default:
      return false;
  }
}

}  // namespace

std::optional<ObjectFile> read_object(std::span<const std::byte> bytes) {
  const auto file = value_at<Elf64_Ehdr>(bytes, 0);
  if (!file || std::memcmp(file->e_ident, ELFMAG, SELFMAG) != 0 || file->e_ident[EI_CLASS] != ELFCLASS64 ||
      file->e_type != ET_REL)
    return {};
  const auto headers = headers_of(bytes, *file);
  if (!headers) return {};
  const std::uint64_t names_at = file->e_shstrndx == SHN_XINDEX ? headers->front().sh_link : file->e_shstrndx;
  if (names_at >= headers->size()) return {};
  const auto names = contents(bytes, (*headers)[names_at]);
  if (!names) return {};
  ObjectFile object;
  for (const Elf64_Shdr& header : *headers) {
    const auto name = text_at(*names, header.sh_name);
    if (!name) return {};
    object.sections.push_back({*name, header.sh_type, header.sh_flags, header.sh_size});
    if (header.sh_type == SHT_SYMTAB && !read_symbols(bytes, *headers, header, object.odd)) return {};
  }
  return object;
}

std::string complaint_about_object(const ObjectFile& object) {
  for (const Section& section : object.sections) {
    const bool runs_data = (section.flags & SHF_EXECINSTR) != 0 && !is_or_below(section.name, ".text");
    if (!is_usual(section) || runs_data)
      return "your file puts something into a section " + shown(section.name) +
             ", where linkers and loaders take orders and no function of an exercise lies; take the "
             "attribute, the pragma or the asm away that asks for it";
  }
  for (const OddSymbol& symbol : object.odd) {
    const std::string name = shown(symbol.name);
    if (symbol.why == OddSymbol::Why::kIfunc)
      return "your file chooses " + name + " by an ifunc; write a plain function";
    return "your file defines " + name +
           (symbol.why == OddSymbol::Why::kAbsolute ? " as a bare address" : " as a common block of C") +
           "; write a plain function or variable";
  }
  return {};
}

}  // namespace ringcraft::judge
