// Transliterates and folds letters by the C library's tables, in the locale C.UTF-8, which every system has.
#include "grade/intake/folded.hpp"

#include <iconv.h>
#include <locale.h>
#include <wctype.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "grade/intake/text_rules.hpp"

namespace ringcraft::grade {
namespace {

// The locale, for this thread and the life of this object. Without it nothing is transliterated.
class InUtf8 {
 public:
  InUtf8() : locale_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (locale_ != nullptr) before_ = ::uselocale(locale_);
  }
  ~InUtf8() {
    if (locale_ == nullptr) return;
    ::uselocale(before_);
    ::freelocale(locale_);
  }
  InUtf8(const InUtf8&) = delete;
  InUtf8& operator=(const InUtf8&) = delete;

  wint_t small(wint_t letter) const { return locale_ == nullptr ? letter : ::towlower_l(letter, locale_); }

 private:
  locale_t locale_, before_ = nullptr;
};

// A converter of the C library.
class Converter {
 public:
  Converter(const char* to, const char* from) : state_(::iconv_open(to, from)) {}
  ~Converter() {
    if (is_open()) ::iconv_close(state_);
  }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;

  // The text as it converts it; empty if it cannot.
  std::string of(std::string_view text) {
    std::array<char, 64> made{};
    std::string copy(text);
    char *in = copy.data(), *out = made.data();
    std::size_t in_left = copy.size(), out_left = made.size();
    if (!is_open() || ::iconv(state_, &in, &in_left, &out, &out_left) == static_cast<std::size_t>(-1))
      return {};
    ::iconv(state_, nullptr, nullptr, nullptr, nullptr);
    return {made.data(), made.size() - out_left};
  }

 private:
  bool is_open() const { return state_ != reinterpret_cast<iconv_t>(-1); }
  iconv_t state_;
};

// Combining marks, which a letter before them loses: U+0300 to U+036F.
bool is_mark(std::string_view letter) {
  return letter.size() == 2 && (letter[0] == '\xCC' || (letter[0] == '\xCD' && letter[1] <= '\xAF'));
}

std::string in_ascii(Converter& to_ascii, std::string_view letter) {
  if (is_mark(letter)) return {};
  const std::string made = to_ascii.of(letter);
  return made.empty() || made.find('?') != made.npos ? std::string(letter) : made;
}

}  // namespace

std::string transliterated(std::string_view text) {
  if (std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; }))
    return std::string(text);
  const InUtf8 locale;
  Converter to_ascii("ASCII//TRANSLIT", "UTF-8");
  std::string made;
  while (!text.empty()) {
    const std::size_t bytes = std::max<std::size_t>(first_code_point(text).bytes, 1);
    made += bytes == 1 ? std::string(text.substr(0, 1)) : in_ascii(to_ascii, text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return made;
}

std::string folded(std::string_view name) {
  const InUtf8 locale;
  Converter to_utf8("UTF-8", "WCHAR_T");
  const std::string plain = transliterated(name);
  std::string made;
  for (std::string_view text = plain; !text.empty();) {
    const CodePoint letter = first_code_point(text);
    const bool is_kept = letter.number >= 0x80 || std::isalnum(static_cast<unsigned char>(text[0])) != 0;
    if (letter.bytes > 0 && is_kept) {
      const auto small = static_cast<wchar_t>(locale.small(letter.number));
      made += to_utf8.of({reinterpret_cast<const char*>(&small), sizeof small});
    }
    text.remove_prefix(std::max<std::size_t>(letter.bytes, 1));
  }
  return made;
}

}  // namespace ringcraft::grade
