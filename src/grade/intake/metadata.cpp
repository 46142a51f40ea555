// Reads the few lines of submission_metadata.yml that matter, by their indentation, and the few fields of
// submission_metadata.json.
#include "grade/intake/metadata.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace ringcraft::grade {
namespace {

// A scalar of YAML without its quotes.
std::string unquoted(std::string_view value) {
  const auto first = value.find_first_not_of(' ');
  if (first == value.npos) return {};
  value.remove_prefix(first);
  while (value.ends_with(' ') || value.ends_with('\r')) value.remove_suffix(1);
  if (value.size() < 2 || (value.front() != '\'' && value.front() != '"') || value.back() != value.front())
    return std::string(value);
  const char quote = value.front();
  std::string plain;
  value = value.substr(1, value.size() - 2);
  for (std::size_t i = 0; i < value.size(); ++i) {
    if ((quote == '\'' && value.substr(i, 2) == "''") ||
        (quote == '"' && value[i] == '\\' && i + 1 < value.size()))
      ++i;
    plain += value[i];
  }
  return plain;
}

// The value after the key, if the line has it.
std::optional<std::string> value_of(std::string_view line, std::string_view key) {
  return line.starts_with(key) ? std::optional(unquoted(line.substr(key.size()))) : std::nullopt;
}

// One of the people of a submission.
struct Submitter {
  std::string name, sid, email;

  void read(std::string_view line) {
    if (const auto got = value_of(line, ":name:")) name = *got;
    if (const auto got = value_of(line, ":sid:")) sid = *got;
    if (const auto got = value_of(line, ":email:")) email = *got;
  }
  std::string identity() const { return !sid.empty() ? sid : !email.empty() ? email : name; }
};

void add_submitter(Submission& to, const Submitter& one) {
  const std::string shown = !one.name.empty() ? one.name : one.identity();
  if (shown.empty()) return;
  to.name += (to.name.empty() ? "" : ", ") + shown;
  to.identity += (to.identity.empty() ? "" : "\n") + one.identity();
  to.people.push_back({shown, one.sid.empty() ? one.email : one.sid});
}

// The text of a field; empty if it is not there, or is no text.
std::string text_at(const nlohmann::json& object, const char* field) {
  const auto found = object.is_object() ? object.find(field) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// A field of an object; null if it has none.
nlohmann::json part(const nlohmann::json& object, const char* field) {
  return object.is_object() && object.contains(field) ? object.at(field) : nlohmann::json();
}

}  // namespace

std::map<std::string, Submission> read_metadata(std::string_view text) {
  std::map<std::string, Submission> all;
  Submission* current = nullptr;
  bool in_submitters = false;
  Submitter one;
  const auto end_of_one = [&] {
    if (current != nullptr) add_submitter(*current, one);
    one = {};
  };
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto indent = std::min(line.find_first_not_of(' '), line.size());
    std::string_view rest = line.substr(indent);
    if (indent == 0 && rest.starts_with("submission_") && rest.find(':') != rest.npos) {
      end_of_one();
      current = &all[std::string(rest.substr(0, rest.find(':')))];
      in_submitters = false;
    } else if (current != nullptr && indent == 2 && rest.starts_with("- ") && in_submitters) {
      end_of_one();
      one.read(rest.substr(2));
    } else if (current != nullptr && indent == 2 && !rest.starts_with("- ")) {
      in_submitters = rest.starts_with(":submitters:");
      if (const auto time = value_of(rest, ":created_at:")) current->handed_in = read_time(*time);
    } else if (indent == 4 && in_submitters) {
      one.read(rest);
    }
  }
  end_of_one();
  return all;
}

Submission read_submission(std::string_view json) {
  const auto all = nlohmann::json::parse(json, nullptr, false);
  Submission one{.handed_in = read_time(text_at(all, "created_at"))};
  auto due = read_time(text_at(part(all, "assignment"), "due_date"));
  const nlohmann::json users = part(all, "users");
  for (const nlohmann::json& user : users) {
    add_submitter(one, {text_at(user, "name"), text_at(user, "sid"), text_at(user, "email")});
    const auto own = read_time(text_at(part(user, "assignment"), "due_date"));
    if (own) due = std::max(due.value_or(*own), *own);
  }
  one.late = one.handed_in && due && *one.handed_in > *due;
  return one;
}

std::optional<std::int64_t> read_time(std::string_view text) {
  using namespace std::chrono;
  int y = 0, mo = 0, d = 0, h = 0, mi = 0, s = 0, used = 0;
  const std::string whole(text.substr(0, 60));
  if (std::sscanf(whole.c_str(), "%4d-%2d-%2d%*1[T ]%2d:%2d:%2d%n", &y, &mo, &d, &h, &mi, &s, &used) != 6)
    return {};
  const year_month_day day{year(y), month(static_cast<unsigned>(mo)),
                           std::chrono::day(static_cast<unsigned>(d))};
  if (!day.ok() || h < 0 || h > 23 || mi < 0 || mi > 59 || s < 0 || s > 60) return {};
  const auto zone = std::min(whole.find_first_of("+-", static_cast<std::size_t>(used)), whole.size());
  std::string digits = whole.substr(zone);  // "-07:00", "+0530"
  std::erase_if(digits, [](char c) { return c < '0' || c > '9'; });
  digits.resize(4, '0');
  const auto number = [&](std::size_t at) { return 10 * (digits[at] - '0') + digits[at + 1] - '0'; };
  const int offset = (number(0) * 60 + number(2)) * (whole.substr(zone, 1) == "-" ? -60 : 60);
  return sys_days(day).time_since_epoch() / seconds(1) + h * 3600 + mi * 60 + s - offset;
}

}  // namespace ringcraft::grade
