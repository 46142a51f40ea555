// Files of a grading run: the secret, and a verdict in a file of its own.
#include "grade/run/ledger.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <span>

#include "ringcraft/core/error.hpp"
#include "ringcraft/io/pending_file.hpp"
#include "ringcraft/io/text_file.hpp"
#include "verify/report/strict_json.hpp"

namespace ringcraft::grade {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLedgerAdvice = "remove it, and grade again";
constexpr std::uintmax_t kLargestRecord = 16 << 20;  // bytes
constexpr int kFormat = 1;

// The states that a verdict has.
constexpr std::array kStates{State::kUngradable, State::kGraded, State::kUnjudged};

std::string json_of(const Verdict& verdict) {
  const nlohmann::json all{{"format", kFormat},
                           {"state", name_of(verdict.state)},
                           {"sentence", verdict.sentence},
                           {"report", nlohmann::json::parse(verify::json_of(verdict.report))}};
  return all.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Verdict verdict_of_json(const std::string& text, const std::string& place) {
  const nlohmann::json document = verify::parsed(text, place, kLedgerAdvice);
  const verify::StrictJson all(document, place, kLedgerAdvice);
  all["format"].small(kFormat, kFormat);
  const std::size_t state =
      all["state"].one_of(std::array{name_of(kStates[0]), name_of(kStates[1]), name_of(kStates[2])});
  return {kStates[state], all["sentence"].words(),
          verify::report_of_json(document["report"].dump(), place + ".report")};
}

// A row that ends as it did first keeps its words, since of several ranks that fail another one may be the
// first to do so; what measured time decides stays in any case.
void keep_first_words(Verdict& fresh, const Verdict& first) {
  for (verify::ReportRow& row : fresh.report.rows) {
    const auto old = std::ranges::find(first.report.rows, row.id, &verify::ReportRow::id);
    if (old != first.report.rows.end() && (old->timed || old->status == row.status)) row = *old;
  }
}

void make_folder(const fs::path& folder) {
  std::error_code failed;
  const bool is_new = fs::create_directories(folder, failed) || (!failed && fs::is_empty(folder, failed));
  if (is_new) fs::permissions(folder, fs::perms::owner_all, failed);  // names, grades and verdicts are in it
  if (failed)
    throw Error("grade", "a folder that can be written at " + folder.string(), failed.message(),
                "name another one with --out", Code::kMissing);
}

process::Descriptor locked(const fs::path& folder) {
  make_folder(folder);
  const int file = ::open((folder / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    throw Error("grade", "a folder that can be written at " + folder.string(), std::strerror(errno),
                "name another one with --out", Code::kMissing);
  process::Descriptor lock(file);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    throw Error("grade", "a folder that no other run writes", folder.string() + ", which one is writing",
                "wait for its end, or name another one with --out");
  return lock;
}

}  // namespace

Secret Secret::drawn() {
  std::random_device device;
  Secret secret;
  for (std::uint32_t& word : secret.words_) word = static_cast<std::uint32_t>(device());
  return secret;
}

Secret::Secret(const std::string& digits, const std::string& from) {
  const bool fine = digits.size() == 32 && digits.find_first_not_of("0123456789abcdef") == digits.npos;
  if (!fine)
    throw Error(from, "32 hexadecimal digits", digits, "take those of the seed.txt of the first run");
  for (std::size_t i = 0; i < words_.size(); ++i)
    words_[i] = static_cast<std::uint32_t>(std::stoul(digits.substr(8 * i, 8), nullptr, 16));
}

std::string Secret::text() const {
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", words_[0], words_[1], words_[2], words_[3]);
}

std::uint64_t Secret::mixed_with(std::initializer_list<const std::string*> parts) const {
  std::vector<std::uint32_t> words(words_.begin(), words_.end());
  for (const std::string* part : parts) {
    words.push_back(static_cast<std::uint32_t>(part->size()));
    for (const char letter : *part) words.push_back(static_cast<unsigned char>(letter));
  }
  std::seed_seq all(words.begin(), words.end());
  std::mt19937_64 generator(all);
  return generator();
}

std::string Secret::fingerprint_of(const std::string& text) const {
  return fmt::format("{:016x}", mixed_with({&text}));
}

std::uint64_t Secret::seed_for(const std::string& student, const std::string& exercise,
                               const std::string& digest) const {
  return 1 + mixed_with({&student, &exercise, &digest}) % 1'000'000'000'000'000;
}

bool Ledger::is_in(const fs::path& folder) {
  return fs::exists(folder / "seed.txt") || fs::exists(folder / ".lock");
}

Ledger::Ledger(fs::path folder, const std::optional<Secret>& secret)
    : folder_(std::move(folder)), lock_(locked(folder_)), secret_(secret.value_or(Secret::drawn())) {
  const fs::path file = folder_ / "seed.txt";
  if (fs::exists(file)) {
    std::string digits = read_text_file("grade", file, 100);
    digits.erase(digits.find_last_not_of('\n') + 1);
    const Secret begun(digits, file.string());
    if (secret && begun != *secret)
      throw Error("grade --seed", "the seed that " + folder_.string() + " was begun with", "another one",
                  "leave it out, or name another folder with --out");
    secret_ = begun;
    return;
  }
  write_whole(file, secret_.text() + "\n");
  ::chmod(file.c_str(), 0600);
}

fs::path Ledger::place(const std::string& student, const std::string& exercise,
                       const std::string& digest) const {
  return folder_ / "verdicts" / student / (exercise + "-" + digest + ".json");
}

std::optional<Verdict> Ledger::find(const std::string& student, const std::string& exercise,
                                    const std::string& digest) const {
  const fs::path file = place(student, exercise, digest);
  if (!fs::exists(file)) return {};
  try {
    return verdict_of_json(read_text_file("grade", file, kLargestRecord), file.string());
  } catch (const Error& error) {
    throw Error("grade", "a verdict that grade has written",
                std::string("another text (") + error.what() + ")", kLedgerAdvice);
  }
}

void Ledger::keep(const std::string& student, const std::string& exercise, const std::string& digest,
                  Verdict verdict) {
  if (const auto first = find(student, exercise, digest)) keep_first_words(verdict, *first);
  const fs::path file = place(student, exercise, digest);
  make_folder(file.parent_path());
  write_whole(file, json_of(verdict));
}

void write_whole(const fs::path& file, const std::string& text) {
  PendingFile pending(file);
  pending.write(std::as_bytes(std::span(text)));
  pending.commit();
}

}  // namespace ringcraft::grade
