# For tests in shell that build a copy of the tree: `work` is their folder.
# shellcheck shell=bash disable=SC2154

fail() {
  printf 'FAILED: %s\n' "$1"
  [ ! -e "$work/log" ] || tail -n 30 "$work/log"
  exit 1
}

# expect CODE WORDS COMMAND...: the command ends with CODE and says WORDS.
expect() {
  local code=$1 words=$2 status
  shift 2
  "$@" >"$work/log" 2>&1 </dev/null
  status=$?
  [ "$status" -eq "$code" ] || fail "expected exit code $code, got $status: $*"
  grep -qF -e "$words" "$work/log" || fail "expected to read '$words': $*"
}
