#!/usr/bin/env bash
# A lesson is its folder: 104 under another number, with a source file of its own, in a copy of the tree where nothing else is
# edited. SOURCE CMAKE declared|built. Declared: the copy is configured, and its tables, tests and pages have the lesson. Built:
# the tool of the copy shows, starts, checks and exports it; that compiles a whole tree: only with RINGCRAFT_LONG=1.
set -u
source=$1 cmake=$2 kind=$3
if [ "$kind" = built ] && [ -z "${RINGCRAFT_LONG-}" ]; then
  echo "skipped: it compiles a whole tree; RINGCRAFT_LONG=1 (./ringcraft test --long) runs it"
  exit 4
fi
unset RINGCRAFT_WORKSPACE
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
tree=$work/tree lesson=lessons/109_merge_again

# shellcheck source=/dev/null
. "$(dirname "$0")/../support/expect.sh"

# in_order FILE WORDS...: lines of FILE hold these words, one after the other.
in_order() {
  local file=$1 line=0 next words
  shift
  for words in "$@"; do
    next=$(grep -nF -e "$words" "$file" | cut -d: -f1 | awk -v after="$line" '$1 > after' | head -n 1)
    [ -n "$next" ] || fail "expected '$words' in its place in $file"
    line=$next
  done
}

# ---- the copy, and the lesson: its folder, its source with a header, its corpus
mkdir "$tree"
(cd "$source" && tar c --exclude=./.git --exclude=./build --exclude=./exercises --exclude=__pycache__ .) | tar x -C "$tree" ||
  fail "the tree cannot be copied"
cd "$tree" || exit 1
written=$(grep -l '"source"' lessons/*/lesson.json | wc -l) # without the one that is added
last=$(grep -l '"source"' lessons/*/lesson.json | tail -n 1 | cut -c9-11)
cp -r lessons/104_merge $lesson
cp -r tests/misconceptions/104_merge tests/misconceptions/109_merge_again
cp tests/misconceptions/tables/104_merge.csv tests/misconceptions/tables/109_merge_again.csv
cat >$lesson/lesson.json <<'END'
{
  "title": "Merge again",
  "line": "An already merged state is merged once more.",
  "source": "src/ringcraft/attention/merge_again.cpp",
  "function": "merge_again",
  "serves": ["MergeAgain", "RingForward"]
}
END
sed -i -e 's/\bMerge\b/MergeAgain/' -e 's/merge\b/merge_again/g' $lesson/exercise.hpp
sed -i 's/call<Merge>/call<MergeAgain>/' $lesson/checks.cpp
sed -i -e 's/Lesson 104: Merge/Lesson 109: Merge again/' -e 's/104_merge/109_merge_again/g' -e 's/\(start\|check\) 104/\1 109/g' $lesson/README.md
sed -e 's/void merge(/void merge_again(/' -e 's/SOLUTION 104/SOLUTION 109/' -e '/SOLUTION/s/\[merge\]/[merge_again]/' -e 's|attention/merge\.hpp|attention/merge_again.hpp|' \
  src/ringcraft/attention/merge.cpp >src/ringcraft/attention/merge_again.cpp
cat >src/ringcraft/attention/merge_again.hpp <<'END'
#pragma once
/// @file
/// What lesson 104 asks for, under another name.
#include "ringcraft/attention/merge.hpp"
namespace ringcraft {
/// As merge.
template <class T>
void merge_again(Partial<T> acc, Partial<const T> block);
}  // namespace ringcraft
END

if [ "$kind" = declared ]; then
  expect 0 "Generating done" "$cmake" -G Ninja -S . -B "$work/build"
  in_order "$work/build/src/judge/checks/lessons.cpp" '{108, R"(The speed' '{109, R"(Merge again)", R"(one device)"' '{201, R"(A naive' \
    '.number = 108,' '.number = 109, .name = "109_merge_again"' '.number = 201,'
  expect 0 "109" grep -F '.source = "src/ringcraft/attention/merge_again.cpp", .function = R"(merge_again)"' \
    "$work/build/src/judge/checks/lessons.cpp"
  for program in all_checks checks_of_109; do
    expect 0 "" grep -F 'checks_of<109>()' "$work/build/src/judge/checks/ringcraft_$program.cpp"
  done
  (cd "$work/build" && ninja -t targets all) >"$work/targets"
  for target in ringcraft_served_109 ringcraft_check_109 demo_109 attention/merge_again.cpp.o; do
    grep -qF "$target" "$work/targets" || fail "nothing builds $target"
  done
  grep -rhoF -e "lessons: 109 reference passes" -e "misconceptions: 109_merge_again" -e "demo 109 prints" "$work/build" \
    --include=CTestTestfile.cmake | sort -u | wc -l | grep -qx 3 || fail "the lesson, its demo and its corpus are tested"
  expect 0 "lessons/README.md: renewed" python3 docs/road.py --write
  expect 0 "$(grep -l '"source"' lessons/*/lesson.json | wc -l) lessons" python3 docs/lint.py --check
  expect 0 "subpage lessons_109_merge_again" python3 docs/doxygen_markdown.py lessons/README.md
  in_order "$work/log" lessons_108_one_core lessons_109_merge_again lessons_201_naive_kernel
  expect 0 "docs/pages/kill_table.md: renewed" python3 docs/kill_table.py --write
  in_order docs/pages/kill_table.md "## Lesson 108" "## Lesson 109: Merge again" "## Lesson 201"
  exit 0
fi

# As little as does: no tests, nothing optimised. RINGCRAFT_EXPORT_FLAGS adds options (a compiler cache, say).
# shellcheck disable=SC2086  # one word per option
expect 0 "Generating done" "$cmake" -G Ninja -S . -B build/native -DRINGCRAFT_TESTS=OFF \
  "-DCMAKE_CXX_FLAGS_RELEASE=${RINGCRAFT_EXPORT_OPTIMISATION--O1 -DNDEBUG}" ${RINGCRAFT_EXPORT_FLAGS-}
expect 0 "" "$cmake" --build build/native --target ringcraft_tool ringcraft_check_109
tool=build/native/bin/ringcraft-tool mine=exercises/109_merge_again/merge_again.cpp
expect 0 "109  here     Merge again" $tool lessons
in_order "$work/log" "  108  " "  109  " "  201  "
expect 0 "merge_again.cpp is yours" $tool start 109
expect 1 "is not written yet" $tool check 109
cp src/ringcraft/attention/merge_again.cpp $mine
expect 0 "0 failed" $tool check 109
sed -i 's/block_weight \* block_l/block_l/' $mine
expect 1 "109.two-halves" $tool check 109
expect 0 "sealed     101-" $tool export "$work/course"
for file in lesson.json README.md checks.cpp hints/3.md; do
  [ -e "$work/course/$lesson/$file" ] || fail "the export has $file"
done
expect 0 "throw NotWritten(109)" cat "$work/course/src/ringcraft/attention/merge_again.cpp"
expect 0 "src/ringcraft/attention/merge_again.cpp" cat "$work/course/src/sealed.txt"
