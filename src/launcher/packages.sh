# Part of ./ringcraft: which packages are needed, which are there, and installing the others on Debian and
# Ubuntu. Nothing is installed, and sudo is not touched, before a person said yes or the call said --yes.
# shellcheck shell=bash disable=SC2154  # root, yes and die come from ./ringcraft

# Groups: core for the tool, tests for the unit tests; the rest is optional, with a line where it is missing.
packages_of() {
  case $1 in
    core) echo g++ cmake ninja-build libeigen3-dev libfmt-dev libcli11-dev nlohmann-json3-dev libboost-context-dev ;;
    tests) echo catch2 librapidcheck-dev python3-numpy ;;
    mpi) echo libopenmpi-dev openmpi-bin ;;
    docs) echo doxygen libjs-mathjax python3 ;;
    lint) echo shellcheck ;;
    grade) echo libarchive-dev bubblewrap ;; # archives of a class, and namespaces around what is judged
    venv) echo python3-venv python3-dev ;; # for wheels.sh, and to build the Python package
  esac
}

# Evidence that a package's content is installed, by whatever means: a program's name, a header's after "include:", or a
# module's of Python after "module:".
sign_of() {
  case $1 in
    g++) echo "${CXX:-g++} c++" ;;
    ninja-build) echo ninja ;;
    libeigen3-dev) echo include:eigen3/Eigen/Core ;;
    libfmt-dev) echo include:fmt/core.h ;;
    libcli11-dev) echo include:CLI/CLI.hpp ;;
    nlohmann-json3-dev) echo include:nlohmann/json.hpp ;;
    catch2) echo include:catch2/catch.hpp include:catch2/catch_all.hpp ;;
    librapidcheck-dev) echo include:rapidcheck.h ;;
    libboost-context-dev) echo include:boost/context/fiber.hpp ;;
    libopenmpi-dev) echo mpicxx ;;
    openmpi-bin) echo mpirun ;;
    libarchive-dev) echo include:archive.h ;;
    bubblewrap) echo bwrap ;;
    python3-venv) echo module:ensurepip ;;
    python3-dev) echo python3-config ;;
    python3-numpy) echo module:numpy ;;
    libjs-mathjax) echo include:../share/javascript/mathjax/MathJax.js ;;
    *) echo "$1" ;;
  esac
}

# The folders above include/: where a person installs by hand, and, without a package database to ask, the
# system's.
prefixes() {
  printf '%s\n' "${CMAKE_PREFIX_PATH-}" | sed 'y/:;/\n\n/'
  echo /usr/local
  command -v dpkg-query >/dev/null || echo /usr
}

found_by_sign() {
  local sign prefix
  for sign in $(sign_of "$1"); do
    case $sign in
      module:*) python3 -c "import ${sign#module:}" 2>/dev/null && return ;;
      include:*)
        while IFS= read -r prefix; do
          [ -n "$prefix" ] && [ -e "$prefix/include/${sign#include:}" ] && return
        done <<<"$(prefixes)" # not <(...): that needs /dev/fd, which a bare chroot lacks
        ;;
      *) command -v "$sign" >/dev/null && return ;;
    esac
  done
  return 1
}

# missing GROUP...: the packages of these groups that are neither installed nor otherwise there.
missing() {
  local group package list=() installed
  for group in "$@"; do
    for package in $(packages_of "$group"); do list+=("$package"); done
  done
  # shellcheck disable=SC2016  # the names are dpkg-query's, not the shell's
  installed=$(dpkg-query -W -f '${Package} ${Status}\n' "${list[@]}" 2>/dev/null)
  for package in "${list[@]}"; do
    [[ $'\n'$installed$'\n' == *$'\n'"$package install ok installed"$'\n'* ]] || found_by_sign "$package" ||
      echo "$package"
  done
}

debian() { command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; }
on_terminal() { [ -t 0 ] && [ -t 2 ]; }

# by_hand PACKAGE...: the command that installs them, to type.
by_hand() {
  local sudo=''
  [ "$(id -u)" = 0 ] || sudo='sudo '
  printf '    %sapt-get update && %sapt-get install --no-install-recommends %s' "$sudo" "$sudo" "$*"
}

# consent HOW PACKAGE...: true if they may be installed.
consent() {
  local how=$1 answer
  shift
  [ "$yes" = 0 ] || return 0
  on_terminal || return 1
  printf 'ringcraft needs packages that are not here:\n    %s\nInstall them %s now? [Y/n] ' "$*" "$how" >&2
  IFS= read -r answer || return 1
  case $answer in '' | [Yy]*) ;; *) return 1 ;; esac
}

# Sets as_root to what makes apt-get run as root: nothing, sudo without a password, or sudo that asks for one.
become_root() {
  as_root=()
  [ "$(id -u)" != 0 ] || return 0
  command -v sudo >/dev/null || return 1
  as_root=(sudo -n)
  sudo -n true 2>/dev/null && return
  as_root=(sudo)
  on_terminal && sudo -v
}

# apt_install LOG PACKAGE...: updates the lists and installs, as root. Without a network the lists that are
# here may still do, so only the installation decides.
apt_install() {
  local log=$1 script
  shift
  # shellcheck disable=SC2016  # $@ is the inner shell's
  script='export DEBIAN_FRONTEND=noninteractive
    apt-get -o DPkg::Lock::Timeout=120 update
    apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends "$@"'
  ${as_root[@]+"${as_root[@]}"} sh -c "$script" sh "$@" </dev/null 2>&1 9<&- |
    follow "installing packages" "$log"
  return "${PIPESTATUS[0]}"
}

# install_packages PACKAGE...: installs them or ends with exit code 3 and what to type.
install_packages() {
  local log offline='Could not resolve|Temporary failure|Unable to connect|Could not connect|Failed to fetch'
  offline="$offline|Network is unreachable|Connection (timed out|refused|failed)"
  debian || die 3 "these are missing, under their names on Debian and Ubuntu: $*" \
    "Install them as your system does it, then call again."
  if ! { consent "with apt-get" "$@" && become_root; }; then
    die 3 "these packages are missing: $*" "Install them with" "$(by_hand "$@")" \
      "or let ringcraft do it: add --yes (as root, or with sudo allowed)."
  fi
  log=$(mktemp) || die 3 "cannot make a temporary file."
  say "installing with apt-get: $*"
  if ! apt_install "$log" "$@"; then
    { grep -E '^(E|W|Err):' "$log" || cat "$log"; } | head -n 8 >&2
    grep -Eq "$offline" "$log" && offline=yes
    rm -f "$log"
    [ "$offline" != yes ] || die 3 "the package servers cannot be reached; is there a network? Needed: $*" \
      "With one, call again, or type" "$(by_hand "$@")"
    die 3 "apt-get could not install: $*" "Its reasons stand above. By hand:" "$(by_hand "$@")"
  fi
  rm -f "$log"
}

# require GROUP...: installs what these groups miss, or ends with exit code 3.
require() {
  local list
  list=$(missing "$@")
  [ -n "$list" ] || return 0
  # shellcheck disable=SC2086  # one word per package
  install_packages $list
  list=$(missing "$@")
  [ -z "$list" ] || die 3 "apt-get reported success, yet these are still missing:" "$list"
}

# Open MPI is worth having for the tests, and they pass without it: a no is an answer.
offer_mpi() {
  local list
  list=$(missing mpi)
  [ -n "$list" ] || return 0
  # shellcheck disable=SC2086  # one word per package
  if debian && consent "with apt-get" $list && (yes=1 && install_packages $list); then return; fi
  say "without Open MPI the tests over MPI are left out; ./ringcraft setup --all installs it"
}

# ./ringcraft setup [--all] [--yes]
setup() {
  local groups=(core tests) all=0 arg group list before
  for arg in "$@"; do
    case $arg in
      --all) all=1 groups=(core tests mpi docs lint grade venv) ;;
      --help | -h)
        echo "usage: ./ringcraft setup [--all] [--yes]"
        echo "  installs the packages that building and testing need; --all: those for docs, MPI and grading too, and into"
        echo "  build/venv NVIDIA's headers and disassembler, with which tests compare"
        echo "example: ./ringcraft setup --all --yes"
        return 0
        ;;
      *) die 2 "setup does not know '$arg'; it takes --all and --yes." ;;
    esac
  done
  before=$(missing "${groups[@]}")
  require "${groups[@]}"
  for group in "${groups[@]}"; do
    list=there
    for arg in $(packages_of "$group"); do
      [[ $'\n'$before$'\n' != *$'\n'"$arg"$'\n'* ]] || list=installed
    done
    printf '%-6s %-10s %s\n' "$group" "$list" "$(packages_of "$group")"
  done
  [ "$all" = 1 ] || return 0
  use wheels
  install_wheels
}
