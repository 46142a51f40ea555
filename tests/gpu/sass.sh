#!/bin/sh
# What the compiler makes of the kernels, seen without a GPU: no register spills and no local memory, in the last rung of each
# folder for the newest architecture; with RINGCRAFT_LONG in all rungs, for all architectures that they are built for. With
# cuobjdump and nvdisasm the machine code itself is read as well.
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

last_of() { # FOLDER
  for last in "$root/kernels/$1"/[0-9]*.cu; do :; done
  echo "$last"
}

# One file for one architecture: every kernel of it (ptxas names each) must have an all-clear of its own. What follows the
# number of kernels must stand in the machine code.
check() { # FILE ARCH KERNELS PATTERN...
  file=$root/kernels/$1
  [ -n "${RINGCRAFT_LONG-}" ] || [ "$file" = "$(last_of "${1%/*}")" ] || return 0
  name="${1%.cu} sm_$2"
  expected=$3
  if ! "$nvcc" -std=c++20 "-gencode=arch=compute_$2,code=sm_$2" "-I$root/src" "-I$root/kernels" "-I$root" \
      -Xptxas -v -Werror all-warnings -cubin "$file" -o "$work/rung.cubin" >"$work/ptxas" 2>&1; then
    cat "$work/ptxas"
    fail "$name does not compile"
    return
  fi
  kernels=$(grep -c 'Compiling entry function' "$work/ptxas" || true)
  clear=$(grep -c ' 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads' "$work/ptxas" || true)
  registers=$(sed -n 's/.*Used \([0-9]*\) registers.*/\1/p' "$work/ptxas" | tr '\n' ' ')
  [ "$kernels" -eq "$expected" ] || fail "$name: expected $expected kernels, got $kernels"
  [ "$clear" -eq "$kernels" ] || { grep 'spill' "$work/ptxas"; fail "$name spills registers or uses local memory"; }
  echo "        $name: $kernels kernels, registers $registers"
  shift 3
  if command -v cuobjdump >/dev/null && command -v nvdisasm >/dev/null; then
    cuobjdump -sass "$work/rung.cubin" >"$work/sass"
    for pattern in "$@"; do
      grep -q "$pattern" "$work/sass" || fail "$name: no $pattern in its machine code"
    done
    ! grep -E '(LDL|STL)[. ]' "$work/sass" || fail "$name has local memory in its machine code"
  fi
}

# 128: loads of 16 bytes. HMMA: products of matrices. LDSM: ldmatrix, as the matrix lies (M88) and transposed (MT88). LDGSTS: cp.async. RED: an atomic sum.
for arch in ${RINGCRAFT_LONG:+80 90} 90a; do
  check forward/01_naive.cu $arch 3 FFMA
  check forward/02_tiles.cu $arch 3 FFMA LDS
  check forward/03_online_softmax.cu $arch 4 FFMA 'LDS\.128' 'LDG\.E\.128'
  check forward/04_tensor_cores.cu $arch 2 'HMMA\.16816\.F32\.BF16' 'LDSM\.16\.M88\.4' 'LDSM\.16\.MT88\.4' 'MUFU\.EX2'
  check forward/05_pipeline.cu $arch 5 'HMMA\.16816\.F32\.BF16' 'LDSM\.16\.M88\.4' 'LDSM\.16\.MT88\.4' 'LDGSTS\.E\.BYPASS\.128'
  check merge/01_merge.cu $arch 2 FFMA 'LDG\.E\.128' 'STG\.E\.128'
  check backward/01_naive.cu $arch 3 FFMA
  check backward/02_two_kernels.cu $arch 4 FFMA 'LDS\.128' 'LDG\.E\.128'
  check backward/03_tensor_cores.cu $arch 8 'HMMA\.16816\.F32\.BF16' 'LDSM\.16\.M88\.4' 'LDSM\.16\.MT88\.4' 'LDGSTS\.E\.BYPASS\.128'
  check backward/04_fused.cu $arch 2 'HMMA\.16816\.F32\.BF16' 'LDSM\.16\.M88\.4' 'LDSM\.16\.MT88\.4' 'LDGSTS\.E\.BYPASS\.128' 'REDG\?\.E\.ADD\.F32'
done
command -v cuobjdump >/dev/null && command -v nvdisasm >/dev/null ||
  echo "        machine code not looked at: no cuobjdump with nvdisasm"
# A new kernel without a line above is not forgotten.
for file in "$root"/kernels/*/[0-9]*.cu; do
  grep -q "check $(basename "$(dirname "$file")")/$(basename "$file") " "$0" || fail "$file is not looked at"
done
[ -n "${RINGCRAFT_LONG-}" ] || echo "        1 of 3 architectures, the last rung of each folder; all of them with ./ringcraft test --long"
[ $failed -ne 0 ] || echo "ok      no spills, no local memory"
exit $failed
