# Shared by the launcher's tests: FILE SOURCE WORK CASE proves one promise of ./ringcraft on a
# scratch machine (fakes.sh), where nothing real is installed. Ends with 1 and the reason at the first
# promise that does not hold, with 4 where this machine cannot try it.
# shellcheck shell=bash
set -u
unset OMPI_COMM_WORLD_RANK PMI_RANK PMIX_RANK RANK WORLD_SIZE MASTER_ADDR SLURM_PROCID SLURM_STEP_ID RINGCRAFT_LONG DEBIAN_FRONTEND
source=$1 work=$2 wanted=$3
# shellcheck source=tests/launcher/fakes.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/fakes.sh"

# launch ARGUMENT...: the launcher on the scratch machine, without a terminal. Sets status, out and err.
launch() {
  PATH=$work/bin CMAKE_PREFIX_PATH='' "$work/my checkout/ringcraft" "$@" >"$work/out" 2>"$work/err" </dev/null
  status=$?
  out=$(cat "$work/out") err=$(cat "$work/err")
}

# answer ANSWER ARGUMENTS: the same on a terminal of its own, where a person types ANSWER; out holds all
# that is shown.
answer() {
  local command="env PATH='$work/bin' '$work/my checkout/ringcraft' $2"
  printf '%s\n' "$1" | script -qec "$command" /dev/null >"$work/out"
  status=$?
  out=$(cat "$work/out")
}

fail() {
  printf 'FAILED: %s\nexit code %s\n-- out\n%s\n-- err\n%s\n-- calls\n%s\n' "$1" "$status" "${out-}" "${err-}" \
    "$(cat "$work/calls")"
  exit 1
}

ends_with() { [ "$status" -eq "$1" ] || fail "expected exit code $1"; }
has() { [[ $1 == *"$2"* ]] || fail "expected to read: $2"; }
lacks() { [[ $1 != *"$2"* ]] || fail "expected not to read: $2"; }
called() { grep -qxF -e "$1" "$work/calls" || fail "expected the call: $1"; }
never_called() { ! grep -qE "^$1( |$)" "$work/calls" || fail "expected no call of $1"; }
last_line() { [ "$(tail -n 1 "$work/out")" = "$1" ] || fail "expected the last line: $1"; }
forget_calls() { : >"$work/calls"; }

cannot_try() {
  echo "skipped: $1"
  exit 4
}

run_case() {
  "case_$wanted"
  rm -rf "$work"
}
