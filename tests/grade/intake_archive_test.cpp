// Archives of classes and of students: what is taken out of them, and what they try.
#include "grade/class_of_files.hpp"

#ifndef RINGCRAFT_HAS_LIBARCHIVE
TEST_CASE("without libarchive an archive is refused with the name of the package") {
  using namespace ringcraft::grade;
  const ClassOfFiles all;
  all.hand_in("ada.zip", "PK");
  all.hand_in("bob/merge.cpp");
  const ClassFolder read = all.read();
  CHECK(summary(read) == "ada: nothing; bob: 104 merge.cpp");
  ringcraft::test::require_fragment(remarks_of(read.students[0].remarks), "libarchive-dev");
}
#else

namespace ringcraft::grade {
namespace fs = std::filesystem;
using test::require_fragment;

TEST_CASE("archives of students, of any kind, beside folders, two of one student are attempts") {
  const ClassOfFiles all;
  pack(all.place("ada.zip"),
       {{"exercises/104_merge/merge.cpp"}, {"exercises/104_merge/mine.hpp"}, {"__MACOSX/merge.cpp"}});
  pack(all.place("bob.tar.gz"), {{"./merge.cpp"}});
  pack(all.place("eve.tgz"), {{"a/b/forward.cpp"}});
  pack(all.place("kim.TAR"), {{"merge.cpp"}});
  pack(all.place("lee.tar.xz"), {{"merge.cpp"}});
  all.hand_in("bob/merge.cpp", "// another\n");
  const ClassFolder read = all.read();
  CHECK(
      summary(read) ==
      "ada: 104 exercises/104_merge/merge.cpp; bob: 104 merge.cpp, 104 merge.cpp; eve: 303 a/b/forward.cpp; "
      "kim: 104 merge.cpp; lee: 104 merge.cpp");
  CHECK(test::bytes_of(read.students[0].hand_ins[0].file) == kWork);
  CHECK(fs::exists(read.students[0].hand_ins[0].file.parent_path() / "mine.hpp"));
  CHECK(std::distance(fs::directory_iterator(all.scratch()), {}) == 5);  // what was unpacked is gone
}

TEST_CASE("an export as it was downloaded: archives in archives, names in UTF-8") {
  const ClassOfFiles inner;
  pack(inner.place("work.zip"), {{"104_merge/merge.cpp"}, {"M\xC3\xBCller/forward.cpp"}});
  const ClassOfFiles all;
  const std::string work = test::bytes_of(inner.folder() / "work.zip");
  pack(all.place("submissions.zip"), {{"doejohn_LATE_12_50_work.zip", work}, {"roe_13_51_merge.cpp"}});
  const std::string expected =
      "doejohn: 104 work.zip/104_merge/merge.cpp late, 303 work.zip/M\xC3\xBCller/forward.cpp late; roe: 104 "
      "merge.cpp";
  CHECK(summary(all.read()) == expected);
  CHECK(summary(all.read(all.folder() / "submissions.zip")) == expected);

  const ClassOfFiles moodle;
  pack(moodle.place("class.tar.gz"), {{"class/J\xC3\xB6rg R_1_assignsubmission_file_/merge.cpp"}});
  const ClassFolder read = moodle.read(moodle.folder() / "class.tar.gz");
  CHECK(summary(read) == "Jorg-R: 104 merge.cpp");
  CHECK(read.students[0].name == "J\xC3\xB6rg R");
}

TEST_CASE("students who handed in something else are in the class, however many they are") {
  const ClassOfFiles all;
  std::vector<Packed> entries;
  for (int i = 100; i < 300; ++i) {
    const std::string id = std::to_string(i);
    entries.push_back({"S" + id + "_1_assignsubmission_file_/report.pdf", "x"});
    all.hand_in("flat/s_" + id + "_7_report.pdf");
  }
  pack(all.place("moodle.zip"), entries);
  CHECK(all.read(all.folder() / "moodle.zip").students.size() == 200);
  CHECK(all.read(all.folder() / "flat").students.size() == 200);
}

TEST_CASE(
    "paths that lead out of an archive, its links and devices are refused, and nothing is written "
    "elsewhere") {
  const ClassOfFiles all;
  pack(all.place("ada.tar"), {{"../../104_merge/merge.cpp"},
                              {"/tmp/forward.cpp"},
                              {"a/../../notes.txt"},
                              {"predict/104_merge/merge.cpp", "", "/etc/passwd"},
                              {"hard/merge.cpp", "", "/etc/passwd", true},
                              {"pipe/merge.cpp", "", "", false, AE_IFIFO},
                              {"blockwise_forward.cpp"}});
  const std::size_t before =
      static_cast<std::size_t>(std::distance(fs::recursive_directory_iterator(all.folder()), {}));
  const ClassFolder read = all.read();
  CHECK(summary(read) ==
        "ada: 104 104_merge/merge.cpp (path), 104 hard/merge.cpp (link), 104 pipe/merge.cpp (no-file), "
        "104 predict/104_merge/merge.cpp (link), 105 blockwise_forward.cpp, 303 tmp/forward.cpp (path)");
  require_fragment(read.students[0].hand_ins[0].refusal, "leads out of its archive");
  CHECK(before ==
        static_cast<std::size_t>(std::distance(fs::recursive_directory_iterator(all.folder()), {})));
}

TEST_CASE("bombs: by size, by ratio, by nesting, by number, and what came before counts, others are read") {
  const ClassOfFiles all;
  const std::string zeros(1 << 20, '\0');
  const IntakeLimits limits{.total_bytes = 3 << 20};
  pack(all.place("ada.zip"), {{"merge.cpp"},
                              {"a.bin", zeros},
                              {"b.bin", zeros},
                              {"c.bin", zeros},
                              {"d.bin", zeros},
                              {"forward.cpp"}});
  pack(all.place("bob.tar.gz"), {{"merge.cpp"},
                                 {"a.bin", zeros},
                                 {"b.bin", zeros},
                                 {"c.bin", zeros},
                                 {"d.bin", zeros},
                                 {"forward.cpp"}});
  const ClassOfFiles nested;
  pack(nested.place("3.zip"), {{"merge.cpp"}});
  pack(nested.place("2.zip"), {{"3.zip", test::bytes_of(nested.folder() / "3.zip")}});
  pack(nested.place("1.zip"), {{"2.zip", test::bytes_of(nested.folder() / "2.zip")}});
  fs::copy(nested.folder() / "1.zip", all.place("eve.zip"));
  std::vector<Packed> bombs;  // each of its own is small enough
  const ClassOfFiles bomb;
  pack(bomb.place("bomb.zip"),
       {{"x/merge.cpp", std::string(200 << 10, 'a')}, {"a.bin", zeros}, {"b.bin", zeros}});
  for (int i = 0; i < 500; ++i)
    bombs.push_back({std::to_string(100 + i) + ".zip", test::bytes_of(bomb.folder() / "bomb.zip")});
  pack(all.place("kim.zip"), bombs);
  std::vector<Packed> many;
  for (int i = 0; i < 15'000; ++i) many.push_back({"f" + std::to_string(i), ""});
  many.push_back({"merge.cpp"});
  pack(all.place("lee.zip"), many);
  std::vector<Packed> works(3000, Packed{"merge.cpp", "// work\n"});
  pack(all.place("mia.zip"), works);
  pack(all.place("ned.zip"), {{"merge.cpp", std::string(300 << 10, 'a')}, {"forward.cpp", zeros}});
  all.hand_in("zoe/merge.cpp");

  const ClassFolder read = all.read(limits);
  CHECK(read.students.size() == 8);
  const auto remarks = [&](const std::string& key) { return remarks_of(student_of(read, key).remarks); };
  for (const std::string key : {"ada", "bob"}) {
    CHECK(student_of(read, key).hand_ins.size() == 1);
    require_fragment(remarks(key), "unpacks to more than 3 MB");
  }
  CHECK(student_of(read, "eve").hand_ins.empty());
  require_fragment(remarks("eve"), "2.zip/3.zip is an archive in archives");
  CHECK(student_of(read, "kim").hand_ins.size() <= 2);
  require_fragment(remarks("kim"), "unpacks to more than");
  CHECK(student_of(read, "lee").hand_ins.size() == 1);
  CHECK(student_of(read, "mia").hand_ins.size() == 100);
  require_fragment(remarks("mia"), "holds too many files");
  CHECK(student_of(read, "ned").hand_ins[0].refusal_code == "large");
  CHECK(student_of(read, "ned").hand_ins[1].refusal_code == "large");
  CHECK(student_of(read, "zoe").hand_ins.size() == 1);
}

TEST_CASE("an archive that cannot be read is said: none, a broken one, one of another kind") {
  const ClassOfFiles all;
  all.hand_in("ada.zip", "no archive");
  all.hand_in("bob.tar.gz", "");
  all.hand_in("eve.rar", "Rar!");
  pack(all.place("kim.tar.gz"), {{"merge.cpp"}, {"forward.cpp", std::string(200 << 10, 'x')}});
  fs::resize_file(all.folder() / "kim.tar.gz", fs::file_size(all.folder() / "kim.tar.gz") - 40);
  const std::string many = std::string(1000, '\x1F');
  all.hand_in("lee.zip", many);
  all.hand_in("zoe/merge.cpp");
  const ClassFolder read = all.read();
  CHECK(read.students.size() == 6);
  for (const std::string key : {"ada", "eve", "kim", "lee"})
    require_fragment(remarks_of(student_of(read, key).remarks), "cannot be unpacked (");
  CHECK(student_of(read, "kim").hand_ins.size() >= 1);  // what came before the damage
  CHECK(student_of(read, "zoe").hand_ins.size() == 1);
}

TEST_CASE("odd paths in archives: no name, dots, 4 KiB, a thousand folders, a file where a folder is") {
  const ClassOfFiles all;
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "d/";
  pack(all.place("ada.tar"), {{"."},
                              {"./"},
                              {"//"},
                              {".."},
                              {std::string(5000, 'n') + "/merge.cpp"},
                              {deep + "merge.cpp"},
                              {"104_merge", "x"},
                              {"104_merge/merge.cpp"},
                              {"104_merge/MERGE.cpp"},
                              {"a\n\x1B[2J/merge.cpp"}});
  const ClassFolder read = all.read();
  CHECK(summary(read) == "ada: 104 104_merge/MERGE.cpp, 104 104_merge/merge.cpp, 104 a??[2J/merge.cpp");
}

}  // namespace ringcraft::grade
#endif
