// Hand-ins that are alike, of the corpora's files: copies that were disguised, and files that different
// people wrote.
#include "grade/alike/alike.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "support/catch.hpp"
#include "support/growth.hpp"

namespace ringcraft::grade {
namespace {

namespace fs = std::filesystem;

const fs::path kTests = fs::path(RINGCRAFT_SOURCE_DIR) / "tests";

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::string kMergeInBranches = "misconceptions/equivalent/104_merge/branches.cpp";

// The same, renamed, with other comments, another order of declarations, while for for, and two lines that do
// nothing.
constexpr const char* kDisguisedMerge = R"cpp(
  /* my own work: combines what two blocks have found so far */
#include <cmath>
#include <limits>
#include <algorithm>
#include "ringcraft/attention/merge.hpp"
  namespace ringcraft {
  template <class Number>
  void merge(Partial<Number> left, Partial<const Number> right) {
    int seen = 0;
    Index row = 0;
    while (row < left.out.rows) {
      auto n = static_cast<std::size_t>(row);
      Number& top = left.max[n];
      Number& total = left.sum[n];
      Number new_total = right.sum[n];
      Number new_top = right.max[n];
      // nothing comes in
      if (new_top == -std::numeric_limits<Number>::infinity()) {
        ++row;
        continue;
      }
      // nothing was there
      if (top == -std::numeric_limits<Number>::infinity()) {
        top = new_top;
        total = new_total;
        std::ranges::copy(right.out.row(row), left.out.row(row).begin());
        ++row;
        continue;
      }
      Number peak = top < new_top ? new_top : top;
      Number a = std::exp(top - peak), b = std::exp(new_top - peak);
      top = peak;
      total = a * total + b * new_total;
      seen += 1;
      for (Index column = 0; column < left.out.cols; ++column) {
        left.out(row, column) = a * left.out(row, column) + b * right.out(row, column);
      }
      ++row;
    }
  }
  template void merge(Partial<double>, Partial<const double>);
  template void merge(Partial<float>, Partial<const float>);
  }  // namespace ringcraft
)cpp";

const std::string kDenseInLoops = "misconceptions/equivalent/101_dense_attention/plain_loops.cpp";

constexpr const char* kDisguisedDense = R"cpp(
#include <cmath>
#include <vector>
#include <limits>
#include <algorithm>
#include "ringcraft/attention/dense.hpp"

  namespace ringcraft {

  template <class Real>
  void dense_forward(Matrix<const Real> queries, Matrix<const Real> keys, Matrix<const Real> values,
                     const KeyRanges& seen, Real factor, Matrix<Real> result, std::span<Real> logs) {
    std::vector<Real> p(static_cast<std::size_t>(keys.rows));
    for (Index row = 0; row < queries.rows; row++) {
      // which keys does this query see?
      const Index to = seen.end[static_cast<std::size_t>(row)];
      const Index from = seen.begin[static_cast<std::size_t>(row)];
      std::fill(p.begin(), p.end(), Real(0));
      Real biggest = -std::numeric_limits<Real>::infinity();
      Real total = 0;
      // the scores
      Index key = from;
      while (key < to) {
        Real dot = 0;
        for (Index d = 0; d < queries.cols; ++d) {
          dot += queries(row, d) * keys(key, d);
        }
        dot *= factor;
        p[static_cast<std::size_t>(key)] = dot;
        biggest = std::max(biggest, dot);
        ++key;
      }
      // the weights
      for (Index j = from; j < to; ++j) {
        Real& w = p[static_cast<std::size_t>(j)];
        w = std::exp(w - biggest);
        total += w;
      }
      logs[static_cast<std::size_t>(row)] = biggest + std::log(total);
      for (Index d = 0; d < result.cols; ++d) {
        result(row, d) = 0;
      }
      for (Index j = from; j < to; ++j) {
        for (Index d = 0; d < result.cols; ++d) {
          result(row, d) += p[static_cast<std::size_t>(j)] / total * values(j, d);
        }
      }
    }
  }

  template void dense_forward(Matrix<const float>, Matrix<const float>, Matrix<const float>, const KeyRanges&,
                              float, Matrix<float>, std::span<float>);
  template void dense_forward(Matrix<const double>, Matrix<const double>, Matrix<const double>,
                              const KeyRanges&, double, Matrix<double>, std::span<double>);
  }  // namespace ringcraft
)cpp";

const std::map<std::string, std::string> kLibrarysOwn = {
    {"101_dense_attention", "attention/dense.cpp"},
    {"102_safe_softmax", "attention/safe_softmax.cpp"},
    {"103_online_softmax", "attention/online_scan.cpp"},
    {"104_merge", "attention/merge.cpp"},
    {"105_blockwise", "attention/blockwise_forward.cpp"},
    {"106_backward", "attention/blockwise_backward.cpp"},
    {"107_grouped_heads", "attention/grouped.cpp"},
    {"301_exchange", "comm/exchange_odd_even.cpp"},
    {"302_distributed_softmax", "ring/distributed_softmax.cpp"},
    {"303_ring_forward", "ring/forward.cpp"},
    {"304_ring_backward", "ring/backward.cpp"},
    {"401_causal_skipping", "ring/work.cpp"},
    {"402_token_layouts", "problem/token_layouts.cpp"},
    {"403_chunk_zigzag", "problem/chunk_layouts.cpp"},
    {"404_sliding_window", "problem/reach.cpp"},
    {"405_packed_sequences", "problem/key_ranges.cpp"}};

std::vector<std::string> given_for(const std::string& lesson) {
  return {content(kTests.parent_path() / "src/ringcraft" / kLibrarysOwn.at(lesson))};
}

// Whole files for a lesson; the name of each begins with its author's: a set of the held-out ones, or the
// corpus.
std::vector<Text> whole_files(const std::string& lesson) {
  std::vector<Text> texts;
  const auto add = [&](const std::string& author, const fs::path& folder) {
    if (!fs::exists(folder)) return;
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".cpp")
        texts.push_back({author + "/" + entry.path().stem().string(), content(entry.path())});
  };
  add("corpus", kTests / "misconceptions/equivalent" / lesson);
  for (const auto& set : fs::directory_iterator(kTests / "held_out/exercises"))
    add(set.path().filename().string(), set.path() / lesson);
  std::ranges::sort(texts, {}, &Text::student);
  return texts;
}

std::string author_of(const std::string& name) { return name.substr(0, name.find('/')); }

}  // namespace

TEST_CASE("a copy is found under other names, comments and loops") {
  struct Copied {
    std::string lesson, original;
    const char* disguised;
  };
  const Copied copied = GENERATE(Copied{"104_merge", kMergeInBranches, kDisguisedMerge},
                                 Copied{"101_dense_attention", kDenseInLoops, kDisguisedDense});
  std::vector<Text> texts = whole_files(copied.lesson);
  std::erase_if(texts, [](const Text& text) { return author_of(text.student) == "corpus"; });
  texts.push_back({"ada", content(kTests / copied.original)});
  texts.push_back({"bob", copied.disguised});
  const std::vector<Alike> found = alike(copied.lesson, texts, given_for(copied.lesson));
  REQUIRE(found.size() == 1);
  CHECK(found[0].exercise == copied.lesson);
  CHECK(found[0].one == "ada");
  CHECK(found[0].other == "bob");
}

TEST_CASE("files of different people for the same lesson are not alike") {
  double largest = 0;
  std::size_t pairs = 0;
  for (const auto& [lesson, own] : kLibrarysOwn)
    for (const Alike& pair : alike(lesson, whole_files(lesson), given_for(lesson), 0)) {
      if (author_of(pair.one) == author_of(pair.other)) continue;
      ++pairs;
      INFO(lesson << ": " << pair.one << " and " << pair.other);
      CHECK(pair.share < kMuchAlike);
      largest = std::max(largest, pair.share);
    }
  INFO(pairs << " pairs, the largest share is " << largest);
  CHECK(pairs > 500);
  CHECK(largest > kMuchAlike - 0.1);  // the threshold is not higher than it must be
}

TEST_CASE("the text that was given is nobody's own") {
  const std::string own = given_for("304_ring_backward")[0], other = content(kTests / kMergeInBranches);
  CHECK(alike("304", {{"ada", own}, {"bob", own}}, {}).size() == 1);
  CHECK(alike("304", {{"ada", own}, {"bob", own}}, {own}).empty());
  CHECK(alike("304", {{"ada", own + other}, {"bob", own + other}}, {own}).size() == 1);
}

TEST_CASE("a run that many of a class have is nobody's own") {
  std::vector<Text> texts = whole_files("303_ring_forward");
  const std::string copied = content(kTests / kMergeInBranches);
  const std::size_t others = texts.size();
  const auto add = [&] { texts.push_back({"copy " + std::to_string(texts.size()), copied}); };
  add();
  add();
  const auto copies = [&] {
    return std::ranges::count_if(alike("303", texts, {}),
                                 [](const Alike& pair) { return pair.one.starts_with("copy"); });
  };
  CHECK(copies() == 1);
  while (3 * (texts.size() - others) <= texts.size()) add();
  CHECK(copies() == 0);
}

TEST_CASE("a file that many have, and the library's own, are told with all who have them") {
  const std::string copied = content(kTests / kMergeInBranches), other = "// mine\n" + copied;
  const std::vector<std::string> given{"int todo() { return 104; }", given_for("104_merge")[0]};
  std::vector<Text> texts{
      {"ada", copied}, {"bob", other}, {"eve", given[0]}, {"fay", given[0]}, {"gus", given[0]}};
  CHECK(same("104", texts, given).empty());  // two are a pair, and the file to begin with is nobody's
  texts.push_back({"cyd", copied});
  texts.push_back({"dan", given[1]});
  const std::vector<Same> found = same("104", texts, given);
  REQUIRE(found.size() == 2);
  CHECK(found[0].students == std::vector<std::string>{"ada", "bob", "cyd"});
  CHECK(!found[0].is_library);
  CHECK(found[1].students == std::vector<std::string>{"dan"});
  CHECK(found[1].is_library);
}

TEST_CASE("any bytes are compared, in time that grows as their number does") {
  std::string bytes;
  for (int i = 0; i < 1024; ++i) bytes += static_cast<char>(i * i % 251);
  const auto compare = [&](int kilobytes) {
    const auto filled = [](int size, char c) { return std::string(static_cast<std::size_t>(size) << 10, c); };
    std::vector<Text> texts;
    for (const std::string& text :
         {std::string(), bytes, std::string("R\"("), std::string("R\"x"), std::string("\"\\"),
          std::string("/*"), std::string("//\\"), std::string("#include"), std::string(1, '\0'),
          filled(kilobytes, '('), filled(kilobytes - 1, '('), filled(kilobytes - 50, '\\'),
          filled(kilobytes - 50, '\xFF')})
      texts.push_back({std::to_string(texts.size()), text});
    const std::vector<Alike> found = alike("104", texts, {bytes, "#"});
    REQUIRE(found.size() == 1);
    CHECK(found[0].one == "9");
    CHECK_FALSE(side_by_side_page(found[0], texts, {}).empty());
  };
  CHECK(testing::growth(62, 250, compare) < 9);  // 16 where it grows as their square
}

TEST_CASE("60 students and eight lessons are compared, in time that grows as the pairs of students at most") {
  const auto compare = [](int students) {
    int compared = 0;
    for (const auto& [lesson, own] : kLibrarysOwn) {
      if (++compared > 8) break;
      const std::vector<Text> some = whole_files(lesson);
      std::vector<Text> texts;
      for (std::size_t i = 0; i < static_cast<std::size_t>(students); ++i)
        texts.push_back({std::to_string(i), some[i % some.size()].text});
      alike(lesson, texts, given_for(lesson));
    }
  };
  CHECK(testing::growth(15, 60, compare) < 16);
}

TEST_CASE("both texts stand side by side, as text") {
  const std::string shared = content(kTests / kMergeInBranches);
  const std::vector<Text> texts = {
      {"ada", "// <script>alert(1)</script>\r\n" + shared + "// \x1b[31m\xE2\x80\xAE\n"},
      {"bob", shared + "int x = '<' + \"&\";\n", "Bob <b> Ross"}};
  const std::vector<Alike> found = alike("104", texts, {});
  REQUIRE(found.size() == 1);
  const std::string page = side_by_side_page(found[0], texts, {});
  CHECK(page.find("<script") == page.npos);
  CHECK(page.find("&lt;script&gt;alert(1)&lt;/script&gt;</span>") != page.npos);
  CHECK(page.find('\x1b') == page.npos);
  CHECK(page.find("\xE2\x80\xAE") == page.npos);
  CHECK(page.find("<a id=\"one-1\" href=\"#other-1\">1</a>") != page.npos);
  CHECK(page.find("<a id=\"other-1\" href=\"#one-1\">1</a>") != page.npos);
  CHECK(page.find("<a href=\"../students/bob.html#e104\"><bdi>Bob &lt;b&gt; Ross</bdi></a>") != page.npos);
  CHECK(page.find("<a href=\"../students/ada.html#e104\"><bdi>ada</bdi></a>") != page.npos);
  CHECK(page.find("100 % of the shorter file") != page.npos);
  CHECK(page.find("class=\"pale\"") == page.npos);
  const std::string with_given = side_by_side_page(found[0], texts, {shared});
  CHECK(with_given.find("class=\"pale\"") != with_given.npos);
  CHECK(with_given.find("<mark") == with_given.npos);
}

}  // namespace ringcraft::grade
