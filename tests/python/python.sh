#!/usr/bin/env bash
# python.sh PYTHON VENV ROOT TEST...: runs these tests in an environment with the package of ROOT, which it makes or renews
# first (src/launcher/environment.sh). Exit codes: 0 passed, 1 failed, 77 skipped.
set -u
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
python=$1 venv=$2 root=$3
shift 3
# shellcheck source=src/launcher/environment.sh
. "$root/src/launcher/environment.sh"
groups=(tests package)
[ -z "${RINGCRAFT_LONG-}" ] || groups=(tests others package)
case " $* " in
  *test_torch* | *test_jax* | *test_others*)
    if [ -z "${RINGCRAFT_LONG-}" ]; then
      echo "skipped: it installs PyTorch and JAX and takes minutes; RINGCRAFT_LONG=1 (./ringcraft test --long) runs it"
      exit 77
    fi
    ;;
esac
renew_environment "$python" "$venv" "$root" "${groups[@]}" >"$venv.log" 2>&1
case $? in
  0) ;;
  1)
    tail -n 60 "$venv.log"
    echo "failed: pip install $root"
    exit 1
    ;;
  *)
    echo "skipped: ${venv##*/} could not be made: $(tail -n 1 "$venv.log")"
    exit 77
    ;;
esac
cd "$here" || exit 1
exec "$venv/bin/python" -m pytest -q -p no:cacheprovider "$@"
