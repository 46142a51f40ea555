// Whole verdicts: the library's own files pass, skeletons fail, every known wrong file is caught by the check
// that is named for it, and equivalent ones pass. The files lie in wrong/ and right/; each is a submission as
// a student would hand it in.
#include <filesystem>
#include <fstream>
#include <set>

#include "judge/judge.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace ringcraft::judge {
namespace {

using verify::Report;
using verify::Status;

const std::filesystem::path kRoot = RINGCRAFT_SOURCE_DIR;

// The verdict on a file of tests/judge; its name starts with the lesson's number.
Report verdict(const std::string& file, std::chrono::milliseconds per_call = std::chrono::seconds(20)) {
  CheckOptions options;
  options.per_call = per_call;
  return check_file(std::stoi(file.substr(file.find('/') + 1)), kRoot / "tests/judge" / (file + ".cpp"),
                    options);
}

std::set<std::string> failed(const Report& report) {
  std::set<std::string> ids;
  for (const auto& row : report.rows)
    if (row.status == Status::kFailed) ids.insert(row.id);
  return ids;
}

const verify::ReportRow& row(const Report& report, const std::string& id) {
  const auto found = std::ranges::find(report.rows, id, &verify::ReportRow::id);
  REQUIRE(found != report.rows.end());
  return *found;
}

struct WrongFile {
  const char* file;      // below wrong/
  const char* check;     // the check that must catch it
  const char* fragment;  // of its sentence
};

void require_caught(const WrongFile& wrong) {
  INFO(wrong.file);
  const bool hangs = std::string(wrong.fragment).find("did not come back") != std::string::npos ||
                     std::string(wrong.fragment).find("the beginning of") != std::string::npos;
  const Report report =
      verdict(std::string("wrong/") + wrong.file, hangs ? std::chrono::seconds(2) : std::chrono::seconds(20));
  INFO(verify::text_of(report));
  CHECK_FALSE(report.good());
  const std::string id = std::string(wrong.file, 3) + "." + wrong.check;
  CHECK(row(report, id).status == Status::kFailed);
  CHECK(testing::contains(row(report, id).sentence, wrong.fragment));
}

class Workspace {  // a folder that removes itself
 public:
  explicit Workspace(const char* name) : path_(std::filesystem::path(RINGCRAFT_BINARY_DIR) / name) {
    std::filesystem::remove_all(path_);
  }
  ~Workspace() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

// ---- the library's own files and the skeletons

TEST_CASE("the library's own files pass every check") {
  for (const LessonInfo& lesson : lessons()) {
    const Report report = check_file(lesson.number, kRoot / "src" / lesson.source);
    INFO(verify::text_of(report));
    CHECK(report.good());
    CHECK(report.count(Status::kPassed) == static_cast<int>(report.rows.size()));
    CHECK(report.points() == report.all_points());
    for (const auto& each : report.rows) CHECK(each.sentence == "");  // no warning either
  }
}

TEST_CASE("other seeds pass as well") {
  for (const std::uint64_t seed : {7u, 8u}) {
    CheckOptions options;
    options.seed = seed;
    CHECK(check_file(104, kRoot / "src/ringcraft/attention/merge.cpp", options).good());
    CHECK(check_file(303, kRoot / "src/ringcraft/ring/forward.cpp", options).good());
  }
}

TEST_CASE("a skeleton compiles and fails") {
  const Workspace workspace("skeletons");
  for (const LessonInfo& lesson : lessons()) {
    const auto file = start(lesson.number, workspace.path());
    CHECK(file == exercise_file(lesson.number, workspace.path()));
    const Report report = check(lesson.number, workspace.path());
    INFO(verify::text_of(report));
    const std::string number = std::to_string(lesson.number);
    CHECK(row(report, number + ".compiles").status == Status::kPassed);
    CHECK(row(report, number + ".belongs").status == Status::kPassed);
    CHECK(report.points() == 0);
    CHECK(testing::contains(report.rows[2].sentence, "lesson " + number + " is not written yet"));
  }
}

TEST_CASE("progress names every step") {
  std::vector<std::string> claims;
  CheckOptions options;
  options.progress = [&](const std::string& claim, int done, int total) {
    CHECK(done == static_cast<int>(claims.size()));
    claims.push_back(claim);
    CHECK(done < total);
  };
  const Report report = check_file(104, kRoot / "tests/judge/wrong/104_syntax_error.cpp", options);
  CHECK(claims.size() == 12);  // two steps of the build, of which one is tried, and eleven checks
  CHECK(report.rows.size() == claims.size());
}

TEST_CASE("wrong calls are refused with the next thing to type") {
  const Workspace workspace("wrong_calls");
  const auto w = workspace.path();
  testing::check_refused([&] { start(999, w); }, "one of 104, 303");
  testing::check_refused([&] { check(999, w); }, "one of 104, 303");
  testing::check_refused([&] { check(104, w); }, "./ringcraft start 104");
  testing::check_refused([&] { check_file(104, w / "nothing.cpp"); }, "a .cpp file that exists");
  const auto file = start(104, w);
  testing::check_refused([&] { start(104, w); }, "go on writing in it");
  std::ofstream(file) << std::string(300 << 10, ' ');
  testing::check_refused([&] { check(104, w); }, "at most 262144 bytes");
}

// ---- wrong files

TEST_CASE("wrong merges are caught") {
  const WrongFile wrong = GENERATE(values<WrongFile>({
      {"104_average", "two-halves", "m + log l is"},
      {"104_unshifted", "extreme-maxima", "near 1000: row 0: m + log l is inf"},
      {"104_weights_swapped", "two-halves", "m + log l is"},
      {"104_maximum_forgotten", "two-halves", "m + log l is"},
      {"104_relative_to_acc", "extreme-maxima", "800 above the first"},
      {"104_divides_early", "two-halves", "O / l is"},
      {"104_maxima_added", "two-halves", "m + log l is"},
      {"104_denominator_forgotten", "two-halves", "m + log l is"},
      {"104_nan_for_nothing", "nothing-with-nothing", "l is NaN in place of 0"},
      {"104_rounds_to_float", "two-halves", "1e-12 is allowed"},
      {"104_first_maximum", "one-sided-rows", "has seen no key, and its m is"},
      {"104_fixed_head_dim", "odd-sizes", "head_dim 64: row 0, column 32"},
      {"104_writes_block", "block-unchanged", "changed block"},
      {"104_counts_calls", "two-halves", "m + log l is"},
      {"104_returns_nan", "two-halves", "is NaN, and must be"},
      {"104_exits", "two-halves", "ended itself with exit code 0 in the middle of call 1 of merge"},
      {"104_exits_before_main", "two-halves",
       "ended itself with exit code 0 in the middle of call 1 of merge"},
      {"104_crashes", "two-halves", "crashed (segmentation fault) in call 1 of merge"},
      {"104_aborts", "two-halves", "crashed (aborted) in call 1 of merge"},
      {"104_out_of_bounds", "two-halves", "its last words: \"Assertion '"},
      {"104_hangs", "two-halves", "did not come back within 2 s in call 1 of merge"},
      {"104_floods", "two-halves", "printed more than 64 KB in call 1 of merge"},
      {"104_throws", "two-halves", "threw \"not ?[31mtoday\" in call 1 of merge"},
      {"104_throws_a_number", "two-halves", "threw \"something that is no std::exception\""},
      {"104_calls_the_library", "belongs", "calls ringcraft::finish, which lesson 104 does not give you"},
      {"104_defines_main", "belongs", "defines main"},
      {"104_syntax_error", "compiles", "error:"},
      {"104_open_helper", "belongs", "defines ringcraft::larger, which the lesson's file does not"},
      {"104_takes_a_library_name", "belongs",
       "defines ringcraft::float_from_bfloat16, which the library defines"},
      {"104_renamed", "belongs", "no longer defines ringcraft::merge"},
      {"104_stray_bytes", "two-halves", "wrote bytes of its own"},
      {"104_claims_an_absurd_length", "two-halves", "claims to send 1152921504606846976 bytes"},
      {"104_sends_half_a_frame", "two-halves", "the beginning of a message and not its end"},
      {"104_forges_a_reply", "two-halves", "the answer cannot be read"},
      {"104_hangs_up", "two-halves", "closed its connection to the judge"},
  }));
  require_caught(wrong);
}

TEST_CASE("wrong rings are caught") {
  const WrongFile wrong = GENERATE(values<WrongFile>({
      {"303_all_send_first", "no-deadlock", "deadlock: rank"},
      {"303_receives_from_next", "no-deadlock", "n=3 contiguous full s=12 h=2/1 d=4 normal: deadlock"},
      {"303_wrong_label", "causal", "n=3 contiguous causal"},
      {"303_label_self", "causal", "elements are wrong"},
      {"303_one_step_short", "full-two", "elements are wrong"},
      {"303_own_block_twice", "full-two", "elements are wrong"},
      {"303_forgets_a_block", "full-two", "elements are wrong"},
      {"303_starts_anew", "full-two", "elements are wrong"},
      {"303_receives_into_the_callers_block", "inputs-unchanged", "rank 0 changed its argument kv"},
      {"303_computes_on_arriving", "full-two", "read before its wait is full of NaN"},
      {"303_overwrites_the_sent", "any-delivery", "bytes leave at wait"},
      {"303_one_buffer", "no-deadlock", "receives into a buffer that it is still sending from"},
      {"303_own_length", "ragged", "bytes to rank"},
      {"303_largest_length", "exact-bytes", "theory says"},
      {"303_skips_masked", "no-deadlock", "n=4 contiguous causal"},
      {"303_keys_and_values_crossed", "full-two", "elements are wrong"},
      {"303_values_stay", "full-two", "elements are wrong"},
      {"303_sends_twice", "exact-bytes", "sends 1024 bytes to rank 1, and theory says 512"},
      {"303_rotates_once_more", "exact-bytes", "sends 1024 bytes to rank 1, and theory says 512"},
      {"303_extra_bytes", "exact-bytes", "sends 520 bytes to rank 1, and theory says 512"},
      {"303_never_stops_early", "window-exchanges", "theory says 0"},
      {"303_window_one_short", "windows", "window 3"},
      {"303_self_message", "one-rank", "a rank does not message itself"},
      {"303_no_last_block", "last-block", "must return the block of rank"},
      {"303_heads_of_q", "no-deadlock", "which expects"},
      {"303_absurd_length", "no-deadlock", "expects 1099511627776 bytes in one message"},
      {"303_exits_on_one_rank", "no-deadlock",
       "rank 1 ended itself with exit code 0 in the middle of call 1"},
      {"303_crashes_on_one_rank", "no-deadlock",
       "rank 1 crashed (segmentation fault) in call 1 of ring_forward"},
      {"303_hangs_on_one_rank", "no-deadlock",
       "rank 1 did not come back within 2 s in call 1 of ring_forward"},
      {"303_throws_on_one_rank", "no-deadlock", "rank 1 threw \"my own assertion\""},
      {"303_disagrees_about_a_length", "no-deadlock", "sends 96 bytes to rank 0, which expects 128"},
      {"303_posts_without_end", "no-deadlock", "sends messages without end"},
      {"303_calls_the_library", "belongs",
       "calls ringcraft::ring_backward, which lesson 303 does not give you"},
      {"303_returns_wrong_extents", "one-rank",
       "returns out as [1, 2, 15, 4] float64, and it must be [1, 2, 16, 4]"},
  }));
  require_caught(wrong);
}

TEST_CASE("every wrong file is in a table") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / "tests/judge/wrong"))
    files += entry.path().extension() == ".cpp" ? 1 : 0;
  CHECK(files == 35 + 34);
}

// A hang costs one deadline, not one per check.
TEST_CASE("after a hang nothing more is tried") {
  const auto begun = std::chrono::steady_clock::now();
  const Report report = verdict("wrong/104_hangs", std::chrono::milliseconds(500));
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(10));
  CHECK(failed(report) == std::set<std::string>{"104.two-halves"});
  CHECK(testing::contains(row(report, "104.nothing-with-nothing").sentence,
                          "did not come back in 104.two-halves"));
}

// ---- right files

TEST_CASE("equivalent solutions pass") {
  struct RightFile {
    const char* file;
    std::set<std::string> may_fail;  // what the contract asks for beyond right values
  };
  const RightFile right = GENERATE(values<RightFile>({
      {"104_branches", {}},
      {"104_lse", {}},
      {"104_powers_of_two", {}},
      {"303_one_message", {}},
      {"303_odd_even", {}},
      {"303_exchange_functions", {}},
      {"303_new_buffers", {}},
      {"303_other_direction", {"303.last-block", "303.window-exchanges"}},
  }));
  const Report report = verdict(std::string("right/") + right.file);
  INFO(verify::text_of(report));
  CHECK(failed(report) == right.may_fail);
  CHECK(report.count(Status::kSkipped) == 0);
}

}  // namespace ringcraft::judge
