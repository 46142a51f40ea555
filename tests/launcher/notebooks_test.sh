#!/usr/bin/env bash
# notebooks_test.sh SOURCE WORK CASE: how ./ringcraft notebooks makes its environment, and what it starts there.
# shellcheck source=tests/launcher/promises.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/promises.sh"

# A machine where only build/python-venv is missing, with a tree that has a package.
notebooks_machine() {
  local folder
  ready_machine
  printf '%s\n' python3-venv python3-dev >>"$work/installed"
  fake_python
  for folder in src/ringcraft src/verify src/cmake notebooks/binding; do mkdir -p "$work/my checkout/$folder"; done
  touch "$work/my checkout/CMakeLists.txt" "$work/my checkout/src/CMakeLists.txt" "$work/my checkout/pyproject.toml"
}

installs() { grep -qE "^python -m pip install .*$1" "$work/calls" || fail "expected an installation of $1"; }
installs_no() { ! grep -qE "^python -m pip install .*$1" "$work/calls" || fail "expected no installation of $1"; }

case_notebooks_open_in_jupyterlab() {
  local lab="python -m jupyterlab --ServerApp.root_dir=$work/my checkout --LabApp.default_url=/lab/tree/notebooks"
  notebooks_machine
  launch notebooks --no-browser --yes
  ends_with 0
  called "python3 -m venv --clear $work/my checkout/build/python-venv"
  installs 'matplotlib=='
  installs 'jupyterlab=='
  installs 'my checkout$'
  called "$lab --no-browser --allow-root"
  forget_calls
  echo 1000 >"$work/uid"
  launch notebooks # all is there: nothing to ask
  ends_with 0
  installs_no ''
  called "$lab"
}

case_notebooks_are_executed_and_tell_by_their_code() {
  notebooks_machine
  launch notebooks --run --yes
  ends_with 0
  installs_no 'jupyterlab'
  called "python $work/my checkout/notebooks/execute.py"
  touch "$work/bad_cell"
  launch notebooks --run
  ends_with 1
}

case_a_changed_source_renews_the_package_alone() {
  notebooks_machine
  launch notebooks --run --yes
  forget_calls
  echo '// other' >"$work/my checkout/src/ringcraft/other.hpp"
  launch notebooks --run --yes
  ends_with 0
  installs 'my checkout$'
  installs_no '=='
  never_called 'python3'
}

case_notebooks_ask_before_they_install() {
  notebooks_machine
  launch notebooks
  ends_with 3
  has "$err" 'build/python-venv lacks numpy=='
  never_called python3
  command -v script >/dev/null || cannot_try "script is not here"
  answer n notebooks
  ends_with 3
  has "$out" 'from PyPI into build/python-venv now?'
  never_called python3
  answer y notebooks
  ends_with 0
  installs 'jupyterlab=='
}

case_without_pypi_the_missing_packages_are_named() {
  notebooks_machine
  touch "$work/no_wheels"
  launch notebooks --run --yes
  ends_with 3
  has "$err" 'build/python-venv lacks numpy=='
  has "$err" 'could not be installed (is there a network?): ERROR: No matching distribution found'
  rm "$work/no_wheels"
  launch notebooks --run --yes
  ends_with 0
}

case_a_package_that_does_not_build_is_no_lack_of_network() {
  notebooks_machine
  touch "$work/no_build"
  launch notebooks --yes
  ends_with 3
  has "$err" 'error: what is this'
  has "$err" 'the Python package does not build'
  lacks "$err" 'network'
}

run_case
