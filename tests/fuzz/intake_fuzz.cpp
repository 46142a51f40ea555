// Any bytes as a name in an export, as a file's text and as the metadata of Gradescope: parts of names are
// parts of what came in, keys are safe, and text that is taken reads as it is compiled.
#include "fuzz/target.hpp"
#include "grade/intake/metadata.hpp"
#include "grade/intake/names.hpp"
#include "grade/intake/text_rules.hpp"
#include "ringcraft/core/shown.hpp"

namespace ringcraft::fuzz {
namespace {

void check_names(const std::string& name) {
  if (const auto found = grade::exported_name(name)) {
    require(!found->student.empty() && name.find(found->student) != name.npos,
            "a student who is not in the name");
    require(name.ends_with(found->rest) && name.size() > found->rest.size(), "a rest that is not the rest");
  }
  for (const std::string file : {"merge.cpp", "01_merge.cu", "predict.txt"})
    if (const auto found = grade::fit(name, file)) {
      require(name.starts_with(found->before) && found->attempt >= 0, "a front that is not in front");
      require(grade::lowered(name).find(grade::lowered(file).substr(0, 5)) != name.npos,
              "a fit without the name");
    }
  const std::string key = grade::safe_name(name);
  require(!key.empty() && key.size() <= 60 && key.front() != '.' && key.front() != '-',
          "an unsafe key: " + key);
  for (const char c : key)
    require((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' ||
                c == '_' || c == '-',
            "an unsafe key: " + key);
  require(grade::safe_name(key) == key, "a key that is safe only once");
}

void check_text(std::string_view text) {
  const grade::Refusal refusal = grade::refusal_of_text(text);
  require(refusal.code.empty() == refusal.why.empty(), "a refusal without a reason");
  if (!refusal.code.empty()) return;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    std::size_t bytes = letter_at_front(rest);
    if (bytes == 0 && static_cast<unsigned char>(rest[0]) < 0x80) bytes = 1;  // a control character
    if (bytes == 0 && rest[0] == '\xC2') bytes = 2;                           // in two bytes
    for (std::size_t n = 2; bytes == 0 && n <= std::min<std::size_t>(4, rest.size()); ++n)  // without width
      if (misleads(rest.substr(0, n)) && (static_cast<unsigned char>(rest[n - 1]) & 0xC0) == 0x80) bytes = n;
    require(bytes > 0 && rest.substr(0, bytes) != "\xE2\x80\xAE", "text that is none, or turns around");
    at += bytes;
  }
}

}  // namespace

std::vector<std::string> seeds() {
  return {"doejohn_LATE_123_456_merge-1.cpp", "Ada Lovelace_12_assignsubmission_file_",
          "lovelace_merge (2).cpp.txt",
          "submission_1:\n  :submitters:\n  - :name: Ada\n    :sid: '31'\n  :created_at: 2026-04-26 "
          "17:34:00.8 Z\n",
          "int a;  // \xE2\x80\x8D \xF0\x9F\x98\x80\n"};
}

std::vector<std::string> words() {
  return {"_",
          "-",
          " ",
          "(1)",
          ".cpp",
          ".cu",
          ".txt",
          "merge",
          "01_merge",
          "LATE",
          "anon_",
          "123",
          "submission_",
          "assignsubmission_file",
          "\n",
          "  ",
          "    ",
          "- ",
          ":submitters:",
          ":name: ",
          ":sid: ",
          "'",
          "\"",
          "\\",
          ":created_at: ",
          "2026-04-26 17:34:00",
          "\xE2\x80\xAE",
          "\xC3\xBC",
          "\xFF",
          "\xED\xA0\x80",
          std::string(1, '\0'),
          std::string(300, '1') + "_"};
}

}  // namespace ringcraft::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringcraft;
  const std::string text(reinterpret_cast<const char*>(data), size);
  fuzz::check_names(text);
  fuzz::check_text(text);
  for (const auto& [folder, one] : grade::read_metadata(text))
    fuzz::require(folder.starts_with("submission_"), "metadata of another folder");
  return 0;
}
