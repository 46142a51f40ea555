// Intake of a class: the forms of exports, attempts, and files that are refused.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <set>

#include "grade/class_of_files.hpp"
#include "grade/intake/class_folder.hpp"
#include "grade/intake/metadata.hpp"
#include "grade/intake/names.hpp"
#include "support/effort.hpp"
#include "support/growth.hpp"

namespace ringcraft::grade {
namespace fs = std::filesystem;
using test::error_of;
using test::require_fragment;

// ---- whose it is

TEST_CASE("a folder per student: by the folder of the lesson, or by the name of the file alone") {
  const ClassOfFiles all;
  all.hand_in("ada/exercises/104_merge/merge.cpp");
  all.hand_in("ada/exercises/303_ring_forward/forward.cpp");
  all.hand_in("bob/merge.cpp");
  all.hand_in("bob/401_causal_skipping/predict.txt");
  fs::create_directory(all.folder() / "eve");
  const ClassFolder read = all.read();
  CHECK(summary(read) ==
        "ada: 104 exercises/104_merge/merge.cpp, 303 exercises/303_ring_forward/forward.cpp; "
        "bob: 104 merge.cpp, 401.predict 401_causal_skipping/predict.txt; eve: nothing");
  CHECK(read.remarks.empty());
  CHECK(read.students[0].name == "ada");
  CHECK(read.students[0].remarks.empty());
  const fs::path copy = read.students[0].hand_ins[0].file;
  CHECK(copy == all.scratch() / "ada" / "0" / "merge.cpp");
  CHECK(test::bytes_of(copy) == kWork);
}

TEST_CASE("names of files: attempts, other letters, what stands in front, .txt, never another exercise's") {
  const ClassOfFiles all;
  all.hand_in("ada/Merge.CPP");
  all.hand_in("ada/merge (1).cpp");
  all.hand_in("ada/merge-2.cpp");
  all.hand_in("ada/lovelace_merge-10.cpp");
  all.hand_in("ada/merge_v3.cpp");
  all.hand_in("bob/merge.cpp.txt");
  all.hand_in("bob/ring_forward.cpp");
  all.hand_in("bob/blockwise_forward.cpp");
  all.hand_in("bob/01_merge.cu");
  all.hand_in("bob/submerge.cpp");
  all.hand_in("bob/merge.cppx");
  all.hand_in("bob/predict.txt");
  const ClassFolder read = all.read();
  CHECK(
      summary(read) ==
      "ada: 104 Merge.CPP, 104 merge (1).cpp, 104 merge-2.cpp, 104 merge_v3.cpp, 104 lovelace_merge-10.cpp; "
      "bob: 104 merge.cpp.txt, 105 blockwise_forward.cpp, 205 01_merge.cu, 303 ring_forward.cpp");
  CHECK(read.students[1].hand_ins[0].file.filename() == "merge.cpp");
  const std::string remarks = remarks_of(read.students[1].remarks);
  require_fragment(remarks, "merge.cpp.txt is taken as merge.cpp");
  require_fragment(remarks, "predict.txt may be the file of several exercises");
  require_fragment(remarks, "submerge.cpp is no file of these exercises");
  require_fragment(remarks, "merge.cppx is no file of these exercises");
}

TEST_CASE(
    "Canvas: flat names, late ones, anonymous ones, uploads in their order, the same student in each "
    "export") {
  const ClassOfFiles all;
  all.hand_in("lovelaceada_7_30_merge-1.cpp");
  all.hand_in("lovelaceada_7_4_merge.cpp");
  all.hand_in("doejohn_LATE_12_50_forward.cpp");
  all.hand_in("doejohn_13_51_forward.cpp");
  all.hand_in("anon_qX2b7_60_merge.cpp");
  all.hand_in("LATE_anon_aaaaa_61_merge.cpp");
  all.hand_in("kim_9_text.html");
  CHECK(summary(all.read()) ==
        "aaaaa: 104 merge.cpp late; doejohn-12: 303 forward.cpp late; doejohn-13: 303 forward.cpp; "
        "kim: nothing; lovelaceada: 104 merge.cpp, 104 merge-1.cpp; qX2b7: 104 merge.cpp");

  const ClassOfFiles several;
  several.hand_in("104_merge/doejohn_12_50_merge.cpp");
  several.hand_in("401_causal_skipping/doejohn_LATE_12_77_predict.txt");
  several.hand_in("401_causal_skipping/roe_13_78_predict.txt");
  CHECK(summary(several.read()) ==
        "doejohn: 104 merge.cpp, 401.predict predict.txt late; roe: 401.predict predict.txt");
}

TEST_CASE("Moodle: folders and flat names, two students with one name, and none lost") {
  const ClassOfFiles all;
  all.hand_in("Ada Lovelace_123_assignsubmission_file_/merge.cpp");
  all.hand_in("Ada Lovelace_123_assignsubmission_onlinetext_/onlinetext.html");
  all.hand_in("Max M\xC3\xBCller_4_assignsubmission_file/104_merge/merge.cpp");
  all.hand_in("Max M\xC3\xBCller_5_assignsubmission_file_merge.cpp");
  const ClassFolder read = all.read();
  CHECK(summary(read) ==
        "Ada-Lovelace: 104 merge.cpp; Max-Muller-4: 104 104_merge/merge.cpp; Max-Muller-5: 104 merge.cpp");
  CHECK(read.students[0].name == "Ada Lovelace");
  CHECK(read.students[1].name == "Max M\xC3\xBCller");
  require_fragment(remarks_of(read.students[0].remarks), "onlinetext.html is no file of these exercises");
}

TEST_CASE(
    "Gradescope: names and times from its metadata, groups, several exports, output of programs does not "
    "count") {
  const ClassOfFiles all;
  const std::string submitters =
      "  :submitters:\n  - :name: Ada Lovelace\n    :sid: '31'\n    :email: a@b.c\n";
  all.hand_in(
      "assignment_1_export/submission_metadata.yml",
      "---\nsubmission_5:\n" + submitters +
          "  :created_at: 2026-04-26 17:34:00.861687000 Z\n  :results:\n    output: |-\n"
          "      submission_6:\n        :submitters:\n        - :name: Mallory\n"
          "submission_6:\n  :submitters:\n  - :name: \"Bob \\\"B\\\" O'Neil\"\n    :sid: 40\n  - :sid: 41\n"
          "  :history:\n  - :id: 1\n    :created_at: 2000-01-01 00:00:00 Z\n");
  all.hand_in("assignment_1_export/submission_5/merge.cpp");
  all.hand_in("assignment_1_export/submission_6/merge.cpp");
  all.hand_in("assignment_1_export/submission_9/merge.cpp");
  all.hand_in("assignment_2_export/submission_metadata.yml", "submission_8:\n" + submitters);
  all.hand_in("assignment_2_export/submission_8/forward.cpp");
  const ClassFolder read = all.read();
  CHECK(summary(read) ==
        "9: 104 merge.cpp; Ada-Lovelace: 104 merge.cpp, 303 forward.cpp; Bob-B-O-Neil-41: 104 merge.cpp");
  CHECK(student_of(read, "Ada-Lovelace").hand_ins[0].handed_in == 1777224840);
  CHECK(read.students[2].name == "Bob \"B\" O'Neil, 41");
}

TEST_CASE("times of Gradescope, with zones") {
  CHECK(read_time("1970-01-02 00:00:01 Z") == 86401);
  CHECK(read_time("2018-07-01T14:22:32.365935-07:00") == 1530480152);
  CHECK(read_time("2018-07-01 14:22:32 +0530") == 1530435152);
  for (const std::string bad :
       {"", "yesterday", "2018-13-01 00:00:00 Z", "2018-02-30 00:00:00 Z", "2018-01-01 99:00:00"})
    CHECK_FALSE(read_time(bad).has_value());
}

TEST_CASE("GitHub Classroom: repositories without the assignment's name, exercises alone of a whole course") {
  const ClassOfFiles all;
  for (const std::string student : {"ada", "bob-roe"}) {
    const std::string repository = "merge-lesson-" + student + "/";
    all.hand_in(repository + ".git/config");
    all.hand_in(repository + ".git/merge.cpp");
    all.hand_in(repository + "src/ringcraft/attention/merge.cpp", "// the course's\n");
    all.hand_in(repository + "lessons/104_merge/merge.cpp", "// the course's\n");
    all.hand_in(repository + "README.md");
    all.hand_in(repository + "exercises/104_merge/merge.cpp");
  }
  all.hand_in("merge-lesson-kim/.git/config");
  all.hand_in("merge-lesson-kim/src/a.cpp");
  all.hand_in("merge-lesson-kim/lessons/104_merge/README.md");
  const ClassFolder read = all.read();
  CHECK(summary(read) ==
        "ada: 104 exercises/104_merge/merge.cpp; bob-roe: 104 exercises/104_merge/merge.cpp; kim: nothing");
  CHECK(read.students[0].remarks.empty());
  require_fragment(remarks_of(read.students[2].remarks), "exercises is missing");

  const ClassOfFiles plain;  // no repositories: these are their names
  plain.hand_in("student-1/merge.cpp");
  plain.hand_in("student-2/merge.cpp");
  CHECK(summary(plain.read()) == "student-1: 104 merge.cpp; student-2: 104 merge.cpp");

  const ClassOfFiles several;
  several.hand_in("merge-submissions/merge-ada/merge.cpp");
  several.hand_in("ring-submissions/ring-ada/forward.cpp");
  CHECK(summary(several.read()) == "ada: 104 merge.cpp, 303 forward.cpp");
}

TEST_CASE(
    "folders around the class are seen through, a student's own are not, and a workspace is one student") {
  const ClassOfFiles wrapped;
  wrapped.hand_in("week 1/handed in/ada/merge.cpp");
  wrapped.hand_in("week 1/handed in/bob/merge.cpp");
  CHECK(summary(wrapped.read()) == "ada: 104 merge.cpp; bob: 104 merge.cpp");
  const ClassOfFiles single;
  single.hand_in("ada/homework/merge.cpp");
  CHECK(summary(single.read()) == "ada: 104 homework/merge.cpp");
  const ClassOfFiles own;
  own.hand_in("exercises/104_merge/merge.cpp");
  CHECK(summary(own.read()) == "class: 104 exercises/104_merge/merge.cpp");
}

TEST_CASE("files with a student's name in front, and entries that belong to nobody") {
  const ClassOfFiles all;
  all.hand_in("ada_merge.cpp");
  all.hand_in("ada_forward.cpp");
  all.hand_in("merge.cpp");
  all.hand_in("roster.csv");
  const ClassFolder read = all.read();
  CHECK(summary(read) == "ada: 104 merge.cpp, 303 forward.cpp");
  CHECK(remarks_of(read.remarks) == "merge.cpp belongs to no student\nroster.csv belongs to no student\n");
}

TEST_CASE("a student cannot hand in for another by the names inside of their own folder") {
  const ClassOfFiles all;
  all.hand_in("eve/ada_7_8_merge.cpp");
  all.hand_in("ada/merge.cpp");
  CHECK(summary(all.read()) == "ada: 104 merge.cpp; eve: 104 ada_7_8_merge.cpp");
}

TEST_CASE("a folder that is not there, is none, or holds no student is an error in one sentence") {
  const ClassOfFiles all;
  require_fragment(error_of([&] { all.read(); }), "which holds none");
  require_fragment(error_of([&] { all.read(all.folder() / "nowhere"); }), "No such file");
  all.hand_in("merge.cpp");
  require_fragment(error_of([&] { all.read(all.folder() / "merge.cpp"); }), "which is neither");
}

// ---- keys

TEST_CASE("keys are safe and unique, whatever the names are") {
  const ClassOfFiles all;
  for (const std::string name : {"ada", "Ada", "a\nb", "a\"b", "\x1B[31mred", "-fplugin=x.so", "@args",
                                 "unpacked", "=1+1", "-.x", "\xE5\xBC\xA0", "\xFF\xFE", "<b>", "con'"})
    all.hand_in(name + "/merge.cpp");
  all.hand_in(std::string(250, 'n') + "/merge.cpp");
  const ClassFolder read = all.read();
  CHECK(read.students.size() == 15);
  std::set<std::string> keys;
  for (const Student& student : read.students) {
    INFO(student.key);
    CHECK(keys.insert(lowered(student.key)).second);
    CHECK(student.key.size() <= 64);
    CHECK(student.key.find_first_not_of(
              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == std::string::npos);
    const bool begins_well = student.key.front() != '-' && student.key.front() != '.';
    CHECK(begins_well);
    CHECK(student.name.find_first_of("\n\x1B\xFF") == std::string::npos);
    CHECK(student.hand_ins.size() == 1);
    CHECK(student.hand_ins[0].file.parent_path().parent_path() == all.scratch() / student.key);
    CHECK(fs::exists(student.hand_ins[0].file));
  }
  CHECK(!keys.contains("ada"));  // nobody is the first of two
}

TEST_CASE("the name of a student's own file has no other form than its export") {
  const auto named = [](const char* name) {
    const auto found = exported_name(name);
    return found ? found->student + "/" + found->id + (found->late ? "/late" : "") + "/" + found->rest
                 : "none";
  };
  CHECK(named("mallory_555_777_x_12345_assignsubmission_file_merge.cpp") ==
        "mallory/555/x_12345_assignsubmission_file_merge.cpp");
  CHECK(named("mallory_LATE_555_777_x_12345_assignsubmission_file_merge.cpp") ==
        "mallory/555/late/x_12345_assignsubmission_file_merge.cpp");
  CHECK(named("Ada Lovelace_501_assignsubmission_file_x_12_13_merge.cpp") ==
        "Ada Lovelace/501/x_12_13_merge.cpp");
}

TEST_CASE("a student who comes later takes nobody's key") {
  const std::vector<std::string> first = {"zhangwei_101_1_merge.cpp", "\xCE\xB1\xCE\xB2_7_2_merge.cpp",
                                          "\xD1\x89\xD0\xB5_9_3_merge.cpp", "lovelaceada_5_4_merge.cpp"};
  const auto keys_of = [](const std::vector<std::string>& files) {
    const ClassOfFiles all;
    for (const std::string& file : files) all.hand_in(file);
    std::map<std::string, std::string> keys;  // by the id
    for (const Student& student : all.read().students) {
      REQUIRE(student.people.size() == 1);
      keys[student.people[0].id] = student.key;
    }
    return keys;
  };
  const auto before = keys_of(first);
  CHECK(before == std::map<std::string, std::string>{
                      {"101", "zhangwei"}, {"7", "student-7"}, {"9", "student-9"}, {"5", "lovelaceada"}});
  std::vector<std::string> more = first;
  more.insert(more.end(), {"zhangwei_050_5_merge.cpp", "\xCE\xB1\xCE\xB1_1_6_merge.cpp"});
  const auto after = keys_of(more);
  CHECK(after.at("101") == "zhangwei-101");
  CHECK(after.at("050") == "zhangwei-050");
  for (const char* const id : {"7", "9", "5"}) CHECK(after.at(id) == before.at(id));
}

// ---- what is passed over, and what is refused

TEST_CASE("files that tools make are never mentioned, others with at most ten remarks") {
  const ClassOfFiles all;
  for (const std::string path :
       {".git/104_merge/merge.cpp", "build/merge.cpp", "__MACOSX/merge.cpp", ".DS_Store", "merge.cpp~",
        ".merge.cpp.swp", "._merge.cpp", "merge.o", "cmake-build-debug/merge.cpp", "#merge.cpp#", "README.md",
        "exercises/progress.txt", "exercises/104_merge/merge.cpp.before-reset"})
    all.hand_in("ada/" + path);
  all.hand_in("ada/notes.md");
  for (int i = 0; i < 30; ++i) all.hand_in("bob/" + std::to_string(100 + i) + ".md");
  const ClassFolder read = all.read();
  CHECK(summary(read) == "ada: nothing; bob: nothing");
  CHECK(remarks_of(read.students[0].remarks) == "notes.md is no file of these exercises\n");
  CHECK(read.students[1].remarks.size() == 11);
  CHECK(read.students[1].remarks.back() == "and 20 more remarks like these");
}

TEST_CASE("texts that are refused, each by its code and with a sentence that helps") {
  struct Case {
    std::string text, code, sentence;
  };
  const std::string bidi = "int a;\nint b; // \xE2\x80\xAE x\n";
  for (const Case& one : {
           Case{std::string(257 << 10, 'a'), "large", "larger than 256 KB"},
           Case{"", "empty", "is empty"},
           Case{" \n\t\n", "empty", "is empty"},
           Case{"\xFF\xFEi\0n\0t\0", "encoding", "UTF-16: save it as UTF-8"},
           Case{"\xFE\xFF\0i\0n", "encoding", "UTF-16: save it as UTF-8"},
           Case{std::string("int a;\0", 7), "zero", "zero byte"},
           Case{"int a;\n// M\xFCller\n", "encoding", "no text in UTF-8 from line 2 on"},
           Case{"// \xC0\xAF", "encoding", "no text in UTF-8"},
           Case{"// \xED\xA0\x80", "encoding", "no text in UTF-8"},
           Case{"// \xF4\x90\x80\x80", "encoding", "no text in UTF-8"},
           Case{"// \xE2\x82", "encoding", "no text in UTF-8"},
           Case{bidi, "bidi", "U+202E in line 2"},
           Case{"// \xE2\x81\xA6", "bidi", "U+2066 in line 1"},
           Case{"// \xE2\x81\xA9", "bidi", "U+2069 in line 1"},
           Case{"// \xE2\x80\x8E", "bidi", "U+200E in line 1"},
           Case{"// \xE2\x80\x8F", "bidi", "U+200F in line 1"},
           Case{"// \xE2\x80\xAA", "bidi", "U+202A in line 1"},
           Case{"// \xD8\x9C", "bidi", "U+061C in line 1"},
       }) {
    INFO(one.sentence);
    const ClassOfFiles all;
    all.hand_in("ada/merge.cpp", one.text);
    const ClassFolder read = all.read();
    REQUIRE(summary(read) == "ada: 104 merge.cpp (" + one.code + ")");
    require_fragment(read.students[0].hand_ins[0].refusal, one.sentence);
    CHECK(read.students[0].hand_ins[0].refusal.starts_with("merge.cpp "));
    CHECK(read.students[0].hand_ins[0].file.empty());
    CHECK_FALSE(fs::exists(all.scratch() / "ada"));
  }
  for (const std::string& good : {std::string(256 << 10, 'a'), std::string("\xEF\xBB\xBFint a;"),
                                  std::string("// Gr\xC3\xBC\xC3\x9F"
                                              "e \xF0\x9F\x98\x80"),
                                  std::string("int a;\r\n")}) {
    const ClassOfFiles all;
    all.hand_in("ada/merge.cpp", good);
    const ClassFolder read = all.read();
    REQUIRE(summary(read) == "ada: 104 merge.cpp");
    CHECK(test::bytes_of(read.students[0].hand_ins[0].file) == good);
  }
}

TEST_CASE("no link is followed, of a file, a folder, a header or a student, and nobody else is stopped") {
  const ClassOfFiles all;
  const fs::path secret = all.scratch().parent_path() / "secret";
  fs::create_directories(secret / "104_merge");
  test::write_bytes(secret / "merge.cpp", "// the solution\n");
  test::write_bytes(secret / "104_merge/merge.cpp", "// the solution\n");
  fs::create_symlink(secret / "merge.cpp", all.place("ada/merge.cpp"));
  fs::create_directory_symlink(secret / "104_merge", all.place("bob/104_merge"));
  fs::create_directory_symlink(secret, all.place("eve"));
  fs::create_symlink(secret / "merge.cpp", all.place("kim_merge.cpp"));
  fs::create_symlink("merge.cpp", all.place("lee/merge.cpp"));  // to itself
  fs::create_symlink(secret / "merge.cpp", all.place("mia/mine.hpp"));
  all.hand_in("mia/merge.cpp");
  fs::create_hard_link(all.folder() / "mia/merge.cpp", all.place("ned/merge.cpp"));
  const ClassFolder read = all.read();
  CHECK(summary(read) ==
        "ada: 104 merge.cpp (link); bob: nothing; eve: nothing; kim: 104 merge.cpp (link); lee: 104 "
        "merge.cpp (link); "
        "mia: 104 merge.cpp; ned: 104 merge.cpp");
  require_fragment(read.students[0].hand_ins[0].refusal, "merge.cpp is a link, and no link is followed");
  require_fragment(remarks_of(read.students[1].remarks), "104_merge is a link");
  require_fragment(remarks_of(read.students[2].remarks), "eve is a link");
  require_fragment(remarks_of(read.students[5].remarks), "mine.hpp is a link");
  CHECK_FALSE(fs::exists(all.scratch() / "mia/0/mine.hpp"));
}

TEST_CASE("the folder that the instructor names may be a link") {
  const ClassOfFiles all;
  all.hand_in("ada/merge.cpp");
  const fs::path link = all.scratch().parent_path() / "link";
  fs::create_directory_symlink(all.folder(), link);
  CHECK(summary(all.read(link)) == "ada: 104 merge.cpp");
  CHECK(summary(all.read(all.folder() / "")) == "ada: 104 merge.cpp");
}

TEST_CASE("pipes are not waited for, and neither they nor sockets are read") {
  const ClassOfFiles all;
  REQUIRE(::mkfifo(all.place("ada/merge.cpp").c_str(), 0600) == 0);
  REQUIRE(::mkfifo(all.place("bob/mine.hpp").c_str(), 0600) == 0);
  REQUIRE(::mkfifo(all.place("bob/work.zip").c_str(), 0600) == 0);
  all.hand_in("bob/merge.cpp");
  fs::create_directories(all.folder() / "eve/merge.cpp");  // a folder of this name
  const ClassFolder read = all.read();
  CHECK(summary(read) == "ada: 104 merge.cpp (no-file); bob: 104 merge.cpp; eve: nothing");
  require_fragment(remarks_of(read.students[1].remarks), "mine.hpp is no regular file");
  require_fragment(remarks_of(read.students[1].remarks), "work.zip is no regular file");
}

TEST_CASE("folders and files that may not be opened are said, and the others are read") {
  const ClassOfFiles all;
  all.hand_in("ada/merge.cpp");
  all.hand_in("bob/merge.cpp");
  all.hand_in("eve/merge.cpp");
  fs::permissions(all.folder().parent_path(), fs::perms(0755));
  fs::create_directory(all.scratch());
  fs::permissions(all.scratch(), fs::perms(0777));
  fs::permissions(all.folder() / "ada", fs::perms(0));
  fs::permissions(all.folder() / "bob/merge.cpp", fs::perms(0));
  const bool root = ::geteuid() == 0;  // whom no permission stops
  if (root) REQUIRE(::seteuid(65534) == 0);
  const ClassFolder read = read_class(all.folder(), all.scratch(), kExercises);
  if (root) REQUIRE(::seteuid(0) == 0);
  fs::permissions(all.folder() / "ada", fs::perms(0755));
  CHECK(summary(read) == "ada: nothing; bob: 104 merge.cpp (unreadable); eve: 104 merge.cpp");
  CHECK(remarks_of(read.students[0].remarks) == "ada cannot be opened (Permission denied)\n");
}

TEST_CASE("scratch that cannot be written is an error, and no student's fault") {
  const ClassOfFiles all;
  all.hand_in("ada/merge.cpp");
  test::write_bytes(all.scratch(), "in the way");
  const std::string sentence = error_of([&] { read_class(all.folder(), all.scratch(), kExercises); });
  require_fragment(sentence, "room for copies");
}

// ---- headers

TEST_CASE("headers beside the file come along, under the names that it includes") {
  const ClassOfFiles all;
  all.hand_in("ada/104_merge/merge.cpp", "#include \"mine.hpp\"\n");
  all.hand_in("ada/104_merge/mine.hpp", "// mine\n");
  all.hand_in("ada/104_merge/bad name.hpp");
  all.hand_in("ada/104_merge/-fplugin=x.h");
  all.hand_in("ada/104_merge/bad.hpp", "// \xE2\x80\xAE\n");
  all.hand_in("ada/104_merge/large.hpp", std::string(300 << 10, 'a'));
  all.hand_in("ada/303_ring_forward/forward.cpp");
  all.hand_in("ada/notes/lonely.hpp");
  const ClassFolder read = all.read();
  CHECK(summary(read) == "ada: 104 104_merge/merge.cpp, 303 303_ring_forward/forward.cpp");
  const fs::path folder = read.students[0].hand_ins[0].file.parent_path();
  CHECK(test::bytes_of(folder / "mine.hpp") == "// mine\n");
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 2);
  CHECK(std::distance(fs::directory_iterator(read.students[0].hand_ins[1].file.parent_path()), {}) == 1);
  const std::string remarks = remarks_of(read.students[0].remarks);
  require_fragment(remarks, "bad name.hpp has a name that is no name for a header");
  require_fragment(remarks, "-fplugin=x.h has a name that is no name for a header");
  require_fragment(remarks, "bad.hpp holds the invisible character U+202E");
  require_fragment(remarks, "large.hpp is larger than 256 KB");
  require_fragment(remarks, "lonely.hpp has no exercise beside it");

  const ClassOfFiles canvas;
  canvas.hand_in("doejohn_1_10_merge-1.cpp");
  canvas.hand_in("doejohn_1_11_mine-1.hpp");
  canvas.hand_in("roe_2_12_merge.cpp");
  const ClassFolder flat = canvas.read();
  CHECK(fs::exists(flat.students[0].hand_ins[0].file.parent_path() / "mine.hpp"));
  CHECK_FALSE(fs::exists(flat.students[1].hand_ins[0].file.parent_path() / "mine.hpp"));
}

// ---- amounts

TEST_CASE("very many files do not hide the exercise, and are not gone through") {
  const ClassOfFiles all;
  all.hand_in("ada/z/merge.cpp");
  all.hand_in("bob/merge.cpp");
  fs::create_directory(all.folder() / "ada/a");
  const int files = testing::long_run() ? 100'000 : 3'000;
  for (int i = 0; i < files; ++i) {
    const int file = ::open((all.folder() / "ada" / ("f" + std::to_string(i))).c_str(),
                            O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    REQUIRE(file >= 0);
    ::close(file);
  }
  const ClassFolder read = all.read();
  CHECK(summary(read) == "ada: 104 z/merge.cpp; bob: 104 merge.cpp");
  require_fragment(remarks_of(read.students[0].remarks), "ada holds too many files");
}

TEST_CASE("copies of one student take no more room than an archive may") {
  const ClassOfFiles all;
  for (int i = 0; i < 9; ++i) all.hand_in("ada/" + std::to_string(i) + "/merge.cpp", std::string(100, 'a'));
  all.hand_in("ada/0/mine.hpp", std::string(300, 'a'));
  all.hand_in("bob/merge.cpp");
  const ClassFolder read = all.read({.total_bytes = 1000});
  CHECK(read.students[0].hand_ins.size() == 7);
  require_fragment(remarks_of(read.students[0].remarks), "8/merge.cpp is one file too many");
}

TEST_CASE("folders in folders without end are left at some depth") {
  const ClassOfFiles all;
  std::string path = "ada/";
  for (int i = 0; i < 200; ++i) path += "a/";
  all.hand_in(path + "merge.cpp");
  all.hand_in("ada/merge.cpp");
  const ClassFolder read = all.read();
  CHECK(summary(read) == "ada: 104 merge.cpp");
  require_fragment(remarks_of(read.students[0].remarks), "lies too many folders deep");
}

TEST_CASE("a class of 120 with 8 files each, in time that grows as the number of files does") {
  const auto hand_in = [](const ClassOfFiles& all, int students) {
    for (int student = 0; student < students; ++student)
      for (int file = 0; file < 8; ++file)
        all.hand_in("student" + std::to_string(student) + "/" + std::to_string(file) + "/merge.cpp",
                    std::string(8000, 'a'));
  };
  const ClassOfFiles few, many;
  hand_in(few, 15);
  hand_in(many, 120);
  const auto read = [&](int students) {
    const ClassFolder folder = (students == 15 ? few : many).read();
    CHECK(folder.students.size() == static_cast<std::size_t>(students));
    for (const Student& student : folder.students) CHECK(student.hand_ins.size() == 8);
  };
  CHECK(testing::growth(15, 120, read) < 24);  // 8 where it grows as the number, 64 as its square
}

TEST_CASE(
    "submission_metadata.json says who, when, and whether it is late, and nonsense in it says nothing") {
  const auto of = [](const std::string& due, const std::string& user) {
    return read_submission(R"({"created_at": "2026-05-02T10:00:00.5-07:00", "assignment": {"due_date": )" +
                           due + R"(}, "users": [)" + user + "]}");
  };
  CHECK(of("null", "{}").handed_in == read_time("2026-05-02T17:00:00Z"));
  CHECK(!of("null", "{}").late);
  CHECK(of(R"("2026-05-02T16:59:59Z")", "{}").late);
  CHECK(!of(R"("2026-05-02T17:00:00Z")", "{}").late);
  CHECK(!of(R"("2026-05-01T00:00:00Z")", R"({"assignment": {"due_date": "2026-05-03T00:00:00Z"}})").late);
  CHECK(of("null", R"({"name": "Ada", "sid": "1"}, {"name": "Bob", "email": "b@c"})").name == "Ada, Bob");
  CHECK(of("null", R"({"name": "Ada", "sid": "1"}, {"name": "Bob", "email": "b@c"})").identity == "1\nb@c");
  for (const char* nonsense : {"", "{", "[]", "7", R"({"users": 3, "created_at": {}})",
                               R"({"users": [7, null]})", R"({"users": {"a": []}, "assignment": "x"})"}) {
    INFO(nonsense);
    CHECK(read_submission(nonsense).identity.empty());
    CHECK(!read_submission(nonsense).late);
  }
}

}  // namespace ringcraft::grade
