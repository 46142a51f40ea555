#!/usr/bin/env bash
# Gradescope runs this as root for each submission: grades it and writes results/results.json, anew after each
# exercise, so that a run that is stopped leaves what it knew. Exit code 0 for every submission; another one if
# the grader itself could not work.
set -u
here=${1:-/autograder} # another folder: for tests
source=$here/source
grader=$source/build/release/bin/ringcraft-grader

# Students' code runs as another user, who neither reads who handed it in nor reaches the results.
chmod 600 "$here/submission_metadata.json"
mkdir -p "$here/grades"
chmod 700 "$here/results" "$here/submission" "$here/grades"

# Containers differ in what they allow. The layers that are missing are named to the grader, one by one, and
# its report names them.
layers=$("$grader" doctor) || exit
missing=$(printf '%s\n' "$layers" | awk '$1 == "missing" { printf "%s%s", comma, $2; comma = "," }')
[ -z "$missing" ] || echo "layers missing here: $missing"

exec "$grader" grade "$here/submission" --submission "$here/submission_metadata.json" \
  --results "$here/results/results.json" --lessons "$(cat "$source/lessons.txt")" \
  --seed-file "$source/seed.txt" --out "$here/grades" ${missing:+--without "$missing"}
