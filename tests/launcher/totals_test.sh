#!/usr/bin/env bash
# totals_test.sh SOURCE WORK CASE: what ./ringcraft test and .ci/run count, with the real CMake, Ninja and
# CTest over small projects whose tests pass, fail, skip and cannot start.
# shellcheck source=tests/launcher/promises.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/promises.sh"

case_good_tests_are_counted_over_all_stages() {
  testing_machine <<'PROJECT'
add_test(NAME "a: one & <two> \"three\"" COMMAND true)
add_test(NAME slow COMMAND true)
add_test(NAME comm COMMAND true)
add_test(NAME tool COMMAND true)
add_test(NAME io COMMAND true)
set_tests_properties(slow PROPERTIES LABELS "a;slow")
foreach(name comm tool io)
  set_tests_properties(${name} PROPERTIES LABELS ${name})
endforeach()
PROJECT
  launch test
  ends_with 0
  last_line '8 passed, 0 failed' # native 5, dev 2 by name, tsan 1
  launch test --long
  ends_with 0
  last_line '10 passed, 0 failed' # dev 4: all but the slow one
  [ -s "$work/my checkout/build/native/tests.xml" ] || fail "expected the JUnit file"
}

case_each_outcome_is_counted_as_what_it_is() {
  testing_machine <<'PROJECT'
add_test(NAME good COMMAND true)
add_test(NAME bad COMMAND sh -c "echo why it failed & false")
add_test(NAME skip COMMAND sh -c "echo first line; echo 'skipped: no <such> device'; exit 4")
set_tests_properties(skip PROPERTIES SKIP_RETURN_CODE 4)
add_test(NAME off COMMAND true)
set_tests_properties(off PROPERTIES DISABLED TRUE)
add_test(NAME absent COMMAND no_such_program)
add_test(NAME late COMMAND sleep 20)
set_tests_properties(late PROPERTIES TIMEOUT 1)
set_tests_properties(bad skip off absent late PROPERTIES LABELS slow)
set_tests_properties(good PROPERTIES LABELS ring)
PROJECT
  launch test
  ends_with 1
  has "$out" 'why it failed'
  has "$out" 'native: skip: skipped: no <such> device'
  has "$out" 'native: off: Disabled'
  last_line '3 passed, 3 failed, 2 skipped'
}

case_a_stage_without_tests_is_a_failure() {
  testing_machine <<'PROJECT'
add_test(NAME slow COMMAND true)
set_tests_properties(slow PROPERTIES LABELS slow)
PROJECT
  launch test
  ends_with 1
  last_line '1 passed, 2 failed' # neither dev nor tsan has one
  has "$out" 'ran no test'
  launch test no_such_name
  ends_with 1
  last_line '0 passed, 1 failed'
}

case_a_stage_that_does_not_build_is_a_failure() {
  testing_machine <<'PROJECT'
add_test(NAME good COMMAND true)
set_tests_properties(good PROPERTIES LABELS ring)
if(stage STREQUAL dev)
  add_custom_target(broken COMMAND sh -c "echo what went wrong && false")
  add_dependencies(test_core broken)
endif()
PROJECT
  launch test
  ends_with 1
  has "$out" 'what went wrong'
  has "$out" 'does not build'
  last_line '2 passed, 1 failed'
  echo 'message(FATAL_ERROR "no such thing")' >>"$work/my checkout/CMakeLists.txt"
  launch test
  ends_with 1
  last_line '0 passed, 1 failed'
}

case_a_result_file_that_breaks_off_is_a_failure() {
  machine 0
  printf '<testsuite\n\ttests="2">\n\t<testcase name="a" status="run">\n\t</testcase>\n' >"$work/tests.xml"
  # shellcheck source=src/launcher/test.sh
  . "$source/src/launcher/test.sh"
  out=$(stage_counts "$work/tests.xml")
  status=$?
  [ "$out" = '1 1 0' ] || fail "expected one passed and one failed"
}

case_a_filter_reaches_ctest() {
  testing_machine <<'PROJECT'
add_test(NAME one COMMAND true)
add_test(NAME two COMMAND true)
add_test(NAME three COMMAND false)
set_tests_properties(two PROPERTIES LABELS ring)
PROJECT
  launch test -L ring
  ends_with 0
  last_line '1 passed, 0 failed'
  launch test one
  ends_with 0
  last_line '1 passed, 0 failed'
  launch test 't[wh]'
  ends_with 1
  last_line '1 passed, 1 failed'
}

case_long_is_exported() {
  testing_machine <<'PROJECT'
add_test(NAME long COMMAND sh -c "test \"$RINGCRAFT_LONG\" = 1")
PROJECT
  launch test --long long
  ends_with 0
  launch test long
  ends_with 1
}

case_the_tests_need_catch_and_like_open_mpi() {
  testing_machine <<<'add_test(NAME good COMMAND true)'
  sed -i /openmpi/d "$work/installed"
  launch test good
  ends_with 0
  has "$err" 'without Open MPI'
  never_called apt-get
  [ ! -e /usr/local/include/catch2 ] || cannot_try "Catch2 stands in /usr/local"
  [ ! -e /usr/local/include/rapidcheck.h ] || cannot_try "RapidCheck stands in /usr/local"
  sed -i '/catch2/d; /rapidcheck/d' "$work/installed"
  launch test good
  ends_with 3
  has "$err" 'catch2 librapidcheck-dev'
  launch test good --yes
  ends_with 0
  called 'apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends catch2 librapidcheck-dev'
  called 'apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends libopenmpi-dev openmpi-bin'
}

# A checkout whose launcher answers as .ci/run expects, except that the command in $work/bad ends with 1.
ci_machine() {
  machine 0
  mkdir -p "$work/my checkout/.ci" "$work/my checkout/build"
  cp "$source/.ci/run" "$work/my checkout/.ci/"
  for program in timeout tee true; do ln -s "$(type -P "$program")" "$work/bin/$program"; done
  fake nvcc <<<'echo "Cuda compilation tools, release 11.8, V11.8.89"' # too old: counts as absent
  fake cmake <<'BODY'
! grep -qx docs "$work/bad"
BODY
  echo nothing >"$work/bad"
  fake launcher <<'BODY'
refuse() { echo "ringcraft: refused" >&2; exit "$1"; }
[ -z "${OMPI_COMM_WORLD_RANK-}" ] || refuse 3
case "$*" in *frobnicate*|*'--ranks 0'*|attend*) grep -qx refusals "$work/bad" || refuse 2 ;; esac
[ "$1" != test ] || tail -n 1 "$work/totals"
! grep -qx "$1" "$work/bad"
BODY
  mv "$work/bin/launcher" "$work/my checkout/ringcraft"
  echo '40 passed, 0 failed, 2 skipped' >"$work/totals"
}

run_ci() {
  PATH=$work/bin "$work/my checkout/.ci/run" >"$work/out" 2>"$work/err" </dev/null
  status=$?
  out=$(cat "$work/out") err=$(cat "$work/err")
}

case_ci_adds_its_stages_to_the_tests() {
  ci_machine
  run_ci
  ends_with 0
  last_line '44 passed, 0 failed, 3 skipped' # install, run, refusals and docs; kernels skipped
  called 'ringcraft setup --all --yes'
  called 'ringcraft test --yes'
}

case_ci_fails_with_any_of_its_stages() {
  local stage
  ci_machine
  for stage in setup run refusals docs; do
    echo "$stage" >"$work/bad"
    run_ci
    ends_with 1
    last_line '43 passed, 1 failed, 3 skipped'
  done
  echo test >"$work/bad"
  run_ci
  ends_with 1
  last_line '44 passed, 1 failed, 3 skipped'
  echo '41 passed, 1 failed' >"$work/totals"
  run_ci
  ends_with 1
  last_line '45 passed, 1 failed, 1 skipped'
  echo 'ended early' >"$work/totals"
  run_ci
  ends_with 1
  last_line '4 passed, 1 failed, 1 skipped'
  echo nothing >"$work/bad" # exit code 0, but no total
  run_ci
  ends_with 1
  last_line '4 passed, 1 failed, 1 skipped'
}

run_case
