# Part of ./ringcraft, and of tests/python/python.sh: build/python-venv, an environment (PyPI) with the Python package of
# this tree, as `pip install .` builds it, and with what its tests and the notebooks need.
# shellcheck shell=bash

# pins GROUP: tests for what is tested without --long and to execute notebooks, others for --long, jupyter to edit notebooks.
pins() {
  case $1 in
    tests) echo numpy==2.4.6 pytest==9.2.0 pytest-xdist==3.8.0 mypy==2.4.1 nanobind==3.1.0 \
      nbclient==0.11.0 nbconvert==7.17.2 ipykernel==7.4.0 matplotlib==3.11.2 ;;
    others) echo torch==2.15.0 jax==0.10.2 ring-flash-attn==0.1.8 ring-attention-pytorch==0.5.20 ringattention==0.1.2 ;;
    jupyter) echo jupyterlab==4.6.6 ;;
  esac
}

# wanted GROUP ROOT: the pins of a group; for the group package, checksums of all that the wheel is made of.
wanted() {
  if [ "$1" = package ]; then
    (cd "$2" && find src/ringcraft src/verify src/cmake src/CMakeLists.txt CMakeLists.txt pyproject.toml notebooks/binding \
      -type f ! -name '*.pyc' -exec cksum {} + | sort)
  else
    pins "$1"
  fi
}

# environment_lacks VENV ROOT GROUP...: which of these groups are not installed there as this tree wants them.
environment_lacks() {
  local venv=$1 root=$2 group
  shift 2
  for group in "$@"; do
    [ "$(wanted "$group" "$root")" = "$(cat "$venv/installed/$group" 2>/dev/null)" ] || echo "$group"
  done
}

# renew_environment PYTHON VENV ROOT GROUP...: installs what it lacks; all that pip says goes to the output, and the reason
# last. Code 3 where something is missing that it takes, 1 where the package does not build.
renew_environment() {
  local python=$1 venv=$2 root=$3 group contents
  shift 3
  if ! { [ -d "$venv/installed" ] && "$venv/bin/python" -c '' 2>/dev/null; }; then
    if ! "$python" -c 'import ensurepip' 2>/dev/null; then
      echo "$python cannot make a virtual environment (package python3-venv)"
      return 3
    fi
    if ! "$python" -c 'import sysconfig; open(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null; then
      echo "the headers of $python are not here (package python3-dev)"
      return 3
    fi
    "$python" -m venv --clear "$venv" && mkdir "$venv/installed" || return 3
  fi
  for group in $(environment_lacks "$venv" "$root" "$@"); do
    contents=$(wanted "$group" "$root") # before: a file that is edited meanwhile takes another wheel
    if [ "$group" = package ]; then
      "$venv/bin/python" -m pip install --disable-pip-version-check "$root" || return 1
    else
      # shellcheck disable=SC2046  # one word per package
      "$venv/bin/python" -m pip install --retries 2 --disable-pip-version-check $(pins "$group") || return 3
    fi
    printf '%s\n' "$contents" >"$venv/installed/$group"
  done
}
