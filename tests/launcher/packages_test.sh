#!/usr/bin/env bash
# packages_test.sh SOURCE WORK CASE: what ./ringcraft finds missing, when it asks, and what it then installs.
# shellcheck source=tests/launcher/promises.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/promises.sh"

# The core group less what a person installed by hand on the machine that runs this test.
core_group() {
  local list='g++ cmake ninja-build'
  [ -e /usr/local/include/eigen3/Eigen/Core ] || list+=' libeigen3-dev'
  [ -e /usr/local/include/fmt/core.h ] || list+=' libfmt-dev'
  [ -e /usr/local/include/CLI/CLI.hpp ] || list+=' libcli11-dev'
  [ -e /usr/local/include/nlohmann/json.hpp ] || list+=' nlohmann-json3-dev'
  [ -e /usr/local/include/boost/context/fiber.hpp ] || list+=' libboost-context-dev'
  echo "$list"
}
apt_install='apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends'

case_root_with_yes_installs_and_runs() {
  machine 0
  launch run --yes --ranks 3
  ends_with 7 # the tool's own code
  has "$out" 'attention [run] [--ranks] [3]'
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
  never_called sudo # it would work, but was not allowed
}

case_sudo_without_a_password_is_used() {
  machine 1000
  launch --yes run
  ends_with 7
  has "$out" 'attention [run]'
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
  has "$out" 'attention [run]'
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
  cd "$work/my checkout" || exit 1
  out=$(CMAKE_PREFIX_PATH="/nowhere:$work/by hand" PATH=$work/bin ./ringcraft run 2>&1 </dev/null)
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
  [[ $out =~ core\ +there.*mpi\ +installed.*docs\ +installed.*grade\ +installed ]] || fail "expected one line per group"
  called "$apt_install libopenmpi-dev openmpi-bin doxygen libjs-mathjax python3 shellcheck libarchive-dev bubblewrap python3-venv python3-dev"
}

case_setup_all_makes_an_environment_once() {
  machine 0
  launch setup --yes
  never_called python
  launch setup --all --yes
  ends_with 0
  [[ $out =~ wheels\ +installed\ +nvidia-cutlass== ]] || fail "expected a line on the wheels"
  called "python3 -m venv --clear $work/my checkout/build/venv"
  grep -q '^python -m pip install .*--no-deps .*nvidia-cutlass==' "$work/calls" || fail "expected wheels to be installed"
  forget_calls
  launch setup --all
  ends_with 0
  [[ $out =~ wheels\ +there ]] || fail "expected the wheels to be there"
  never_called python
}

case_without_wheels_setup_says_so_and_is_done() {
  machine 0
  touch "$work/no_wheels"
  launch setup --all --yes
  ends_with 0
  [[ $out =~ wheels\ +missing ]] || fail "expected the wheels to be missing"
  has "$err" 'No matching distribution found'
  has "$err" 'are skipped'
  rm "$work/no_wheels"
  launch setup --all
  [[ $out =~ wheels\ +installed ]] || fail "expected another attempt"
}

run_case
