#!/usr/bin/env bash
# launcher_test.sh SOURCE WORK CASE: how ./ringcraft builds its tool and hands over to it.
# shellcheck disable=SC1003,SC2016  # the odd arguments are meant as they stand
# shellcheck source=tests/launcher/promises.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/promises.sh"

case_an_old_cmake_is_named() {
  ready_machine
  touch "$work/old_cmake"
  launch run
  ends_with 3
  has "$err" '3.18.4'
}

case_started_by_mpirun_it_only_executes() {
  local variable
  for variable in OMPI_COMM_WORLD_RANK PMI_RANK PMIX_RANK SLURM_PROCID; do
    machine 0
    [ "$variable" != SLURM_PROCID ] || export SLURM_STEP_ID=0
    export "$variable=0"
    launch run --yes
    ends_with 3
    has "$err" 'mpirun'
    launch test --yes
    ends_with 3
    has "$err" 'mpirun'
    launch notebooks --yes
    ends_with 3
    has "$err" 'call ./ringcraft notebooks on its own'
    export "$variable=1" # the other ranks are silent: one sentence is enough
    launch run --yes
    ends_with 3
    [ -z "$err" ] || fail "rank 1 speaks"
    fake_tool "$work/my checkout/build/native/bin"
    launch attend --backend mpi
    ends_with 7
    has "$out" 'attention [attend] [--backend] [mpi]'
    [ ! -s "$work/calls" ] || fail "expected no call under $variable"
    unset "$variable"
  done
}

case_started_by_torchrun_it_only_executes() {
  machine 0
  export RANK=0 WORLD_SIZE=2 MASTER_ADDR=node1
  launch run --yes
  ends_with 3
  has "$err" 'torchrun'
  export RANK=1
  launch run --yes
  ends_with 3
  [ -z "$err" ] || fail "rank 1 speaks"
  unset MASTER_ADDR # a rank of something else
  ready_machine
  launch run
  ends_with 7
}

case_a_slurm_batch_script_is_not_a_rank() {
  ready_machine
  export SLURM_PROCID=0 SLURM_STEP_ID=4294967291
  launch run
  ends_with 7
}

case_arguments_reach_the_tool_unchanged() {
  ready_machine
  launch attend '' 'a b' "it's" '"quoted"' '*' $'two\nlines' '--x=$HOME' '\' --yes -- --yes --help
  ends_with 7
  has "$out" $'attention [attend] [] [a b] [it\'s] ["quoted"] [*] [two\nlines] [--x=$HOME] [\\]'
  has "$out" '[\] [--] [--yes] [--help]'
  launch
  has "$out" 'tool []'
}

case_each_command_gets_its_program() {
  ready_machine
  local command
  for command in run attend verify bench frobnicate; do
    launch "$command"
    has "$out" "attention [$command]"
  done
  for command in '' check start lessons watch next hint diff export; do
    launch $command # an empty one is no argument
    has "$out" "tool [$command]"
  done
  for command in grade gradescope doctor; do
    launch $command
    has "$out" "grader [$command]"
  done
  launch grade '../handed in' --out check --lessons run
  has "$out" 'grader [grade] [../handed in] [--out] [check] [--lessons] [run]'
  launch run --ranks 3 --mine
  has "$out" 'tool [run] [--ranks] [3] [--mine]'
  launch bench --tune kernels
  has "$out" 'gpu [bench] [--tune] [kernels]'
  local backend
  for backend in cuda nccl; do
    launch attend --input f --backend $backend
    has "$out" "gpu [attend] [--input] [f] [--backend] [$backend]"
    launch attend --backend=$backend
    has "$out" "gpu [attend] [--backend=$backend]"
  done
  launch attend --backend cuda-host --output cuda
  has "$out" 'attention [attend] [--backend] [cuda-host] [--output] [cuda]'
  launch check --help # both can; what is built answers
  has "$out" 'tool [check] [--help]'
  rm "$work/my checkout/build/native/bin/ringcraft-tool"
  launch check --help
  has "$out" 'attention [check] [--help]'
  launch grade --help
  has "$out" 'grader [grade] [--help]'
  rm "$work/my checkout/build/native/bin/ringcraft-grader"
  launch grade --help
  has "$out" 'attention [grade] [--help]'
}

# The tool asks for the checks of a lesson; the launcher keeps those current that were asked for before.
case_a_lesson_is_built_when_it_is_checked() {
  builds() { grep -qE "^ninja .* $1\$" "$work/calls" || fail "expected a build of $1"; }
  ready_machine
  mkdir -p "$work/my checkout/lessons/104_merge"
  launch --lesson 104 check 104 --json -
  has "$out" 'check-104 [check] [104] [--json] [-]'
  builds 'ringcraft_tool ringcraft_check_104'
  forget_calls
  launch check 105
  builds 'ringcraft_tool ringcraft_check_104'
  forget_calls
  launch run
  ! grep -q ringcraft_check_104 "$work/calls" || fail 'run needs no checks'
  launch run --mine
  builds 'ringcraft_tool ringcraft_judging_stages'
  launch check 104 --debug
  builds 'ringcraft_tool ringcraft_check_104 ringcraft_debugging'
}

case_a_package_that_came_later_is_found() {
  ready_machine
  launch run
  echo "$work/later.hpp" >"$work/my checkout/build/native/absent.txt"
  forget_calls
  launch run
  never_called cmake
  touch "$work/later.hpp"
  launch run
  called 'cmake --preset native'
}

case_it_works_from_anywhere() {
  ready_machine
  mkdir -p "$work/else where/my checkout"
  ln -s "../my checkout/ringcraft" "$work/else where/link"
  ln -s "link" "$work/else where/second link"
  cd "$work/else where" || exit 1
  out=$(env -i CDPATH="$work" LC_ALL=nonsense PATH="$work/bin" './second link' run 2>"$work/err" </dev/null)
  status=$?
  ends_with 7
  has "$out" 'attention [run]'
}

case_when_nothing_changed_only_ninja_is_asked() {
  ready_machine
  launch run
  forget_calls
  launch run
  ends_with 7
  [ "$(cut -d ' ' -f 1 "$work/calls")" = ninja ] || fail "expected one call of ninja and nothing else"
  [ -z "$err" ] || fail "expected silence"
}

case_where_it_cannot_write_it_says_so() {
  ready_machine
  touch "$work/my checkout/build"
  launch run
  ends_with 3
  has "$err" "cannot write to $work/my checkout/build,"
  never_called cmake
}

case_a_compile_error_is_shown_in_full() {
  ready_machine
  launch run
  touch "$work/broken"
  launch run
  ends_with 3
  has "$err" 'b.cpp:7: error: what is this'
  lacks "$err" '[1/2]'
  lacks "$out" 'tool'
}

case_a_moved_or_half_configured_tree_starts_afresh() {
  ready_machine
  launch run
  echo "CMAKE_HOME_DIRECTORY:INTERNAL=/elsewhere" >"$work/my checkout/build/native/CMakeCache.txt"
  forget_calls
  launch run
  ends_with 7
  called 'cmake --preset native'
  rm "$work/my checkout/build/native/build.ninja"
  touch "$work/my checkout/build/native/CMakeFiles"
  forget_calls
  launch run
  ends_with 7
  called 'cmake --preset native'
  [ ! -e "$work/my checkout/build/native/CMakeFiles" ] || fail "expected a fresh configuration"
}

case_two_launchers_build_one_after_the_other() {
  ready_machine
  launch run
  echo 0.2 >"$work/slow"
  forget_calls
  PATH=$work/bin "$work/my checkout/ringcraft" run >/dev/null 2>&1 </dev/null &
  launch run
  wait
  [ "$(cut -c 1-9 "$work/calls" | tr '\n' ,)" = 'ninja -C ,ninja end,ninja -C ,ninja end,' ] ||
    fail "builds overlap"
}

case_launchers_that_build_nothing_are_silent_about_each_other() {
  ready_machine
  launch run
  echo 1.5 >"$work/slow_look"
  PATH=$work/bin "$work/my checkout/ringcraft" run >/dev/null 2>"$work/first" </dev/null &
  launch run
  wait
  ends_with 7
  if [ -n "$err" ] || [ -s "$work/first" ]; then fail "expected silence"; fi
}

case_a_launcher_that_waits_for_a_build_says_so() {
  ready_machine
  launch run
  echo 2 >"$work/slow"
  PATH=$work/bin "$work/my checkout/ringcraft" run >/dev/null 2>&1 </dev/null &
  sleep 0.5
  launch run
  wait
  ends_with 7
  has "$err" 'another ringcraft is building; waiting for it'
}

case_help_before_the_first_build_builds_nothing() {
  machine 0
  for words in --help -h 'run --help' 'setup --help' 'test --help' 'notebooks --help'; do
    # shellcheck disable=SC2086  # one word per argument
    launch $words
    ends_with 0
    has "$out" xample
    [ ! -s "$work/calls" ] || fail "expected no call for $words"
  done
}

case_wrong_calls_of_the_launchers_own_commands_are_refused() {
  machine 0
  for words in 'setup --frobnicate' 'setup more' 'test --frobnicate' 'test -L' 'test one two' 'notebooks --frobnicate' \
    'notebooks --run --no-browser'; do
    # shellcheck disable=SC2086  # one word per argument
    launch $words --yes
    ends_with 2
    [ -n "$err" ] || fail "expected a sentence for $words"
    [ ! -s "$work/calls" ] || fail "expected no call for $words"
  done
}

run_case
