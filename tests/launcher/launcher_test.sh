#!/usr/bin/env bash
# launcher_test.sh SOURCE WORK CASE: how ./ringcraft gets its packages, builds its tool and hands over to it.
# shellcheck disable=SC1003,SC2016  # the odd arguments are meant as they stand
# shellcheck source=tests/launcher/promises.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/promises.sh"

# The core group less what a person installed by hand on the machine that runs this test.
core_group() {
  local list='g++ cmake ninja-build'
  [ -e /usr/local/include/eigen3/Eigen/Core ] || list+=' libeigen3-dev'
  [ -e /usr/local/include/fmt/core.h ] || list+=' libfmt-dev'
  [ -e /usr/local/include/CLI/CLI.hpp ] || list+=' libcli11-dev'
  [ -e /usr/local/include/nlohmann/json.hpp ] || list+=' nlohmann-json3-dev'
  echo "$list"
}
apt_install='apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends'

case_root_with_yes_installs_and_runs() {
  machine 0
  launch run --yes --ranks 3
  ends_with 7 # the tool's own code
  has "$out" 'tool [run] [--ranks] [3]'
  called 'apt-get -o DPkg::Lock::Timeout=120 update'
  called "$apt_install $(core_group)"
  called 'apt-get frontend noninteractive'
  never_called sudo
}

case_nobody_to_ask_installs_nothing() {
  machine 0
  launch run
  ends_with 3
  has "$err" "missing: $(core_group)"
  has "$err" '    apt-get update && apt-get install --no-install-recommends g++'
  never_called apt-get
  machine 1000
  launch run
  ends_with 3
  has "$err" 'sudo apt-get install --no-install-recommends g++'
  never_called sudo # it would work, but nobody allowed it
}

case_sudo_without_a_password_is_used() {
  machine 1000
  launch --yes run
  ends_with 7
  has "$out" 'tool [run]'
  called 'sudo -n true'
  called "$apt_install $(core_group)"
}

case_without_root_and_sudo_it_says_what_to_type() {
  machine 1000
  touch "$work/no_sudo"
  launch run --yes
  ends_with 3
  has "$err" "sudo apt-get install --no-install-recommends $(core_group)"
  never_called apt-get
  rm "$work/bin/sudo"
  launch run --yes
  ends_with 3
}

case_on_a_terminal_it_asks() {
  command -v script >/dev/null || cannot_try "script is not here"
  machine 0
  answer n run
  ends_with 3
  has "$out" "$(core_group)"
  never_called apt-get
  answer y run
  ends_with 7
  has "$out" 'tool [run]'
  called "$apt_install $(core_group)"
}

case_only_what_is_missing_is_installed() {
  ready_machine
  sed -i /libfmt-dev/d "$work/installed"
  [ ! -e /usr/local/include/fmt/core.h ] || cannot_try "fmt stands in /usr/local"
  launch run --yes
  ends_with 7
  called "$apt_install libfmt-dev"
}

case_headers_by_hand_are_found() {
  ready_machine
  sed -i /libfmt-dev/d "$work/installed"
  mkdir -p "$work/by hand/include/fmt"
  touch "$work/by hand/include/fmt/core.h"
  out=$(CMAKE_PREFIX_PATH="/nowhere:$work/by hand" PATH=$work/bin "$work/my checkout/ringcraft" run 2>&1 </dev/null)
  status=$?
  ends_with 3 # the stand-in of CMake does not find it, and says so
  has "$out" 'CMake Error: libfmt-dev not found'
  never_called apt-get
}

case_without_a_network_it_says_so() {
  machine 0
  touch "$work/offline"
  launch run --yes
  ends_with 3
  has "$err" 'cannot be reached'
  has "$err" "apt-get install --no-install-recommends $(core_group)"
  rm "$work/offline"
  touch "$work/refuses"
  launch run --yes
  ends_with 3
  has "$err" 'held broken packages'
  lacks "$err" 'network'
}

case_elsewhere_than_debian_it_lists_what_is_needed() {
  machine 1000
  rm "$work/bin/apt-get" "$work/bin/dpkg-query"
  launch run --yes
  ends_with 3
  has "$err" 'g++ cmake ninja-build'
  never_called sudo
}

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
    export "$variable=1" # the other ranks are silent: one sentence is enough
    launch run --yes
    ends_with 3
    [ -z "$err" ] || fail "rank 1 speaks"
    fake_tool "$work/my checkout/build/native/bin"
    launch attend --backend mpi
    ends_with 7
    has "$out" 'tool [attend] [--backend] [mpi]'
    [ ! -s "$work/calls" ] || fail "expected no call under $variable"
    unset "$variable"
  done
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
  has "$out" $'tool [attend] [] [a b] [it\'s] ["quoted"] [*] [two\nlines] [--x=$HOME] [\\] [--] [--yes] [--help]'
  launch
  has "$out" 'tool []'
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
  has "$out" 'tool [run]'
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

case_a_newly_needed_package_is_installed() {
  ready_machine
  launch run
  sed -i /libfmt-dev/d "$work/installed"
  [ ! -e /usr/local/include/fmt/core.h ] || cannot_try "fmt stands in /usr/local"
  echo libfmt-dev >"$work/wants"
  launch run --yes
  ends_with 7
  called "$apt_install libfmt-dev"
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
  touch "$work/slow"
  forget_calls
  PATH=$work/bin "$work/my checkout/ringcraft" run >/dev/null 2>&1 </dev/null &
  launch run
  wait
  [ "$(cut -c 1-9 "$work/calls" | tr '\n' ,)" = 'ninja -C ,ninja end,ninja -C ,ninja end,' ] || fail "builds overlap"
}

case_help_before_the_first_build_builds_nothing() {
  machine 0
  for words in --help -h 'run --help' 'setup --help' 'test --help'; do
    # shellcheck disable=SC2086  # one word per argument
    launch $words
    ends_with 0
    has "$out" xample
    [ ! -s "$work/calls" ] || fail "expected no call for $words"
  done
}

case_wrong_calls_of_setup_and_test_are_refused() {
  machine 0
  for words in 'setup --frobnicate' 'setup more' 'test --frobnicate' 'test -L' 'test one two'; do
    # shellcheck disable=SC2086  # one word per argument
    launch $words --yes
    ends_with 2
    [ -n "$err" ] || fail "expected a sentence for $words"
    [ ! -s "$work/calls" ] || fail "expected no call for $words"
  done
}

case_setup_is_idempotent() {
  machine 0
  launch setup --yes
  ends_with 0
  [[ $out =~ core\ +installed.*tests\ +installed ]] || fail "expected one line per group"
  lacks "$out" mpi
  forget_calls
  launch setup
  ends_with 0
  [[ $out =~ core\ +there.*tests\ +there ]] || fail "expected one line per group"
  never_called apt-get
  launch setup --all --yes
  ends_with 0
  [[ $out =~ core\ +there.*mpi\ +installed.*docs\ +installed ]] || fail "expected one line per group"
  called "$apt_install libopenmpi-dev openmpi-bin doxygen graphviz libjs-mathjax python3 shellcheck"
}

run_case
