# A scratch machine for the launcher's tests: a copy of the launcher in a folder with spaces, and a private
# PATH whose apt-get, dpkg-query, sudo, id, cmake and ninja are stand-ins. Each stand-in adds its call to
# $work/calls; files in $work set how they behave (installed, uid, offline, no_wheels, no_build,
# bad_cell, no_sudo, broken, old_cmake).
# shellcheck shell=bash disable=SC2154,SC2016  # source, work: promises.sh; the bodies run later

needed_programs='bash sh env cat rm cp mv mkdir ln touch chmod readlink dirname sed grep sort head tail
  mktemp flock sleep awk find cksum'

# fake NAME < BODY: a stand-in; its call is recorded before the body runs.
fake() {
  {
    printf '#!%s\nwork=%q\n' "$(readlink -f "$(command -v bash)")" "$work" # the real one: no spaces
    echo 'echo "${0##*/} $*" >>"$work/calls"'
    cat
  } >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}

# Files of a package that the launcher looks for by name.
fake_compiler() { fake c++ </dev/null; }

# Makes an environment with a copy of itself, which installs wheels and the checkout, and executes notebooks.
fake_python() {
  fake python3 <<'BODY'
case "$*" in
  *'pip install'*'my checkout') [ ! -e "$work/no_build" ] || { echo "b.cpp:7: error: what is this"; exit 1; } ;;
  */execute.py) [ ! -e "$work/bad_cell" ] || exit 1 ;;
esac
case "$1 $2" in
  '-m venv') mkdir -p "$4/bin" && cp "$0" "$4/bin/python" ;;
  '-m pip') [ ! -e "$work/no_wheels" ] || { echo "ERROR: No matching distribution found"; exit 1; } ;;
esac
BODY
}

fake_cmake() {
  fake cmake <<'BODY'
if [ "$1" = --version ]; then
  [ -e "$work/old_cmake" ] && echo "cmake version 3.18.4" || echo "cmake version 3.25.1"
  exit
fi
for package in libeigen3-dev libfmt-dev libcli11-dev nlohmann-json3-dev; do
  grep -qx "$package" "$work/installed" || { echo "CMake Error: $package not found"; exit 1; }
done
mkdir -p "build/$2"
echo "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" >"build/$2/CMakeCache.txt"
echo rules >"build/$2/build.ninja"
BODY
}

# fake_tool FOLDER: the programs; each shows its arguments, each in brackets, and ends with 7.
fake_tool() {
  local program
  mkdir -p "$1"
  for program in tool attention gpu grader check-104; do
    cat >"$1/ringcraft-$program" <<TOOL
#!/usr/bin/env bash
printf '$program'
printf ' [%s]' "\$@"
echo
exit 7
TOOL
    chmod +x "$1/ringcraft-$program"
  done
}

fake_ninja() {
  fake ninja <<'BODY'
[ ! -e "$work/slow_look" ] || { sleep "$(cat "$work/slow_look")"; echo 'ninja: no work to do.'; exit; }
if [ -e "$work/slow" ]; then
  echo '[1/2] Building a.cpp'
  sleep "$(cat "$work/slow")"
  echo "ninja ended" >>"$work/calls"
fi
if [ -e "$work/broken" ]; then
  printf '%s\n' '[1/2] Building a.cpp' 'FAILED: b.cpp' 'b.cpp:7: error: what is this'
  exit 1
fi
[ ! -e "$work/wants" ] || grep -qxf "$work/wants" "$work/installed" || exit 1
. "$work/recipes"
fake_tool "$2/bin"
BODY
}

# A machine with the programs that every Debian has, user $1 (0: root), and the packages that follow.
machine() {
  local program
  rm -rf "$work"
  mkdir -p "$work/bin" "$work/my checkout/src"
  cp "$source/ringcraft" "$work/my checkout/"
  cp -r "$source/src/launcher" "$work/my checkout/src/"
  echo "$1" >"$work/uid"
  shift
  touch "$work/calls"
  printf '%s\n' "$@" >"$work/installed"
  for program in $needed_programs; do ln -s "$(type -P "$program")" "$work/bin/$program"; done
  fake id <<<'cat "$work/uid"'
  fake dpkg-query <<'BODY'
for package in "${@:4}"; do
  ! grep -qx -e "$package" "$work/installed" || echo "$package install ok installed"
done
BODY
  fake sudo <<'BODY'
[ ! -e "$work/no_sudo" ] || exit 1
[ "$1" != -n ] || shift
[ "$1" = -v ] || by_sudo=1 "$@"
BODY
  fake apt-get <<'BODY'
echo "apt-get frontend $DEBIAN_FRONTEND" >>"$work/calls"
if [ "$(cat "$work/uid")" != 0 ] && [ -z "${by_sudo-}" ]; then echo "E: are you root?"; exit 100; fi
if [ "$3" = update ]; then
  [ ! -e "$work/offline" ] || echo "Err:1 main InRelease: Temporary failure resolving 'deb'"
  exit 0 # as the real one
fi
[ ! -e "$work/offline" ] || { echo "E: Unable to locate package ${*:6}"; exit 100; }
[ ! -e "$work/refuses" ] || { echo "E: You have held broken packages."; exit 100; }
. "$work/recipes"
for package in "${@:6}"; do
  echo "$package" >>"$work/installed"
  case $package in g++) fake_compiler ;; cmake) fake_cmake ;; ninja-build) fake_ninja ;; python3) fake_python ;; esac
done
BODY
  declare -f fake fake_compiler fake_python fake_cmake fake_ninja fake_tool >"$work/recipes"
}

# A machine where the core group is there.
ready_machine() {
  machine 0 g++ cmake ninja-build libeigen3-dev libfmt-dev libcli11-dev nlohmann-json3-dev libboost-context-dev
  fake_compiler
  fake_cmake
  fake_ninja
}

# A machine with the real CMake, Ninja and CTest, every package, and a project whose CMakeLists.txt is the
# input; it has the stages' presets and the targets that they build.
testing_machine() {
  local program
  machine 0 g++ cmake ninja-build libeigen3-dev libfmt-dev libcli11-dev nlohmann-json3-dev \
    libboost-context-dev catch2 librapidcheck-dev python3-numpy libopenmpi-dev openmpi-bin
  for program in cmake ninja ctest nproc setarch true false; do
    ln -sf "$(type -P "$program")" "$work/bin/$program"
  done
  cp "$source/CMakePresets.json" "$work/my checkout/"
  {
    printf '%s\n' 'cmake_minimum_required(VERSION 3.22)' 'project(standin NONE)' 'enable_testing()'
    printf 'foreach(name core problem comm attention ring parallel write_ups io boundary properties random_problems\n'
    printf '    fuzz interleavings)\n  add_custom_target(test_${name})\nendforeach()\n'
    printf 'get_filename_component(stage ${CMAKE_BINARY_DIR} NAME)\n'
    cat
  } >"$work/my checkout/CMakeLists.txt"
}
