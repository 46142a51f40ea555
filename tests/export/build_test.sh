#!/usr/bin/env bash
# An exported tree is configured and built on its own, and judges: TOOL SOURCE CMAKE compressed|objects.
# Minutes of compiling: only with RINGCRAFT_LONG=1, else it ends with 4 (skipped).
set -u
tool=$1 source=$2 cmake=$3 kind=$4
if [ -z "${RINGCRAFT_LONG-}" ]; then
  echo "skipped: it compiles a whole tree; RINGCRAFT_LONG=1 (./ringcraft test --long) runs it"
  exit 4
fi
unset RINGCRAFT_WORKSPACE
work=$(mktemp -d) || exit 1 # outside of the tree, where alone a tree is exported
trap 'rm -rf "$work"' EXIT
course=$work/course
merge=$course/exercises/104_merge/merge.cpp

# shellcheck source=/dev/null
. "$(dirname "$0")/../support/expect.sh"

options=()
[ "$kind" = compressed ] || options=(--objects)
expect 0 "sealed" "$tool" export "$course" --solved 101-103 ${options[@]+"${options[@]}"}

# As little as does: no tests, nothing optimised. RINGCRAFT_EXPORT_FLAGS adds options (a compiler cache, say).
# shellcheck disable=SC2086  # one word per option
expect 0 "an exported tree" "$cmake" -G Ninja -S "$course" -B "$course/build/native" -DRINGCRAFT_TESTS=OFF \
  "-DCMAKE_CXX_FLAGS_RELEASE=${RINGCRAFT_EXPORT_OPTIMISATION--O1 -DNDEBUG}" ${RINGCRAFT_EXPORT_FLAGS-}
begin=$SECONDS
build() { expect 0 "" "$cmake" --build "$course/build/native" --target "$@"; }
build ringcraft_tool ringcraft_check_104 ringcraft_judging_stages
echo "built in $((SECONDS - begin)) s"
mine=$course/build/native/bin/ringcraft-tool

# The ladder stands on the sealed bodies; a skeleton fails, the solution passes, a wrong one does not.
expect 0 "stages right" "$mine" run --tokens 100 --ranks 3
expect 0 "merge.cpp is yours" "$mine" start 104
cmp -s "$course/src/ringcraft/attention/merge.cpp" "$merge" || fail "start writes what stands in the tree"
expect 1 "is not written yet" "$mine" check 104
expect 2 "an exercise that you have written in" "$mine" run --mine --tokens 100 --ranks 3
cp "$source/src/ringcraft/attention/merge.cpp" "$merge"
expect 0 "0 failed" "$mine" check 104
expect 0 "stages right" "$mine" run --mine --tokens 100 --ranks 3
sed 's/block_weight \* block_l/block_l/' "$source/src/ringcraft/attention/merge.cpp" >"$merge"
expect 1 "failed" "$mine" check 104
expect 0 "104  done" "$mine" lessons
expect 3 "exported itself" "$mine" export "$work/again"
[ ! -e "$work/again" ] || fail "an exported tree exports nothing"

# A kernel is judged as well, where kernels run on the CPU.
if ! "$mine" lessons | grep -q '^  201  absent'; then
  kernel=$course/exercises/201_naive_kernel/01_naive.cu
  build ringcraft_check_201
  expect 0 "01_naive.cu is yours" "$mine" start 201
  expect 1 "is not written yet" "$mine" check 201
  cp "$source/kernels/forward/01_naive.cu" "$kernel"
  expect 0 "0 failed" "$mine" check 201
fi
