#pragma once
/// @file
/// A sentence that is still data: its words, and the facts in them. Programs compare the facts, which do not
/// change with the wording; the words are put together last.

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "host/finding.hpp"

namespace ringcraft::judge {

/// A name of the code itself, of a tensor, an argument, a variable: a fact, independent of the wording.
struct Name {
  std::string text;
};

/// A number, and its text.
struct Shown {
  double number;
  std::string text;
};

/// "NaN", or ten digits.
std::string text_of(double number);
/// The number, with the text of text_of().
inline Shown digits_of(double number) { return {number, text_of(number)}; }

/// A part of a sentence: a fact, or words that are none (a string).
class Fact {
 public:
  Fact(std::string words) : text_(std::move(words)) {}                       // NOLINT: arguments of Statement
  Fact(const char* words) : text_(words) {}                                  // NOLINT
  Fact(Name name) : value_(name.text), text_(std::move(name.text)) {}        // NOLINT
  Fact(Shown shown) : value_(shown.number), text_(std::move(shown.text)) {}  // NOLINT
  Fact(simt::CodePlace place) : value_(std::move(place)) {}                  // NOLINT
  Fact(simt::Finding finding) : value_(std::move(finding)) {}                // NOLINT
  template <class T, std::enable_if_t<std::is_integral_v<T> || std::is_enum_v<T>, int> = 0>
  Fact(T number) : value_(static_cast<std::int64_t>(number)), text_(std::to_string(number)) {}  // NOLINT
  Fact(double number);  // NOLINT: six digits

  /// Its text.
  std::string text() const;
  /// As data: a real number with ten digits; of a finding the mistake, the memory that it is about and the
  /// kind of access, not the thread; of a place in the code nothing. Empty for words.
  std::string key() const;
  /// Takes out of a place or a finding the words that its program may choose: names of files, of shared
  /// variables and of kernels. Numbers of lines stay.
  void hide_words();
  /// Calls seen(place) for every place in machine code that it names.
  template <class Seen>
  void for_each_place(Seen seen) {
    if (auto* const place = std::get_if<simt::CodePlace>(&value_)) seen(*place);
    if (auto* const finding = std::get_if<simt::Finding>(&value_)) simt::for_each_place(*finding, seen);
  }

 private:
  std::variant<std::monostate, std::int64_t, double, std::string, simt::CodePlace, simt::Finding> value_;
  std::string text_;  // of a place and a finding: put together when needed
};

/// Words with a {} for each fact.
struct Statement {
  std::string words;
  std::vector<Fact> facts;

  /// The sentence.
  std::string text() const;
  /// The facts as data (Fact::key), without the words.
  std::vector<std::string> keys() const;
};

}  // namespace ringcraft::judge
