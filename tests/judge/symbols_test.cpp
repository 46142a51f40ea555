// The symbol gate, on made-up lists of symbols.
#include "judge/build/symbols.hpp"

#include "support/catch.hpp"
#include "support/errors.hpp"

namespace ringcraft::judge {
namespace {

constexpr const char* kLibrary =
    "lib.dir/ringcraft/core/buffer.cpp.o: _ZN9ringcraft6Buffer8set_rowsEl T 0 10\n"
    "lib.dir/ringcraft/engine/block_engine.cpp.o: _ZN9ringcraft11BlockEngine8set_zeroEv T 0 10\n"
    "lib.dir/ringcraft/engine/theory.cpp.o: _ZN9ringcraft6theoryEv T 0 10\n"
    "lib.dir/ringcraft/attention/merge.cpp.o: _ZN9ringcraft5mergeEv W 0 10\n"
    "lib.dir/ringcraft/attention/merge.cpp.o: _ZN9ringcraft5otherEv T 0 10\n"
    "lib.dir/ringcraft/attention/merge.cpp.o: _ZN9ringcraft5ErrorC2Ev W 0 10\n"
    "lib.dir/ringcraft/attention/merge.cpp.o: _ZN9ringcraft6neededEv U\n"
    "lib.dir/ringcraft/attention/host.cpp.o: _ZN9ringcraft5mergeEv U\n"
    "lib.dir/ringcraft/attention/host.cpp.o: _ZN9ringcraft6secretEv U\n"
    "lib.dir/ringcraft/attention/host.cpp.o: _ZN9ringcraft6neededEv T 0 10\n";

std::vector<std::string> verdict(const std::string& student, std::set<std::string> allowed = {}) {
  const std::string own = "s.o: _ZN9ringcraft5mergeEv W 0 1\ns.o: _ZN9ringcraft5otherEv T 0 1\n";
  return complaints({parse_nm(own + student), parse_nm(kLibrary), "ringcraft/attention/merge.cpp",
                     std::move(allowed), 104});
}

}  // namespace

TEST_CASE("names of the namespace are distinguished from others") {
  for (const char* name : {"_ZN9ringcraft5mergeEv", "_ZNK9ringcraft6Buffer5bytesEv", "_ZTVN9ringcraft5ErrorE",
                           "_ZTIN9ringcraft5ErrorE", "_ZZN9ringcraft1fEvE1x", "_ZGVN9ringcraft1xE",
                           "_ZThn16_N9ringcraft1C1fEv", "_ZNKR9ringcraft1C1fEv"}) {
    INFO(name);
    CHECK(is_ringcraft(name));
  }
  for (const char* name : {"main", "_Z4helpv", "_ZNSt6vectorIN9ringcraft2OpESaIS1_EED1Ev",
                           "_ZN10ringcraft21fEv", "printf", "_ZN5other9ringcraftEv"}) {
    INFO(name);
    CHECK_FALSE(is_ringcraft(name));
  }
  CHECK(readable("_ZN9ringcraft5mergeIdEEvNS_7PartialIT_EENS1_IKS2_EE") == "ringcraft::merge");
  CHECK(readable("_ZN9ringcraft6mergedIdEENS_12SoftmaxStateIT_EES3_S3_") ==
        "ringcraft::merged");  // its result is ours, too
  CHECK(readable("_ZN9ringcraft6Buffer8set_rowsEl") == "ringcraft::Buffer::set_rows");
  CHECK(readable("_ZN9ringcraft6on_cpu7kernels6kTilesE") == "ringcraft::kernels::kTiles");
  CHECK(readable("_ZTVN9ringcraft5ErrorE") == "vtable for ringcraft::Error");
}

TEST_CASE("symbols that belong to the lesson pass the gate") {
  CHECK(verdict("").empty());
  CHECK(verdict("s.o: _ZN9ringcraft6Buffer8set_rowsEl U\n").empty());        // core
  CHECK(verdict("s.o: _ZN9ringcraft11BlockEngine8set_zeroEv U\n").empty());  // an engine is given
  CHECK(verdict("s.o: _ZN9ringcraft6theoryEv U\n").size() == 1);             // the rest of its folder is not
  CHECK(verdict("s.o: _ZN9ringcraft6neededEv U\n").empty());         // the library's file calls it, too
  CHECK(verdict("s.o: _ZN9ringcraft6inlineEv W 0 1\n").empty());     // an inline function of a header
  CHECK(verdict("s.o: _ZN9ringcraft6helperEv t 0 1\n").empty());     // local
  CHECK(verdict("s.o: _Z6helperv T 0 1\ns.o: printf U\n").empty());  // not ours
  CHECK(verdict("s.o: _ZN9ringcraft6secretEv U\n", {"ringcraft::secret"}).empty());
}

TEST_CASE("a call that no exercise needs is remarked") {
  CHECK(remark_about_calls(parse_nm("s.o: expf U\ns.o: abort U\ns.o: kill T 0 1\n")).empty());
  CHECK(testing::contains(remark_about_calls(parse_nm("s.o: openat U\n")), "your file opens files"));
  CHECK(testing::contains(remark_about_calls(parse_nm("s.o: kill U\n")), "your file calls kill, which no"));
}

TEST_CASE(
    "state that a file keeps from call to call is found, constants and the standard library's are not") {
  const std::string printed =
      "\n\nSymbols from student.o:\n\n"
      "Name                  Value           Class        Type         Size             Line  Section\n\n"
      "_ZZN9ringcraft4ringEvE7buffers|0000000000000010|   b  |            OBJECT|0000000000000080|     "
      "|.bss\n"
      "_ZGVZN9ringcraft4ringEvE7buffers|0000000000000010|   b  |            OBJECT|0000000000000008|     "
      "|.bss\n"
      "_ZL5calls           |0000000000000000|   d  |            OBJECT|0000000000000004|     |.data\n"
      "_ZZ6kernelvE4tile   |0000000000000000|   u  |               TLS|0000000000000400|     "
      "|.tbss._ZZ6kernelvE4tile\n"
      "_ZStL8__ioinit      |0000000000000000|   b  |            OBJECT|0000000000000001|     |.bss\n"
      "_ZL6kTable          |0000000000000000|   r  |            OBJECT|0000000000000020|     |.rodata\n"
      "_ZL6kNames          |0000000000000000|   d  |            OBJECT|0000000000000020|     "
      "|.data.rel.ro.local\n"
      "DW.ref.__gxx_personality_v0|0000000000000000|   V  |            OBJECT|0000000000000008|     "
      "|.data.rel.local.DW.ref.__gxx_personality_v0\n"
      "printf              |                |   U  |            NOTYPE|                |     |*UND*\n";
  const std::vector<Kept> kept = parse_kept(printed);
  REQUIRE(kept.size() == 3);
  CHECK(kept[0].name == "buffers");
  CHECK(kept[1].name == "calls");
  CHECK(kept[2].name == "tile");
  CHECK_FALSE(kept[1].per_thread);
  CHECK(kept[2].per_thread);
  CHECK(
      testing::contains(complaint_about_kept(kept, {}, false), "your file keeps buffers from call to call"));
  CHECK(testing::contains(complaint_about_kept({kept[2]}, {}, false), "would find the last call's numbers"));
  CHECK(testing::contains(complaint_about_kept({kept[1]}, {}, false), "would share it"));
  const Kept gap{"ringcraft_gap_0", true, kept[2].scope, ""};  // precedes each __shared__ variable
  CHECK(complaint_about_kept({kept[2], gap}, {}, true).empty());
  CHECK(testing::contains(complaint_about_kept({kept[2]}, {}, true), "keeps tile"));
  CHECK(testing::contains(complaint_about_kept({kept[2], gap, kept[1]}, {}, true), "keeps calls"));
  CHECK(complaint_about_kept({}, {}, false).empty());
}

TEST_CASE("a file may not replace functions of the C library") {
  for (const char* kind : {"T", "W", "D", "B"}) {
    const auto sentences = verdict(std::string("s.o: prctl ") + kind + " 0 1\n");
    REQUIRE(sentences.size() == 1);
    CHECK(sentences[0] ==
          "your file defines prctl for the whole program, the C library included; make it static, "
          "or give it C++ linkage");
  }
  CHECK(verdict("s.o: prctl t 0 1\ns.o: DW.ref.__gxx_personality_v0 V 0 8\n").empty());
  CHECK(verdict("s.o: _Z4pickv i 0 1\n").size() == 1);
  for (const char* name : {"_Znwm", "_ZdlPvm", "_ZSt9terminatev", "_ZNSt6threadC1Ev"}) {
    const auto sentences = verdict(std::string("s.o: ") + name + " T 0 1\n");
    REQUIRE(sentences.size() == 1);
    CHECK(testing::contains(sentences[0], "of the standard library for the whole program"));
    CHECK(verdict(std::string("s.o: ") + name + " U\n").empty());
  }
  CHECK(verdict("s.o: _ZNSt6vectorIiSaIiEED1Ev W 0 1\n").empty());
}

TEST_CASE("a checked kernel is instrumented, and calls what a checker sees") {
  const auto sentence_on = [](const std::string& text) { return complaint_about_unseen(parse_nm(text)); };
  const std::string usual =
      "s.o: __tsan_init U\ns.o: __tsan_read4 U\ns.o: expf U\ns.o: fmaxf U\ns.o: _Znwm U\ns.o: strlen U\n"
      "s.o: __cxa_throw U\ns.o: _Unwind_Resume U\n";
  CHECK(sentence_on(usual).empty());
  CHECK(testing::contains(sentence_on("s.o: __tsan_read4 U\n"), "compiled so that no check sees"));
  for (const char* name : {"wmemcpy", "mempcpy", "qsort", "frexpf", "__memcpy_chk", "memcmp", "sincosf"})
    CHECK(testing::contains(sentence_on(usual + "s.o: " + name + " U\n"),
                            std::string("your file calls ") + name));
}

TEST_CASE("other symbols are refused in a sentence") {
  const auto refused = [](const std::string& student, const std::string& fragment) {
    const auto sentences = verdict(student);
    REQUIRE(sentences.size() == 1);
    INFO(sentences[0]);
    CHECK(testing::contains(sentences[0], fragment));
  };
  refused("s.o: main T 0 1\n", "defines main");
  refused("s.o: __tsan_read4 T 0 1\n", "by which a checked launch sees what a kernel touches");
  refused("s.o: _ZN9ringcraft6secretEv U\n", "calls ringcraft::secret, which lesson 104 does not give you");
  refused("s.o: _ZN9ringcraft6helperEv T 0 1\n", "into an anonymous namespace");
  refused("s.o: _ZN9ringcraft6secretEv W 0 1\n", "which the library defines elsewhere");
  refused("s.o: _ZN9ringcraft6Buffer8set_rowsEl T 0 1\n", "which the library defines elsewhere");
}

TEST_CASE("a file without its exercise is refused") {
  const auto sentences = complaints({{}, parse_nm(kLibrary), "ringcraft/attention/merge.cpp", {}, 104});
  REQUIRE(sentences.size() == 2);
  CHECK(testing::contains(sentences[0], "no longer defines ringcraft::merge"));
}

}  // namespace ringcraft::judge
