# Part of ./ringcraft: `notebooks`, which opens them in JupyterLab or executes them, in the environment that the tests of the
# Python package have as well (environment.sh).
# shellcheck shell=bash disable=SC2154  # root comes from ./ringcraft

notebooks_help() {
  cat <<'TEXT'
usage: ./ringcraft notebooks [--run | --no-browser] [--yes]
  opens the notebooks in JupyterLab and prints its address; Ctrl-C ends it. The first call installs the Python package
  and JupyterLab into build/python-venv, after a question
  --run         executes all notebooks instead, one line for each; exit code 1 if a cell of one fails
  --no-browser  prints the address alone
  --yes         install what is missing without asking
example: ./ringcraft notebooks --run
TEXT
}

# require_environment GROUP...: brings build/python-venv up to date, or ends with exit code 3.
require_environment() {
  local venv=$root/build/python-venv log=$root/build/python-venv.log group list=()
  for group in $(environment_lacks "$venv" "$root" "$@"); do
    case $group in
      package) list+=("the Python package of this tree") ;;
      *) list+=("$(pins "$group")") ;;
    esac
  done
  [ ${#list[@]} -gt 0 ] || return 0
  require core venv
  consent "from PyPI into build/python-venv" "${list[@]}" ||
    die 3 "build/python-venv lacks ${list[*]}; add --yes to let ringcraft install them."
  mkdir -p "$root/build" || die 3 "cannot write to $root/build."
  say "installing into build/python-venv: ${list[*]}"
  renew_environment python3 "$venv" "$root" "$@" </dev/null 2>&1 | follow "installing into build/python-venv" "$log"
  case ${PIPESTATUS[0]} in
    0) return 0 ;;
    1)
      tail -n 20 "$log" >&2
      die 3 "the Python package does not build; the reason stands above, more of it in build/python-venv.log."
      ;;
  esac
  die 3 "build/python-venv lacks ${list[*]}, which could not be installed (is there a network?): $(tail -n 1 "$log")"
}

# ./ringcraft notebooks [--run | --no-browser] [--yes]
notebooks() {
  local run=0 arg options=()
  for arg in "$@"; do
    case $arg in
      --run) run=1 ;;
      --no-browser) options+=("$arg") ;;
      --help | -h)
        notebooks_help
        return 0
        ;;
      *) die 2 "notebooks does not know '$arg'; it takes --run, --no-browser and --yes." ;;
    esac
  done
  if [ "$run" = 1 ]; then
    [ ${#options[@]} -eq 0 ] || die 2 "notebooks --run opens no browser: leave --no-browser out."
    require_environment tests package
    trap - INT
    exec "$root/build/python-venv/bin/python" "$root/notebooks/execute.py"
  fi
  require_environment tests jupyter package
  [ "$(id -u)" != 0 ] || options+=(--allow-root)
  trap - INT
  exec "$root/build/python-venv/bin/python" -m jupyterlab --ServerApp.root_dir="$root" \
    --LabApp.default_url=/lab/tree/notebooks ${options[@]+"${options[@]}"}
}
