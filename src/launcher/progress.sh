# Part of ./ringcraft: what a person sees of long work. Its output goes to a log; on a terminal one line,
# drawn over itself, tells how far it is; without a terminal nothing is drawn, and what takes long is said once.
# shellcheck shell=bash

say() { printf 'ringcraft: %s\n' "$1" >&2; }

# follow WHAT LOG: copies the input to LOG; on a terminal, after two seconds, one line says how far it is.
# Understands the counts of ninja ("[12/64] ...") and of ctest ("12/64 Test #..."), and guesses the time
# left from them. Without a terminal, a line after half a minute says where to look.
follow() {
  local what=$1 text='' part status begin=$SECONDS passed=0 total=0 drawn=0 told=0 elapsed line
  local count='^ *\[?([0-9]+)/([0-9]+)(\]| Test )'
  rm -f "$2" # it may belong to someone else, in a folder that is ours
  exec 8>"$2"
  while :; do
    part=''
    IFS= read -r -t 1 part
    status=$?
    text+=$part
    if [ "$status" -eq 0 ] || { [ "$status" -le 128 ] && [ -n "$text" ]; }; then
      printf '%s\n' "$text" >&8
      [[ $text =~ $count ]] && passed=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
      text=''
    fi
    [ "$status" -eq 0 ] || [ "$status" -gt 128 ] || break
    elapsed=$((SECONDS - begin))
    if [ ! -t 2 ] || [ "${TERM:-dumb}" = dumb ]; then
      [ "$elapsed" -lt 30 ] || [ "$told" -eq 1 ] || say "$what takes minutes; how far it is: $2"
      [ "$elapsed" -lt 30 ] || told=1
      continue
    fi
    [ "$elapsed" -ge 2 ] || continue
    line="$what: $elapsed s"
    [ "$passed" -eq 0 ] ||
      line="$what: $passed of $total, about $((elapsed * (total - passed) / passed)) s left"
    [ "$drawn" = "$line" ] || printf '\r%s\033[K' "$line" >&2
    drawn=$line
  done
  [ "$drawn" = 0 ] || printf '\r\033[K' >&2
  exec 8>&-
}
