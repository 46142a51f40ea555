// Sections and symbols of objects, made byte by byte.
#include "judge/build/gate/object.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "support/catch.hpp"
#include "support/errors.hpp"

namespace ringcraft::judge {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
void append(Bytes& bytes, const T& value) {
  const auto* first = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), first, first + sizeof value);
}

struct Made {
  std::string name;
  std::uint32_t type;
  std::uint64_t flags = 0, bytes = 0;
};

// An object with these sections and one symbol, "odd".
Bytes object_with(const std::vector<Made>& sections, unsigned char type = STT_FUNC, std::uint16_t place = 1) {
  std::string names(1, '\0');
  std::vector<Elf64_Shdr> headers(1);
  const auto add = [&](const Made& made, std::uint64_t offset, std::uint64_t size) {
    Elf64_Shdr header{};
    header.sh_name = static_cast<Elf64_Word>(names.size());
    header.sh_type = made.type;
    header.sh_flags = made.flags;
    header.sh_offset = offset;
    header.sh_size = size;
    headers.push_back(header);
    names += made.name + '\0';
  };
  for (const Made& made : sections) add(made, 0, made.bytes);
  Bytes bytes(sizeof(Elf64_Ehdr));
  add({".symtab", SHT_SYMTAB}, bytes.size(), 2 * sizeof(Elf64_Sym));
  headers.back().sh_entsize = sizeof(Elf64_Sym);
  headers.back().sh_link = static_cast<Elf64_Word>(headers.size());
  append(bytes, Elf64_Sym{});
  Elf64_Sym symbol{};
  symbol.st_name = static_cast<Elf64_Word>(names.size() + sizeof ".strtab");
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, type);
  symbol.st_shndx = place;
  append(bytes, symbol);
  add({".strtab", SHT_STRTAB}, bytes.size(), 0);
  names += std::string("odd") + '\0';
  headers.back().sh_size = names.size();
  for (const char c : names) bytes.push_back(static_cast<std::byte>(c));
  Elf64_Ehdr file{};
  std::memcpy(file.e_ident, ELFMAG, SELFMAG);
  file.e_ident[EI_CLASS] = ELFCLASS64;
  file.e_type = ET_REL;
  file.e_shoff = bytes.size();
  file.e_shentsize = sizeof(Elf64_Shdr);
  file.e_shnum = static_cast<Elf64_Half>(headers.size());
  file.e_shstrndx = static_cast<Elf64_Half>(headers.size() - 1);
  std::memcpy(bytes.data(), &file, sizeof file);
  for (const Elf64_Shdr& header : headers) append(bytes, header);
  return bytes;
}

std::string sentence_on(const Bytes& bytes) {
  const auto object = read_object(bytes);
  return object ? complaint_about_object(*object) : "unreadable";
}

}  // namespace

TEST_CASE("sections of ordinary functions pass") {
  CHECK(sentence_on(object_with({{".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR},
                                 {".text._Zx", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR},
                                 {".rela.text._Zx", SHT_RELA},
                                 {".rodata.str1.8", SHT_PROGBITS},
                                 {".data.rel.ro.local", SHT_PROGBITS},
                                 {".bss", SHT_NOBITS},
                                 {".tbss._Zy", SHT_NOBITS},
                                 {".init_array.00099", SHT_INIT_ARRAY},
                                 {".gcc_except_table._Zx", SHT_PROGBITS},
                                 {".debug_info", SHT_PROGBITS},
                                 {".group", SHT_GROUP},
                                 {".note.GNU-stack", SHT_PROGBITS},
                                 {".linker-options", 0x6fff4c01},
                                 {".llvm_addrsig", 0x6fff4c03},
                                 {".eh_frame", 0x70000001}}))
            .empty());
}

TEST_CASE("sections that instruct linkers and loaders are refused") {
  const std::vector<Made> wrong{{".deplibs", 0x6fff4c04},
                                {".rodata", 0x6fff4c04},  // the linker looks at the type
                                {".linker-options", 0x6fff4c01, 0, 8},
                                {".interp", SHT_PROGBITS},
                                {".preinit_array", SHT_PREINIT_ARRAY},
                                {".text", SHT_PREINIT_ARRAY},
                                {".fini_array", SHT_FINI_ARRAY},
                                {".ctors", SHT_PROGBITS},
                                {".init", SHT_PROGBITS, SHF_EXECINSTR},
                                {".fini", SHT_PROGBITS, SHF_EXECINSTR},
                                {".dynamic", SHT_DYNAMIC},
                                {".gnu.warning.f", SHT_PROGBITS},
                                {".gnu.linkonce.t.f", SHT_PROGBITS},
                                {".note.ABI-tag", SHT_NOTE},
                                {".textual", SHT_PROGBITS},
                                {"mine", SHT_PROGBITS},
                                {".rodata.x", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR},
                                {".symver", SHT_GNU_versym}};
  for (const Made& made : wrong) {
    INFO(made.name);
    CHECK(testing::contains(sentence_on(object_with({made})), "puts something into a section " + made.name));
  }
}

TEST_CASE("symbols other than plain functions and variables are refused") {
  const std::vector<Made> text{{".text", SHT_PROGBITS, SHF_EXECINSTR}};
  CHECK(sentence_on(object_with(text)).empty());
  CHECK(sentence_on(object_with(text, STT_FILE, SHN_ABS)).empty());
  CHECK(testing::contains(sentence_on(object_with(text, STT_GNU_IFUNC)), "chooses odd by an ifunc"));
  CHECK(
      testing::contains(sentence_on(object_with(text, STT_FUNC, SHN_ABS)), "defines odd as a bare address"));
  CHECK(testing::contains(sentence_on(object_with(text, STT_OBJECT, SHN_COMMON)), "as a common block of C"));
}

TEST_CASE("random damage gives an object or nothing, nothing else") {
  const Bytes whole = object_with({{".text", SHT_PROGBITS}, {".bss", SHT_NOBITS}});
  REQUIRE(read_object(whole));
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK_FALSE(read_object(std::span(whole).first(size)));
  std::mt19937 random(7);
  int read = 0;
  for (int i = 0; i < 20000; ++i) {
    Bytes damaged = whole;
    for (int hits = 1 + static_cast<int>(random() % 4); hits > 0; --hits)
      damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    read += read_object(damaged) ? 1 : 0;
  }
  CHECK(read > 0);
  CHECK(read < 20000);
}

}  // namespace ringcraft::judge
