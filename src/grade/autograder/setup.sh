#!/usr/bin/env bash
# Gradescope runs this once, as root, when it makes the image of an assignment: installs packages, builds the
# grader, draws the seed, and closes what is no student's. Later nothing needs a network.
set -eu
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")

# shellcheck source=/dev/null
. "$here/src/launcher/packages.sh"
export DEBIAN_FRONTEND=noninteractive
apt-get update
# shellcheck disable=SC2046  # one word per package
apt-get install -y --no-install-recommends $(packages_of core) $(packages_of grade)

cd "$here"
cmake --preset release -DRINGCRAFT_TESTS=OFF
cmake --build --preset release --target ringcraft_grader -j "$(nproc)"

[ -e "$here/seed.txt" ] || (umask 077 && od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$here/seed.txt")

# Compiler and students' programs run as another user, who reads headers and archives of the library alone: no
# solution, no check, no oracle, no seed.
chmod 600 "$here/seed.txt"
chmod 755 "$here"
find "$here/src" "$here/kernels" "$here/lessons" -type f \( -name '*.cpp' -o -name '*.cu' \) \
  ! -regex '.*/puzzles/\([^/]+\)/\1\.cpp' -exec chmod 600 {} +
chmod 711 "$here/build/release/bin/ringcraft-grader" # started in namespaces by that user, and not read
