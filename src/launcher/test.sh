# Part of ./ringcraft: `test`. Three stages: every test in the launcher's own build, then selected ones
# under the address and undefined-behaviour sanitizers (dev) and under the thread sanitizer (tsan). The
# counts come from the JUnit file that ctest writes, not from its exit code alone: a test that could not
# start, a stage that does not build and a stage without a single test are failures. The last line is the
# total over all stages.
# shellcheck shell=bash disable=SC2154  # root and yes come from ./ringcraft

# Tests that the sanitizers run: the executables test_NAME with these names, whose tests bear the name as their label.
# dev: all that computes, reads or parses; what stands around the same code (the tool, the diagnosis, the judge's
# verdicts, the lessons, the known mistakes) joins with --long, but not, by label: latency (judges the clock), launcher
# (nothing of it is C++), mpi (Open MPI's own leaks are not ours). tsan: what has threads.
dev_tests='core problem comm attention ring parallel write_ups io boundary properties random_problems fuzz'
dev_excludes='^(slow|latency|launcher|mpi)$'
tsan_tests='comm ring interleavings'

test_help() {
  cat <<'TEXT'
usage: ./ringcraft test [--long] [--yes] [-L LABEL] [NAME]
  builds and runs every test, then selected ones under the sanitizers; the last line is the total
  --long     the full counts that are promised (the default runs some with smaller, printed counts)
  --yes      install missing packages without asking
  -L LABEL   only tests with this label, NAME: only tests whose name matches (regular expressions, as for
             ctest); both run in the native build alone, without the sanitizer stages
example: ./ringcraft test -L ring
TEXT
}

# stage_counts JUNIT: "passed failed skipped" on the first line, then "name: reason" for each skipped test.
stage_counts() {
  LC_ALL=C awk '
    function plain(s) {
      gsub(/&lt;/, "<", s); gsub(/&gt;/, ">", s); gsub(/&quot;/, "\"", s); gsub(/&apos;/, "\047", s)
      gsub(/&amp;/, "\\&", s)
      return s
    }
    function attribute(name,   s) {
      s = $0
      if (!sub(".* " name "=\"", "", s)) return ""
      sub(/".*/, "", s)
      return plain(s)
    }
    function close_case() {
      if (status == "run") passed++
      else if (status == "disabled" || (status == "notrun" && message ~ /^SKIP_/))
        list[++skipped] = test ": " reason
      else failed++
    }
    /^\t<testcase / {
      test = attribute("name"); status = attribute("status"); message = reason = ""; output = 0
    }
    /^\t\t<skipped / { message = attribute("message") }
    /<system-out>/ { output = 1 }
    output {
      line = $0; gsub(/<\/?system-out>/, "", line); gsub(/^[ \t]+|[ \t]+$/, "", line)
      if (reason == "" || (line ~ /[Ss]kip|SKIP/ && reason !~ /[Ss]kip|SKIP/)) reason = plain(line)
    }
    /<\/system-out>/ { output = 0 }
    /^\t<\/testcase>/ { close_case() }
    /^<\/testsuite>/ || (test == "" && /\/>$/) { complete = 1 } # the second: closed at once, without a test
    END {
      if (!complete) failed++ # ctest was ended while it wrote
      printf "%d %d %d\n", passed, failed, skipped
      for (i = 1; i <= skipped; i++) print list[i]
    }' "$1"
}

# failing_tests LOG: of what ctest said, the tests that did not pass, each with its output.
failing_tests() {
  awk '/^ *[0-9]+\/[0-9]+ Test +#/ { show = !/ Passed |\*\*\*Skipped |\*\*\*Not Run \(Disabled\)/ }
       /^ +Start +[0-9]+: / { next }
       /^[0-9]+% tests passed/ { exit }
       show' "$1"
}

# stage_failed STAGE SENTENCE: a failure that no single test stands for.
stage_failed() {
  printf '  %-7s %s\n' "$1" "$2"
  failed=$((failed + 1))
}

# run_stage STAGE "TARGET..." CTEST_ARGUMENT...: configures, builds and tests build/STAGE, adds to the
# totals. False only if it does not build.
run_stage() {
  local stage=$1 targets=$2 folder=$root/build/$1 log=$root/build/$1-tests.log begin=$SECONDS
  local built counts status good=0 bad=0 skip=0
  shift 2
  lock_builds
  if ! configure "$stage"; then
    stage_failed "$stage" "cannot be configured: counted as one failure"
    return 1
  fi
  # One line for each optional part: found or not.
  [ "$stage" != native ] || sed -n 's/^-- ringcraft: /  /p' "$root/build/native.log"
  # shellcheck disable=SC2086  # one word per target
  if ! build "$stage" "the tests ($stage)" $targets; then
    build_errors "$stage"
    stage_failed "$stage" "does not build: counted as one failure"
    return 1
  fi
  unlock_builds
  built=$((SECONDS - begin)) begin=$SECONDS
  rm -f "$folder/tests.xml"
  ${steady[@]+"${steady[@]}"} ctest --test-dir "$folder" -j "$(nproc)" --output-on-failure \
    --output-junit "$folder/tests.xml" "$@" </dev/null 2>&1 | follow "testing ($stage)" "$log"
  status=${PIPESTATUS[0]}
  failing_tests "$log"
  if [ -e "$folder/tests.xml" ]; then
    counts=$(stage_counts "$folder/tests.xml")
    read -r good bad skip <<<"$counts"
    [ "$skip" -eq 0 ] || skipped_list+=$(sed "1d; s/^/  $stage: /" <<<"$counts")$'\n'
  fi
  printf '  %-7s built in %3d s, tested in %3d s: %d passed, %d failed, %d skipped\n' \
    "$stage" "$built" $((SECONDS - begin)) "$good" "$bad" "$skip"
  passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + skip))
  [ $((good + bad + skip)) -gt 0 ] || stage_failed "$stage" "ran no test: counted as one failure"
  [ "$status" -eq 0 ] || [ "$bad" -gt 0 ] || stage_failed "$stage" "ctest ended with code $status"
  return 0
}

# run_named_stage STAGE "NAME...": only the executables test_NAME, and the tests with these labels.
run_named_stage() {
  # shellcheck disable=SC2086  # one word per name
  run_stage "$1" "$(printf 'test_%s ' $2)" -L "^(${2// /|})\$"
}

# The address of a library is drawn from more bits on newer kernels than the sanitizers of older compilers
# expect; with a fixed one they start everywhere. Where that is forbidden they run as they are.
steady_addresses() {
  steady=()
  if setarch -R true 2>/dev/null; then steady=(setarch -R); fi
}

# ./ringcraft test [--long] [--yes] [-L LABEL] [NAME]
run_tests() {
  local filter=() begin=$SECONDS passed=0 failed=0 skipped=0 skipped_list='' steady=() name=''
  while [ $# -gt 0 ]; do
    case $1 in
      --long) export RINGCRAFT_LONG=1 ;;
      --help | -h)
        test_help
        return 0
        ;;
      -L)
        [ $# -gt 1 ] || die 2 "test -L needs a label, as in ./ringcraft test -L ring"
        filter+=(-L "$2")
        shift
        ;;
      -*) die 2 "test does not know '$1'; see ./ringcraft test --help." ;;
      *)
        [ -z "$name" ] || die 2 "test takes one name, not '$name' and '$1'."
        name=$1
        filter+=(-R "$1")
        ;;
    esac
    shift
  done

  require core tests
  offer_mpi
  if ! run_stage native "" ${filter[@]+"${filter[@]}"}; then
    echo "  dev, tsan: not tried"
  elif [ ${#filter[@]} -gt 0 ]; then
    echo "  (a filter: the native build alone, without the sanitizer stages)"
  else
    steady_addresses
    if [ -n "${RINGCRAFT_LONG-}" ]; then
      run_stage dev "" -LE "$dev_excludes"
    else
      run_named_stage dev "$dev_tests"
    fi
    run_named_stage tsan "$tsan_tests"
  fi

  [ -z "$skipped_list" ] || printf 'skipped, with the reason each gives:\n%s' "$skipped_list"
  printf 'in all %d s\n%d passed, %d failed' $((SECONDS - begin)) "$passed" "$failed"
  [ "$skipped" -eq 0 ] && echo || printf ', %d skipped\n' "$skipped"
  [ "$failed" -eq 0 ]
}
