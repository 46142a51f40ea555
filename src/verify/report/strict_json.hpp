#pragma once
/// @file
/// One value of a JSON document, for readers that trust nothing: every access says what it expects, and
/// throws an Error with the value's place in the document if something else is there. Internal to the
/// harness.

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ringcraft/core/error.hpp"
#include "ringcraft/core/shown.hpp"
#include "ringcraft/core/types.hpp"

namespace ringcraft::verify {

/// The document in a text, of whose first object only the member `only` is kept (all of it if that is empty).
/// Throws Error if it is no JSON, or has a member twice; `place` is its name for errors, with this advice.
nlohmann::json parsed(const std::string& text, const std::string& place, const char* advice,
                      std::string_view only = "");

/// A value and its place: "trace.json: ringcraft.ranks[2][17].peer". The document outlives it.
class StrictJson {
 public:
  /// `advice` says what to try if a value is wrong.
  StrictJson(const nlohmann::json& value, std::string place, const char* advice)
      : value_(value), place_(std::move(place)), advice_(advice) {}

  /// Throws Error unless this is an object with exactly these members.
  void require_members(std::initializer_list<std::string_view> names) const {
    if (!value_.is_object()) refuse("an object", kind());
    for (const std::string_view name : names)
      if (!value_.contains(name)) refuse("the member " + std::string(name), "none");
    for (const auto& [name, ignored] : value_.items())
      if (std::find(names.begin(), names.end(), name) == names.end())
        refuse("no member " + shown(name), "one");
  }
  /// Whether this object has such a member.
  bool has(const char* name) const { return value_.is_object() && value_.contains(name); }
  /// A member of this object.
  StrictJson operator[](const char* name) const {
    if (!value_.is_object()) refuse("an object", kind());
    if (!value_.contains(name)) refuse(std::string("the member ") + name, "none");
    return {value_[name], place_ + "." + name, advice_};
  }

  /// The number of elements of this list, at most `most`.
  std::size_t size(std::size_t most = static_cast<std::size_t>(-1)) const {
    if (!value_.is_array()) refuse("a list", kind());
    if (value_.size() > most) refuse("at most " + counted(most, "element"), std::to_string(value_.size()));
    return value_.size();
  }
  /// An element of this list, which has more than `index`.
  StrictJson operator[](std::size_t index) const {
    return {value_[index], place_ + "[" + std::to_string(index) + "]", advice_};
  }

  /// Whether this is null.
  bool is_null() const { return value_.is_null(); }
  /// An integer from low to high.
  Index integer(Index low, Index high) const {
    const bool fits = value_.is_number_integer() &&
                      !(value_.is_number_unsigned() &&
                        value_.get<std::uint64_t>() > static_cast<std::uint64_t>(kLargestIndex)) &&
                      value_.get<Index>() >= low && value_.get<Index>() <= high;
    if (!fits) refuse("an integer from " + std::to_string(low) + " to " + std::to_string(high), text());
    return value_.get<Index>();
  }
  /// The same as an int.
  int small(int low, int high) const { return static_cast<int>(integer(low, high)); }
  /// A list of integers from low to high.
  template <class T>
  std::vector<T> integers(Index low, Index high) const {
    std::vector<T> all(size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto& one = value_[i];
      const bool fits =
          one.is_number_unsigned() && one.template get<std::uint64_t>() <= static_cast<std::uint64_t>(high);
      all[i] = static_cast<T>(fits && static_cast<Index>(one) >= low ? static_cast<Index>(one)
                                                                     : (*this)[i].integer(low, high));
    }
    return all;
  }
  /// An integer from 0 to 2^64 - 1.
  std::uint64_t natural() const {
    if (!value_.is_number_unsigned()) refuse("an integer from 0 on", text());
    return value_.get<std::uint64_t>();
  }
  /// A finite number.
  double number() const {
    if (!value_.is_number() || !std::isfinite(value_.get<double>())) refuse("a finite number", text());
    return value_.get<double>();
  }
  /// true or false.
  bool truth() const {
    if (!value_.is_boolean()) refuse("true or false", text());
    return value_.get<bool>();
  }
  /// A text.
  std::string words() const {
    if (!value_.is_string()) refuse("a text", text());
    return value_.get<std::string>();
  }
  /// The number of this text in a list of names.
  template <std::size_t n>
  std::size_t one_of(const std::array<std::string_view, n>& names) const {
    if (value_.is_string())
      for (std::size_t i = 0; i < n; ++i)
        if (value_.get_ref<const std::string&>() == names[i]) return i;
    std::string all;
    for (const std::string_view name : names) all += (all.empty() ? "" : ", ") + std::string(name);
    refuse((n == 1 ? "" : "one of ") + all, text());
  }

  /// This text and no other one.
  std::string_view exactly(std::string_view only) const {
    one_of(std::array{only});
    return only;
  }

  /// Throws Error: "PLACE: expected EXPECTED, got ACTUAL; ADVICE".
  [[noreturn]] void refuse(const std::string& expected, const std::string& actual) const {
    throw Error(place_, expected, actual, advice_);
  }

 private:
  static constexpr Index kLargestIndex = std::numeric_limits<Index>::max();

  std::string kind() const { return value_.is_object() || value_.is_array() ? value_.type_name() : text(); }
  // The value in a few letters; not the whole of a list or an object, which may be long.
  std::string text() const {
    return value_.is_object()  ? "an object"
           : value_.is_array() ? "a list"
                               : shown(value_.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }

  const nlohmann::json& value_;
  std::string place_;
  const char* advice_;
};

}  // namespace ringcraft::verify
