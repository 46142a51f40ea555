#!/bin/sh
# What the compiler makes of the forward kernels, seen without a GPU: no register spills and no local memory, for every
# architecture that a rung is built for. With cuobjdump and nvdisasm the machine code itself is read as well.
#   sass.sh NVCC SOURCE_ROOT
# Exit code: 0 all as it must be, 1 not, 77 no compiler (ctest reports that as skipped).
set -eu
nvcc=$1
root=$2
if ! "$nvcc" --version >/dev/null 2>&1; then
  echo "skipped: no CUDA compiler"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() { echo "FAILED  $*"; failed=1; }

# One rung for one architecture: every kernel of it (ptxas names each) must have an all-clear of its own.
check() { # FILE ARCH KERNELS
  name="$(basename "$1" .cu) sm_$2"
  if ! "$nvcc" -std=c++20 "-gencode=arch=compute_$2,code=sm_$2" "-I$root/src" "-I$root/kernels" "-I$root" \
      -Xptxas -v -Werror all-warnings -cubin "$1" -o "$work/rung.cubin" >"$work/ptxas" 2>&1; then
    cat "$work/ptxas"
    fail "$name does not compile"
    return
  fi
  kernels=$(grep -c 'Compiling entry function' "$work/ptxas" || true)
  clear=$(grep -c ' 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads' "$work/ptxas" || true)
  registers=$(sed -n 's/.*Used \([0-9]*\) registers.*/\1/p' "$work/ptxas" | tr '\n' ' ')
  [ "$kernels" -eq "$3" ] || fail "$name: expected $3 kernels, got $kernels"
  [ "$clear" -eq "$kernels" ] || { grep 'spill' "$work/ptxas"; fail "$name spills registers or uses local memory"; }
  echo "        $name: $kernels kernels, registers $registers"
  if command -v cuobjdump >/dev/null && command -v nvdisasm >/dev/null; then
    cuobjdump -sass "$work/rung.cubin" >"$work/sass"
    grep -q 'FFMA' "$work/sass" || fail "$name: no FFMA: is this the right file?"
    grep -q 'LDS\.128' "$work/sass" || fail "$name reads shared memory by less than 16 bytes"
    grep -q 'LDG\.E\.128' "$work/sass" || fail "$name reads global memory by less than 16 bytes"
    ! grep -E '(LDL|STL)[. ]' "$work/sass" || fail "$name has local memory in its machine code"
  else
    echo "        machine code not looked at: no cuobjdump with nvdisasm"
  fi
}

for arch in 80 90 90a; do
  check "$root/kernels/forward/03_online_softmax.cu" $arch 2
done
[ $failed -ne 0 ] || echo "ok      no spills, no local memory"
exit $failed
