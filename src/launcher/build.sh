# Part of ./ringcraft: configuring and building build/<preset>, quietly (progress.sh). Everything that was
# said goes to build/<preset>.log and is shown when it failed.
# shellcheck shell=bash disable=SC2154  # root comes from ./ringcraft

# Two launchers never build at once. The lock is on the folder itself and ends with the process that holds it.
lock_builds() {
  local folder
  mkdir -p "$root/build/native" 2>/dev/null
  for folder in "$root/build" "$root/build/native"; do
    if [ ! -d "$folder" ] || [ ! -w "$folder" ]; then
      die 3 "cannot write to $folder, where everything is built; does it belong to someone else?"
    fi
  done
  command -v flock >/dev/null || return 0
  exec 9<"$root/build"
  until flock --timeout 1 9; do
    other_builds || continue
    say "another ringcraft is building; waiting for it"
    flock 9
    break
  done
  rm -f "$root/build/native.log" # what it says from now on is of this launcher
}

# True if the launcher that holds the lock has something to build: most only look, for a moment.
other_builds() { grep -Eqv '^ninja: |^\[0/' "$root/build/native.log" 2>/dev/null; }

unlock_builds() { exec 9<&-; }

# at_least HAVE WANT: compares two versions of the form 3.25.1.
at_least() { [ "$(printf '%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# configure PRESET: (re)configures build/PRESET; shows what CMake said if that fails.
configure() {
  local preset=$1 log=$root/build/$1.log version
  version=$(cmake --version 2>/dev/null | sed -n 's/^cmake version \([0-9.]*\).*/\1/p')
  at_least "${version:-0}" 3.22 ||
    die 3 "CMake 3.22 or newer is needed; this one ($(command -v cmake)) is ${version:-unknown}." \
      "A newer one: https://cmake.org/download, or 'pip install cmake' in a virtual environment."
  # CMake would trust the cache of an interrupted configuration or of another folder: start afresh. Objects
  # may stay.
  configured "$preset" || rm -rf "$root/build/$preset/CMakeCache.txt" "$root/build/$preset/CMakeFiles"
  (cd "$root" && cmake --preset "$preset" 9<&- 2>&1) | follow "configuring build/$preset" "$log"
  [ "${PIPESTATUS[0]}" -eq 0 ] && return
  cat "$log" >&2
  return 1
}

# newly_installed PRESET: whether something is there that was not when it was configured.
newly_installed() {
  local sign
  while read -r sign; do
    [ -e "$sign" ] && return
  done <"$root/build/$1/absent.txt"
  return 1
} 2>/dev/null

# build PRESET WHAT [TARGET...]: brings the targets up to date (without any: all). Says nothing; see
# build_errors.
build() {
  local preset=$1 what=$2
  shift 2
  NINJA_STATUS='[%f/%t] ' ninja -C "$root/build/$preset" "$@" </dev/null 2>&1 9<&- |
    follow "building $what" "$root/build/$preset.log"
  return "${PIPESTATUS[0]}"
}

# build_errors PRESET: what the last build of it said, without the lines of finished work.
build_errors() { grep -Ev '^\[[0-9]+/[0-9]+\] |^ninja: Entering' "$root/build/$1.log"; }

build_failed() {
  build_errors "$1" >&2
  die 3 "build/$1 does not build; the errors stand above."
}
