#!/usr/bin/env bash
# python.sh PYTHON VENV ROOT TEST...: installs the package of ROOT into an environment of its own, built as `pip install .`
# builds it, and runs these tests there. Exit codes: 0 passed, 1 failed, 77 skipped.
set -u
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
python=$1 venv=$2 root=$3
shift 3
needs=("numpy==2.4.6" "pytest==9.2.0" "mypy==2.4.1" "nanobind==3.1.0" "nbclient==0.11.0" "ipykernel==7.4.0" "matplotlib==3.11.2")
[ -z "${RINGCRAFT_LONG-}" ] || needs+=("torch==2.15.0" "jax==0.10.2" "ring-flash-attn==0.1.8" "ring-attention-pytorch==0.5.20")
case " $* " in
  *test_torch* | *test_jax* | *test_others*)
    if [ -z "${RINGCRAFT_LONG-}" ]; then
      echo "skipped: it installs PyTorch and JAX and takes minutes; RINGCRAFT_LONG=1 (./ringcraft test --long) runs it"
      exit 77
    fi
    ;;
esac
# Checksums of all that the wheel is made of: it is built anew when one of them changes.
made_of() {
  printf '%s\n' "${needs[@]}"
  find "$root/src/ringcraft" "$root/src/verify" "$root/src/cmake" "$root/src/CMakeLists.txt" "$root/CMakeLists.txt" \
    "$root/pyproject.toml" "$root/notebooks/binding" -type f ! -name '*.pyc' -exec cksum {} +
}
if [ "$(made_of)" != "$(cat "$venv/made_of" 2>/dev/null)" ]; then
  if ! "$python" -c 'import ensurepip' 2>/dev/null; then
    echo "skipped: $python cannot make a virtual environment (package python3-venv)"
    exit 77
  fi
  if ! "$python" -c 'import sysconfig; open(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null; then
    echo "skipped: the headers of $python are not here (package python3-dev)"
    exit 77
  fi
  if ! { "$python" -m venv --clear "$venv" &&
    "$venv/bin/python" -m pip install --retries 2 --disable-pip-version-check "${needs[@]}"; } >"$venv.log" 2>&1; then
    echo "skipped: ${venv##*/} could not be made: $(tail -n 1 "$venv.log")"
    exit 77
  fi
  if ! "$venv/bin/python" -m pip install --disable-pip-version-check "$root" >"$venv.log" 2>&1; then
    tail -n 60 "$venv.log"
    echo "failed: pip install $root"
    exit 1
  fi
  made_of >"$venv/made_of"
fi
cd "$here" || exit 1
exec "$venv/bin/python" -m pytest -q -p no:cacheprovider "$@"
