#!/usr/bin/env bash
# foreign.sh PYTHON VENV TOOL PROGRAM: runs foreign_test.py in an environment of its own, with what requirements.txt lists;
# made first, if it is not there (some gigabytes, from PyPI). Exit codes: 0 passed, 1 failed, 77 skipped.
set -u
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
python=$1 venv=$2
shift 2
if [ -z "${RINGCRAFT_LONG-}" ]; then
  echo "skipped: it installs PyTorch and takes minutes; RINGCRAFT_LONG=1 (./ringcraft test --long) runs it"
  exit 77
fi
if ! cmp -s "$here/requirements.txt" "$venv/requirements.txt"; then
  if ! { "$python" -m venv --clear "$venv" &&
    "$venv/bin/python" -m pip install --retries 2 --disable-pip-version-check -r "$here/requirements.txt" &&
    cp "$here/requirements.txt" "$venv/requirements.txt"; } >"$venv.log" 2>&1; then
    echo "skipped: ${venv##*/} could not be made: $(tail -n 1 "$venv.log")"
    exit 77
  fi
fi
exec "$venv/bin/python" "$here/foreign_test.py" "$@"
